// A small database on a simulated disk, and all that is in it as one value to compare.

import QuireStorage
import QuireTesting

/// Everything that readers can find in a database.
struct DatabaseContent: Equatable {
  /// One entry of a tree.
  struct Entry: Equatable {
    var key: [UInt8]
    var value: [UInt8]
  }
  /// By the name of the tree.
  var trees: [String: [Entry]] = [:]

  /// Reads every entry of every tree, forwards, and checks that going backwards, looking up and counting agree.
  init(of engine: StorageEngine, checksThoroughly: Bool = true) throws {
    trees = try engine.read { tx in
      var trees: [String: [Entry]] = [:]
      for name in tx.treeNames {
        guard let tree = tx.tree(named: name) else { continue }
        var entries: [Entry] = []
        var cursor = try tx.cursor(tree)
        while try cursor.next() { entries.append(Entry(key: cursor.key ?? [], value: try cursor.value ?? [])) }
        if checksThoroughly {
          var count = 0
          var backwards = try tx.cursor(tree)
          while try backwards.previous() { count += 1 }
          var nth = try tx.cursor(tree)
          for index in stride(from: 0, to: entries.count, by: 1 + entries.count / 8) {
            _ = try nth.seek(toIndex: index)
          }
          for entry in entries.prefix(64) { _ = try Self.lookUp(entry, tree, tx) }
          _ = try tx.count(of: tree) == count
        }
        trees[name] = entries
      }
      return trees
    }
  }

  private static func lookUp(_ entry: Entry, _ tree: Tree, _ tx: borrowing ReadTransaction) throws -> Int {
    if tree.keys == .bytes {
      _ = try tx.value(for: entry.key, in: tree)
      return try tx.rank(of: entry.key, in: tree)
    }
    let ordered = entry.key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let key = Int64(bitPattern: ordered ^ (1 << 63))
    _ = try tx.value(for: key, in: tree)
    return try tx.rank(of: key, in: tree)
  }
}

/// Makes and opens small databases that do nothing by themselves.
struct TinyDatabase {
  static let path = "/a.quire"
  let disk: SimulatedDisk
  var options: StorageOptions
  /// Up to how many pages of a file the first transaction proves the free map; 0 to leave it to whoever needs places.
  var provenAtOncePageCount = 4096

  init(_ disk: SimulatedDisk = SimulatedDisk(), pageSize: Int = 4096) {
    self.disk = disk
    options = StorageOptions(pageSize: pageSize, cacheSize: 4 << 20, logLimit: 64 << 10)
  }

  /// Opens the database on `disk`, or on the own one; repeatable.
  func open(_ other: SimulatedDisk? = nil, seed: UInt64 = 1) throws -> StorageEngine {
    let random = SeededBox(seed)
    var environment = StorageEnvironment(
      fileSystem: other ?? disk, random: { random.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 64 << 10, provenAtOncePageCount: provenAtOncePageCount)
    environment.restingSegmentByteCount = environment.initialSegmentByteCount
    return try StorageEngine(at: Self.path, options: options, environment: environment)
  }

  /// Fills three trees with `count` entries each, long keys with common prefixes among them, and overwrites and deletes
  /// some so that pages have garbage.
  ///
  /// - Parameters:
  ///   - longOneIn: one value in so many is longer than a page; 0 for none.
  ///   - isUniform: whether all other values have one length, and all keys of a tree, so that leaves become uniform.
  static func fill(
    _ engine: StorageEngine, count: Int, seed: UInt64 = 3, longOneIn: Int = 0, isUniform: Bool = false
  ) throws {
    var random = SeededRandom(seed: seed)
    let trees = try engine.write { tx in
      (
        try tx.tree(named: "texts") ?? tx.createTree("texts", keys: .bytes),
        try tx.tree(named: "numbers") ?? tx.createTree("numbers", keys: .int64),
        try tx.tree(named: "paths") ?? tx.createTree("paths", keys: .bytes)
      )
    }
    for _ in 0..<4 {
      try engine.write { tx in
        for _ in 0..<(count / 4) {
          let number = random.below(4 * count)
          let isLong = longOneIn > 0 && random.oneIn(longOneIn)
          let shortLength = isUniform ? 30 : random.below(60)
          let length = shortLength + (isLong ? engine.core.store.pageSize * [1, 3, 17][random.below(3)] : 0)
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
          let text = Self.text(number, isUniform: isUniform)
          try tx.put(value, for: "key\(text)", in: trees.0)
          try tx.put(value, for: Int64(number) - Int64(count), in: trees.1)
          try tx.put(value, for: "/home/of/\(number % 7)/somebody/with/a/long/path/\(text)", in: trees.2)
          let gone = random.below(4 * count)
          _ = try tx.delete("key\(Self.text(gone, isUniform: isUniform))", in: trees.0)
          _ = try tx.delete(Int64(gone) - Int64(count), in: trees.1)
        }
      }
    }
  }
}

extension TinyDatabase {
  /// The digits of a number in keys, as many for each number if so wanted.
  static func text(_ number: Int, isUniform: Bool) -> String { String(isUniform ? 100_000 + number : number) }
}

/// Repeatable randomness that closures may share.
final class SeededBox: @unchecked Sendable {
  // Sendable: safe because stepped engines draw from one thread.
  private var random: SeededRandom

  init(_ seed: UInt64) { random = SeededRandom(seed: seed) }

  func next() -> UInt64 { random.next() }
}
