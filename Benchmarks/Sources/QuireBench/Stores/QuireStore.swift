// Quire as a store under test, through the public shell of QuireStorage: what an app would write.

internal import QuireStorage
internal import Foundation

/// Quire as it comes, but for the cache and the durability that a row asks for.
final class QuireStore: StoreUnderTest {
  static let name = "quire"
  /// It looks once in a second, and begins at the second look that finds no new commit.
  static let secondsUntilTidying = 2.2
  /// The cache that it has if nobody says anything, in bytes.
  static var standardCacheSize: Int { StorageEngine.Options().cacheSize }

  private let engine: StorageEngine
  private let tree: Tree

  init(directory: String, options: StoreOptions) throws {
    let engine = try StorageEngine(
      at: "\(directory)/rows.quire",
      options: StorageEngine.Options(
        cacheSize: options.cacheSize, durability: options.durability == .full ? .full : .relaxed,
        maintainsWhenIdle: options.tidiesWhenIdle))
    self.engine = engine
    tree = try engine.write { tx in try tx.tree(named: "rows") ?? tx.createTree("rows", keys: .bytes) }
  }

  var version: String { Self.checkout }
  /// What is measured: the commit that `publish` names, or nothing in particular.
  static var checkout: String {
    ProcessInfo.processInfo.environment["QUIRE_COMMIT"].map { "of commit \($0)" } ?? "of this checkout"
  }

  func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
      try engine.write { tx in
        for index in start..<min(start + perTransaction, range.upperBound) {
          try tx.put(rows.value(index).bytes, for: rows.key(index).bytes, in: tree)
        }
      }
    }
  }

  func load(_ rows: RowBlock) throws {
    try engine.write { tx in
      try tx.bulkLoad(into: tree) { loader in
        for index in 0..<rows.count { try loader.append(rows.value(index).bytes, for: rows.key(index).bytes) }
      }
    }
  }

  func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
    try engine.write { tx in
      while let rows = try next() {
        for index in 0..<rows.count { try tx.put(rows.value(index).bytes, for: rows.key(index).bytes, in: tree) }
      }
    }
  }

  func loadInAnyOrder(_ next: () throws -> RowBlock?) throws -> Bool {
    try engine.write { tx in
      try tx.bulkLoad(into: tree) { loader in
        while let rows = try next() {
          for index in 0..<rows.count { try loader.append(rows.value(index).bytes, for: rows.key(index).bytes) }
        }
      }
    }
    return true
  }

  func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
    try engine.write { tx in
      for index in range {
        guard try tx.delete(rows.key(index).bytes, in: tree) else {
          throw StoreFailure(description: "Quire: a key is missing")
        }
      }
    }
  }

  @inline(never)
  func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
    try engine.read { tx in
      var total: UInt64 = 0
      for index in range {
        let found = try tx.withValue(for: keys[index].bytes, in: tree) { value in
          value.withUnsafeBytes { sum(of: $0) }
        }
        guard let found else { throw StoreFailure(description: "Quire: a key is missing") }
        total &+= found
      }
      return total
    }
  }

  @inline(never)
  func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
    try engine.read { tx in
      var total: UInt64 = 0
      try tx.withValues(count: range.count, in: tree, { keys[range.lowerBound + $0] }) { _, value in
        guard let value else { throw StoreFailure(description: "Quire: a key is missing") }
        total &+= value.withUnsafeBytes { sum(of: $0) }
      }
      return total
    }
  }

  func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
    try engine.read { tx in
      var total: UInt64 = 0
      var cursor = try tx.cursor(tree)
      for index in range {
        _ = try cursor.seek(keys[index].bytes)
        try cursor.forEachValue(limit: length) { value in
          total &+= value.withUnsafeBytes { sum(of: $0) }
          return true
        }
      }
      return total
    }
  }

  func scan(after body: () throws -> Void) throws -> Contents {
    try engine.read { tx in
      var contents = Contents()
      var cursor = try tx.cursor(tree)
      try body()
      try cursor.forEachValue { value in
        value.withUnsafeBytes { contents.add($0) }
        return true
      }
      return contents
    }
  }

  func count() throws -> Int { try engine.read { tx in try tx.count(of: tree) } }

  var flushes: UInt64? {
    let statistics = engine.statistics
    return UInt64(statistics.flushes + statistics.dataSyncs)
  }

  func settle() throws { try engine.checkpoint() }

  func compact() throws { try engine.compact() }

  func close() throws { try engine.close() }
}
