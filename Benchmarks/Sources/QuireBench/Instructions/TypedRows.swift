// Sections over typed rows: what the object layer adds to the engine's calls, each in one transaction.

internal import Foundation
internal import QuireDatabase
internal import QuireTesting

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var typed: Self { .init("typed", compression: .none) }
}

/// The same song of a type with the promise, by which it is decoded without its `init(from:)`.
private struct MarkedSong: SynthesizedCodable, Sendable {
  var title: String
  var album: String
  var seconds: Int
  var rating: Double
  var added: Date
  var tags: [String]

  static let example = MarkedSong(
    title: Song.example.title, album: Song.example.album, seconds: Song.example.seconds, rating: Song.example.rating,
    added: Song.example.added, tags: Song.example.tags)
}

extension RowCollection where Object == MarkedSong, Metadata == NoMetadata {
  fileprivate static var marked: Self { .init("marked", compression: .none) }
}

/// A store of its own with songs of six fields, in the binary form.
struct TypedRows {
  private let db: Database
  /// The keys of what is stored, in no order.
  private let keys: [String]
  private var seconds: Int { keys.count * Song.example.seconds }

  init(_ folder: String, count: Int, seed: UInt64, isCached: Bool) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let cache = ObjectCacheOptions(countLimit: 4 * count, byteLimit: 1 << 30)
    db = try Database(
      at: "\(folder)/quire", options: Database.Options(durability: .relaxed, objectCache: isCached ? cache : nil))
    var random = SeededRandom(seed: seed)
    keys = (0..<count).map { "song-\(1_000_000 + $0)" }.shuffled(using: &random)
    try put(keys)
  }

  /// Runs `section` and returns how many operations that were.
  func run(_ section: MeasuredSection) throws -> Int {
    switch section {
    case .typedPut:
      let others = keys.map { "other \($0)" }
      // What the language's runtime finds out at the first use of a type is no section's.
      try put(["one more"])
      try measuredSection { try put(others) }
    case .typedUpdate:
      try update(keys.prefix(1), by: 0)
      try measuredSection { try update(keys[...], by: 1) }
      try expect(try scan() == seconds + keys.count, "songs were not updated")
    case .markedGet, .markedScan:
      try db.write { tx throws in for key in keys { try tx[.marked].set(.example, for: key) } }
      try measure(section, section == .markedGet ? getMarked : scanMarked, expecting: seconds)
    default:
      let expected = section == .typedKeys ? keys.reduce(0) { $0 + $1.utf8.count } : seconds
      let read =
        switch section {
        case .typedScan: scan
        case .typedKeys: sumOfKeys
        case .typedGetMany: getMany
        default: get
        }
      try measure(section, read, expecting: expected)
    }
    return keys.count
  }

  private func measure(_ section: MeasuredSection, _ read: () throws -> Int, expecting expected: Int) throws {
    // Twice, as what was not found in the cache is taken in then.
    for _ in 0..<2 { _ = try read() }
    var found = 0
    try measuredSection { found = try read() }
    try expect(found == expected, "\(section.rawValue) gave \(found) instead of \(expected)")
  }

  private func put(_ keys: [String]) throws {
    try db.write { tx throws in for key in keys { try tx[.typed].set(.example, for: key) } }
  }

  private func update(_ keys: ArraySlice<String>, by seconds: Int) throws {
    try db.write { tx throws in for key in keys { try tx[.typed].update(key) { $0.seconds += seconds } } }
  }

  private func get() throws -> Int {
    try db.read { tx throws in
      var sum = 0
      for key in keys { sum += try tx[.typed].get(key)?.seconds ?? 0 }
      return sum
    }
  }

  private func getMany() throws -> Int {
    try db.read { tx throws in try tx[.typed].objects(for: keys).reduce(0) { $0 + $1.seconds } }
  }

  private func scan() throws -> Int {
    try db.read { tx throws in
      var sum = 0
      for row in tx[.typed].rows { sum += row.object.seconds }
      return sum
    }
  }

  // Once more for the other type: one function for both would be generic, which adds 50 instructions to a cached get.

  private func getMarked() throws -> Int {
    try db.read { tx throws in
      var sum = 0
      for key in keys { sum += try tx[.marked].get(key)?.seconds ?? 0 }
      return sum
    }
  }

  private func scanMarked() throws -> Int {
    try db.read { tx throws in
      var sum = 0
      for row in tx[.marked].rows { sum += row.object.seconds }
      return sum
    }
  }

  private func sumOfKeys() throws -> Int {
    try db.read { tx throws in
      var sum = 0
      for key in tx[.typed].keys { sum += key.utf8.count }
      return sum
    }
  }
}
