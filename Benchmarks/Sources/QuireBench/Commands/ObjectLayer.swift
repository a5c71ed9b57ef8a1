// The object layer beside the calls of the engine that it consists of: same keys, same order, in one run.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase
internal import QuireStorage
internal import QuireTesting
internal import Synchronization

/// A collection of dates, which cost next to nothing to decode: what is left is the layer itself.
let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp)

/// What apps store: a few texts, numbers, a date and a list.
struct Song: Codable, Sendable {
  var title: String
  var album: String
  var seconds: Int
  var rating: Double
  var added: Date
  var tags: [String]

  static let example = Song(
    title: String(repeating: "t", count: 28), album: String(repeating: "a", count: 33), seconds: 1, rating: 4.25,
    added: Date(timeIntervalSinceReferenceDate: 7.5e8), tags: ["rock", "a longer tag here", "third one"])
}

/// As `dates`, for rows that go and come again.
private let newDates = RowCollection<Date, NoMetadata>("new dates", coder: .timestamp)

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var binary: Self { .init("binary", compression: .none) }
  fileprivate static var json: Self { .init("json", coder: .json, compression: .none) }
}

/// A database of objects and an engine with two trees of the same shape.
private final class ObjectBench: Sendable {
  let db: Database
  /// Songs in both forms; apart from the dates, whose trees are to be of the engine's size.
  let songs: Database
  let engine: StorageEngine
  let keyTree: Tree
  let rowTree: Tree
  let cache: CacheBench
  /// All keys in random order, and in another one, in which their rows are not neighbours either.
  let keys: [String]
  let otherKeys: [String]

  init(_ folder: String, count: Int) throws {
    var random = SeededRandom(seed: 1)
    keys = (0..<count).map { "row-\(1_000_000 + $0)" }.shuffled(using: &random)
    otherKeys = keys.shuffled(using: &random)
    cache = try CacheBench(folder, keys)
    db = try Database(at: "\(folder)/objects", options: Database.Options(durability: .relaxed))
    songs = try Database(at: "\(folder)/songs", options: Database.Options(durability: .relaxed))
    engine = try StorageEngine(at: "\(folder)/engine", options: StorageOptions(durability: .relaxed))
    (keyTree, rowTree) = try engine.write { tx in
      (try tx.createTree("keys", keys: .bytes), try tx.createTree("rows", keys: .int64))
    }
    for start in stride(from: 0, to: count, by: 10_000) {
      let part = keys[start..<min(count, start + 10_000)]
      _ = try setObjects(part)
      _ = try setEntries(part)
      _ = try setSongs(part, .binary)
      _ = try setSongs(part, .json)
    }
  }

  // MARK: The object layer

  func setObjects(_ keys: ArraySlice<String>) throws -> Double {
    try db.write { tx throws in
      for key in keys { try tx[dates].set(Date(timeIntervalSinceReferenceDate: 1), for: key) }
    }
    return 0
  }

  /// New rows, in one transaction: one by one, or loaded.
  func insertObjects(isLoad: Bool) throws -> Double {
    try db.write { tx throws in
      let rows = tx[newDates]
      try rows.removeAll()
      if isLoad {
        try rows.load(keys.lazy.map { ($0, Date(timeIntervalSinceReferenceDate: 1)) })
      } else {
        for key in keys { try rows.set(Date(timeIntervalSinceReferenceDate: 1), for: key) }
      }
    }
    return 0
  }

  func getObjects(_ range: Range<Int>) throws -> Double {
    try db.read { tx throws in
      var sum = 0.0
      for index in range { sum += try tx[dates].get(keys[index])?.timeIntervalSinceReferenceDate ?? 0 }
      return sum
    }
  }

  /// Each object in a transaction of its own.
  func getObjectsOneByOne() throws -> Double {
    var sum = 0.0
    for key in keys {
      sum += try db.read { tx throws in try tx[dates].get(key)?.timeIntervalSinceReferenceDate ?? 0 }
    }
    return sum
  }

  func setSongs(_ keys: ArraySlice<String>, _ songs: RowCollection<Song, NoMetadata>) throws -> Double {
    try self.songs.write { tx throws in for key in keys { try tx[songs].set(.example, for: key) } }
    return 0
  }

  func getSongs(_ range: Range<Int>) throws -> Double {
    try songs.read { tx throws in
      var sum = 0.0
      for index in range { sum += Double(try tx[.binary].get(keys[index])?.seconds ?? 0) }
      return sum
    }
  }

