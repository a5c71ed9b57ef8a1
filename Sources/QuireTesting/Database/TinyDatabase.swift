// A small database on a simulated disk.

package import QuireStorage

/// Makes and opens small databases that do nothing by themselves.
package struct TinyDatabase {
  /// Where the data file stands on the disk.
  package static let path = "/a.quire"
  /// The disk that it stands on.
  package let disk: SimulatedDisk
  /// What it is opened with.
  package var options: StorageOptions
  /// Up to how many pages of a file the first transaction proves the free map; 0 to leave it to whoever needs places.
  package var provenAtOncePageCount = 4096

  /// A database on `disk`; nothing happens there yet.
  package init(_ disk: SimulatedDisk = SimulatedDisk(), pageSize: Int = 4096) {
    self.disk = disk
    options = StorageOptions(pageSize: pageSize, cacheSize: 4 << 20, logLimit: 64 << 10)
  }

  /// Opens the database on `disk`, or on the own one; repeatable.
  package func open(_ other: SimulatedDisk? = nil, seed: UInt64 = 1) throws -> StorageEngine {
    let random = SharedRandom(seed: seed)
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
  package static func fill(
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
  package static func text(_ number: Int, isUniform: Bool) -> String { String(isUniform ? 100_000 + number : number) }
}
