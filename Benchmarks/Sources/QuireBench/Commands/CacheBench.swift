// The cache of objects beside reads without one, and beside a dictionary.

internal import Foundation
internal import QuireDatabase

/// Databases with a cache that holds everything, and with one that holds a tenth.
final class CacheBench: Sendable {
  /// With room for all songs and dates.
  private let whole: Database
  /// With room for a tenth of the songs.
  private let part: Database
  /// As large, and written to.
  private let written: Database
  private let keys: [String]
  private let dictionary: [String: Song]
  /// Keys for reads of which every second finds its song in the smaller cache.
  private let half: [String]

  init(_ folder: String, _ keys: [String]) throws {
    self.keys = keys
    func open(_ name: String, _ countLimit: Int) throws -> Database {
      let cache = ObjectCacheOptions(countLimit: countLimit, byteLimit: 1 << 30)
      return try Database(
        at: "\(folder)/\(name)", options: Database.Options(durability: .relaxed, objectCache: cache))
    }
    whole = try open("whole", 4 * keys.count)
    part = try open("part", keys.count / 10)
    written = try open("written", 4 * keys.count)
    dictionary = Dictionary(uniqueKeysWithValues: keys.map { ($0, Song.example) })
    // A twentieth is asked for again and again, the rest in turns.
    let often = keys.count / 20
    half = (0..<keys.count).map { $0 % 2 == 0 ? keys[$0 / 2 % often] : keys[often + $0 / 2] }
    for start in stride(from: 0, to: keys.count, by: 10_000) {
      let range = keys[start..<min(keys.count, start + 10_000)]
      for db in [whole, part, written] {
        try db.write { tx throws in
          for key in range {
            try tx[.binary].set(.example, for: key)
            try tx[dates].set(Date(timeIntervalSinceReferenceDate: 1), for: key)
          }
        }
      }
    }
    _ = try get(written, keys)
    for _ in 0..<2 { _ = try (getHits(0..<keys.count), getDates(), getHalf()) }
  }

  private func get(_ db: Database, _ keys: some Sequence<String>) throws -> Double {
    try db.read { tx throws in
      var sum = 0.0
      for key in keys { sum += Double(try tx[.binary].get(key)?.seconds ?? 0) }
      return sum
    }
  }

  /// Songs that are all there.
  func getHits(_ range: Range<Int>) throws -> Double { try get(whole, keys[range]) }

  /// Dates that are all there: the least that decoding can cost.
  func getDates() throws -> Double {
    try whole.read { tx throws in
      var sum = 0.0
      for key in keys { sum += try tx[dates].get(key)?.timeIntervalSinceReferenceDate ?? 0 }
      return sum
    }
  }

  /// Songs of which every second one is there.
  func getHalf() throws -> Double { try get(part, half) }

  /// Ten times as many songs as there is room for, in turns: none is there.
  func getMisses() throws -> Double { try get(part, keys) }

  /// Stores songs that were in the cache.
  func set() throws -> Double {
    try written.write { tx throws in for key in keys { try tx[.binary].set(.example, for: key) } }
    return 0
  }

  /// A dictionary of the same songs.
  func getFromDictionary() throws -> Double {
    var sum = 0.0
    for key in keys { sum += Double(dictionary[key]?.seconds ?? 0) }
    return sum
  }

  /// What part of the reads of each kind finds its song.
  func hitRatios() throws -> [(name: String, ratio: Double)] {
    func ratio(_ name: String, _ db: Database, _ body: () throws -> Double) throws -> (String, Double) {
      let before = db.objectCacheStatistics
      _ = try body()
      guard let before, let after = db.objectCacheStatistics else { return (name, 0) }
      let (hits, misses) = (after.hits - before.hits, after.misses - before.misses)
      return (name, Double(hits) / Double(max(1, hits + misses)))
    }
    return [
      try ratio("get-cached", whole) { try getHits(0..<keys.count) },
      try ratio("get-half-cached", part, getHalf), try ratio("get-too-many", part, getMisses),
    ]
  }
}