  /// Every song once, in one of two forms: what is different is the coders' own.
  func getSongs(_ songs: RowCollection<Song, NoMetadata>) throws -> Double {
    try self.songs.read { tx throws in
      var sum = 0.0
      for key in keys { sum += Double(try tx[songs].get(key)?.seconds ?? 0) }
      return sum
    }
  }

  func getManyObjects() throws -> Double {
    try db.read { tx throws in
      var sum = 0.0
      for date in try tx[dates].objects(for: keys) { sum += date.timeIntervalSinceReferenceDate }
      return sum
    }
  }

  func enumerateObjects() throws -> Double {
    try db.read { tx throws in
      var sum = 0.0
      for row in tx[dates].rows { sum += row.object.timeIntervalSinceReferenceDate }
      return sum
    }
  }

  // MARK: The engine

  private func indexKey(_ key: String) -> [UInt8] { [0, 0, 0, 1] + key.utf8 }

  func setEntries(_ keys: ArraySlice<String>) throws -> Double {
    try engine.write { tx in
      for key in keys {
        let bytes = indexKey(key)
        let found = try tx.withValue(for: bytes, in: keyTree) { $0.unsafeLoad(as: Int64.self) }
        let rowID = try found ?? tx.allocateRowIDs()
        try tx.put([0, 1, 0, 0, 0, 11, 0] + key.utf8 + [0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], for: rowID, in: rowTree)
        if found == nil { try tx.put(withUnsafeBytes(of: rowID) { Array($0) }, for: bytes, in: keyTree) }
      }
      return 0
    }
  }

  /// The two look-ups of a get; the key is put together beforehand as the layer does it, in memory that is there.
  func getEntries(_ range: Range<Int>) throws -> Double {
    var key: [UInt8] = [0, 0, 0, 1] + keys[0].utf8
    return try engine.read { tx in
      var sum = 0.0
      for index in range {
        var text = keys[index]
        text.withUTF8 { bytes in
          key.withUnsafeMutableBytes { key in
            guard let source = bytes.baseAddress else { return }
            key.baseAddress?.advanced(by: 4).copyMemory(from: source, byteCount: 11)
          }
        }
        let rowID = try tx.withValue(for: key, in: keyTree) { $0.unsafeLoad(as: Int64.self) } ?? 0
        sum +=
          try tx.withValue(for: rowID, in: rowTree) { bytes in
            bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: bytes.byteCount - 8, as: Double.self)
          } ?? 0
      }
      return sum
    }
  }
}

