// Small databases that show all there is to the format: written once, kept for ever, and opened by every later version.

internal import QuireStorage

/// A database of `Fixtures/format-v1` and `Fixtures/format-v2`.
///
/// The files there were made by `quire-torture fixtures Fixtures/format-v2` of the version that introduced the format,
/// and likewise for each format before. They are never made again: a version that wrote them differently would have to
/// read the old ones all the same.
package enum FormatFixture: String, CaseIterable, Sendable {
  /// A tree with one entry: the example of the format document.
  case tiny
  /// Closed, 4 KiB pages, trees of two levels, long values, a tree that was dropped, both kinds of keys; from format 2
  /// on uniform leaves of both.
  case closed4k = "closed-4k"
  /// Closed, 16 KiB pages, the same.
  case closed16k = "closed-16k"
  /// A killed process's: a log with every operation, parts, undone operations and marks.
  case crashed4k = "crashed-4k"

  /// The files of one database, by the ends of their names: nothing for the data file, `-log0` and so on for logs.
  package typealias Files = [String: [UInt8]]

  private static let path = "/fixture"

  /// Makes the database anew.
  package func make() throws -> Files {
    let disk = SimulatedDisk()
    let pageSize = self == .closed16k ? 16384 : 4096
    let options = StorageOptions(pageSize: pageSize, cacheSize: 256 * pageSize, logLimit: 16 << 10)
    let dice = SharedRandom(seed: 20_261_121)
    let environment = StorageEnvironment(
      fileSystem: disk, random: { dice.next() }, scheduling: .stepped, initialSegmentByteCount: 16 << 10,
      partByteCount: 512)
    let engine = try StorageEngine(at: Self.path, options: options, environment: environment)
    switch self {
    case .tiny:
      try engine.write { tx in
        let greetings = try tx.createTree("greetings", keys: .bytes)
        try tx.put("hello", for: "world", in: greetings)
      }
      try engine.close()
    case .closed4k, .closed16k:
      try fill(engine, rows: self == .closed4k ? 200 : 40, longByteCount: pageSize / 2)
      if self == .closed4k {
        try putTwoChunks(engine)
        try engine.checkpoint()
      }
      try dropAndShrink(engine)
      try engine.compact()
      try engine.close()
    case .crashed4k:
      try fill(engine, rows: 60, longByteCount: 5000)
      try engine.checkpoint()
      try everyOperation(engine)
    }
    return try files(of: self == .crashed4k ? disk.processKillImage() : disk)
  }

  private func files(of disk: SimulatedDisk) throws -> Files {
    var files: Files = [:]
    for name in disk.names { files[String(name.dropFirst(Self.path.count))] = disk.bytes(of: name) }
    // Without what was allocated in advance: nobody refers to it.
    let decoded = try DecodedDatabase(disk, path: Self.path)
    files[""] = files[""].map { Array($0.prefix(decoded.pageCount * decoded.pageSize)) }
    return files
  }

  /// Keys with a common prefix, negative and positive integers, a tree to be dropped, and two whose entries have the
  /// same lengths.
  private func fill(_ engine: StorageEngine, rows: Int, longByteCount: Int) throws {
    try engine.write { tx in
      let texts = try tx.createTree("texts", keys: .bytes)
      let numbers = try tx.createTree("numbers", keys: .int64)
      let doomed = try tx.createTree("doomed", keys: .bytes)
      let codes = try tx.createTree("codes", keys: .bytes)
      let squares = try tx.createTree("squares", keys: .int64)
      for row in 0..<rows {
        try tx.put("value \(row * row)", for: "shared/prefix/\(row)", in: texts)
        try tx.put([UInt8(truncatingIfNeeded: row)], for: Int64(row * row * row) - 5000, in: numbers)
        if row % 8 == 0 { try tx.put("gone", for: "doomed \(row)", in: doomed) }
        try tx.put("code", for: "\(1_000_000_007 * (row + 1) % 900_007 + 100_000)-of-\(1000 + row)", in: codes)
        try tx.put([UInt8](repeating: UInt8(truncatingIfNeeded: row * row), count: 8), for: Int64(row), in: squares)
      }
      try tx.put("", for: "", in: texts)
      try tx.put([UInt8](repeating: 7, count: longByteCount), for: "long", in: texts)
      try tx.put([], for: Int64.min, in: numbers)
      try tx.put([], for: Int64.max, in: numbers)
      _ = try tx.allocateRowIDs(3)
    }
  }

  /// A value longer than one chunk, so that it has a list of checksums.
  private func putTwoChunks(_ engine: StorageEngine) throws {
    try engine.write { tx in
      guard let numbers = tx.tree(named: "numbers") else { return }
      try tx.put((0..<65_600).map { UInt8(truncatingIfNeeded: $0 / 255) }, for: Int64(0), in: numbers)
    }
  }

  private func dropAndShrink(_ engine: StorageEngine) throws {
    try engine.write { tx in
      guard let doomed = tx.tree(named: "doomed"), let texts = tx.tree(named: "texts") else { return }
      try tx.dropTree(doomed)
      for row in 0..<20 { _ = try tx.delete("shared/prefix/\(row)", in: texts) }
    }
  }

  private func everyOperation(_ engine: StorageEngine) throws {
    try engine.write { tx in
      guard let texts = tx.tree(named: "texts"), let numbers = tx.tree(named: "numbers") else { return }
      try tx.put("changed", for: "shared/prefix/7", in: texts)
      _ = try tx.delete("shared/prefix/8", in: texts)
      try tx.put([1, 2, 3], for: Int64(-77), in: numbers)
      _ = try tx.delete(Int64(-5000), in: numbers)
      try tx.deleteRange(from: "shared/prefix/3", to: "shared/prefix/4", in: texts)
      try tx.deleteRange(from: Int64(1000), in: numbers)
      _ = try tx.allocateRowIDs(5)
    }
    // In several parts, some of them undone.
    try engine.write { tx in
      guard let doomed = tx.tree(named: "doomed") else { return }
      try tx.dropTree(doomed)
      let late = try tx.createTree("late", keys: .int64)
      for row in 0..<60 {
        if row == 20 {
          try? tx.savepoint { inner in
            for row in 0..<60 { try inner.put([UInt8](repeating: 9, count: 30), for: Int64(row), in: late) }
            try inner.rollback()
          }
        }
        try tx.put([UInt8](repeating: UInt8(row), count: 20), for: Int64(row) * 3, in: late)
      }
      try tx.put([UInt8](repeating: 5, count: 3000), for: Int64(1), in: late)
    }
    // Twice: it is written once nothing has come in between.
    for _ in 0..<2 { _ = engine.core.appendQuietMark() }
    try engine.write { tx in
      guard let late = tx.tree(named: "late") else { return }
      try tx.put("last", for: Int64(2), in: late)
    }
  }
}