/// Measures the object layer against the engine.
struct ObjectLayer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "object-layer", abstract: "Measures the object layer beside the engine's calls that it consists of.")

  @Option(help: "Rows.")
  var count = 100_000
  @Option(help: "Alternating runs.")
  var runs = 7
  @Option(parsing: .upToNextOption, help: "Times these sections only; all of them by default.")
  var sections: [String] = []
  @Option(help: "Runs one section once, for a profiler: \(sectionNames.joined(separator: ", ")).")
  var instructions: String?

  private static let sectionNames = [
    "get", "engine-get", "read", "get-many", "enumerate", "set", "engine-set", "set-shuffled", "insert", "load",
    "get-binary", "set-binary", "get-json", "get-cached", "get-cached-date", "get-half-cached", "get-too-many",
    "dictionary", "set-cached",
  ]

  func run() throws {
    let folder =
      FileManager.default.temporaryDirectory.path + "/quire-objects-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let bench = try ObjectBench(folder, count: count)
    let expected = Double(count)
    func section(_ name: String) throws -> (() throws -> Double) {
      switch name {
      case "get": { try bench.getObjects(0..<count) }
      case "engine-get": { try bench.getEntries(0..<count) }
      case "read": { try bench.getObjectsOneByOne() }
      case "get-many": { try bench.getManyObjects() }
      case "enumerate": { try bench.enumerateObjects() }
      case "set": { try bench.setObjects(bench.keys[...]) + expected }
      case "engine-set": { try bench.setEntries(bench.keys[...]) + expected }
      case "set-shuffled": { try bench.setObjects(bench.otherKeys[...]) + expected }
      case "insert": { try bench.insertObjects(isLoad: false) + expected }
      case "load": { try bench.insertObjects(isLoad: true) + expected }
      case "get-binary": { try bench.getSongs(.binary) }
      case "set-binary": { try bench.setSongs(bench.keys[...], .binary) + expected }
      case "get-json": { try bench.getSongs(.json) }
      case "get-cached": { try bench.cache.getHits(0..<count) }
      case "get-cached-date": { try bench.cache.getDates() }
      case "get-half-cached": { try bench.cache.getHalf() }
      case "get-too-many": { try bench.cache.getMisses() }
      case "dictionary": { try bench.cache.getFromDictionary() }
      case "set-cached": { try bench.cache.set() + expected }
      default: throw ValidationError("--instructions knows only: \(Self.sectionNames.joined(separator: ", ")).")
      }
    }
    if let instructions {
      let body = try section(instructions)
      _ = try body()
      var sum = 0.0
      try measuredSection { sum = try body() }
      try expect(sum == expected, "\(instructions) gave a wrong sum")
      return print("\(instructions): \(count) operations")
    }
    let names = sections.isEmpty ? Self.sectionNames : sections
    // Twice each: after the other sections have had the processor's caches, and again at once, when it is warm.
    var (first, times): ([String: [Double]], [String: [Double]]) = ([:], [:])
    for run in 0..<runs {
      for name in run % 2 == 0 ? names : names.reversed() {
        let body = try section(name)
        for isWarm in [false, true] {
          let start = Clocks.thread()
          try expect(try body() == expected, "\(name) gave a wrong sum")
          let time = Double(Clocks.thread() - start) / expected
          if isWarm { times[name, default: []].append(time) } else { first[name, default: []].append(time) }
        }
      }
    }
    for name in names {
      let (samples, others) = (times[name, default: []], Int(median(first[name, default: []])))
      let lowest = Int(samples.min() ?? 0)
      print("\(name): \(Int(median(samples))) ns (lowest \(lowest)), \(others) after the others")
    }
    func middle(_ name: String) -> Double { median(times[name, default: []]) }
    guard sections.isEmpty else { return }
    print("get above the engine's two look-ups: \(Int(middle("get") - middle("engine-get"))) ns")
    let (binary, json) = (middle("get-binary") - middle("engine-get"), middle("get-json") - middle("engine-get"))
    print("decoding JSON takes \(rounded(json / binary)) × the time of the binary form, finding the row left out")
    for (name, ratio) in try bench.cache.hitRatios() {
      print("\(name): \(rounded(100 * ratio)) % of the songs were in the cache")
    }
    try threads(bench)
  }

  /// Reads on two threads beside reads on one. Where other programs want the cores as well, what two threads do on the
  /// clock of the wall says little; the time that they are on a core shows what they cost each other all the same.
  private func threads(_ bench: ObjectBench) throws {
    let reads: [(String, @Sendable (Range<Int>) throws -> Double)] = [
      ("get", bench.getObjects), ("engine-get", bench.getEntries), ("get-binary", bench.getSongs),
      ("get-cached", bench.cache.getHits),
    ]
    for (name, read) in reads {
      var (onCore, onWall): ([Double], [Double]) = ([], [])
      for run in 0..<runs {
        let first = run % 2 == 0 ? 1 : 2
        let costs = try [first, 3 - first].map { try cost(of: read, threads: $0) }
        let (one, two) = (costs[first - 1], costs[2 - first])
        onCore.append(2 * one.onCore / two.onCore)
        onWall.append(2 * one.onWall / two.onWall)
      }
      print(
        "\(name) on two threads: \(rounded(median(onCore))) × one by the time on a core, "
          + "\(rounded(median(onWall))) × on the wall (best \(rounded(onWall.max() ?? 0)))")
    }
  }

  /// What a read costs with so many threads at it, each in its own half of the keys, in nanoseconds.
  private func cost(
    of read: @escaping @Sendable (Range<Int>) throws -> Double, threads: Int
  ) throws -> (onCore: Double, onWall: Double) {
    let (half, rounds) = (count / 2, 4)
    let onCore = Atomic<Int>(0)
    let start = Clocks.wall()
    try onThreads(threads) { thread in
      let start = Clocks.thread()
      for _ in 0..<rounds { _ = try read(thread * half..<(thread + 1) * half) }
      onCore.add(Clocks.thread() - start, ordering: .relaxed)
    }
    let reads = Double(threads * rounds * half)
    return (Double(onCore.load(ordering: .relaxed)) / reads, Double(threads * (Clocks.wall() - start)) / reads)
  }

  private func rounded(_ ratio: Double) -> String { String(format: "%.2f", ratio) }
}
