// Merges that make many leaves at once below a root that is a leaf or nearly full: their separators may take more than
// one branch page.

import QuireStorage
import QuireTesting
import Testing

@Suite struct LongKeyMergeTests {
  /// Keys as long as the engine takes, in pairs that differ in their last byte only, and between pairs in the first: no
  /// separator can be cut short, and no two have a beginning in common.
  private static func keys(_ count: Int, pageSize: Int) -> [[UInt8]] {
    let length = Limits.keyByteCount(pageSize: pageSize)
    return (0..<count).map { number in
      let pair = number / 2
      var key = [UInt8](repeating: UInt8(pair % 251), count: length)
      key[0] = UInt8(pair / 256)
      key[1] = UInt8(pair % 256)
      key[length - 1] = UInt8(number % 2)
      return key
    }
  }

  @Test("A bulk load of long keys into a tree of one leaf", arguments: [512, 4096, 16384], [1, 30, 400])
  func loadsLongKeys(pageSize: Int, count: Int) throws {
    let options = StorageOptions(pageSize: pageSize, cacheSize: 16 << 20, logLimit: 1 << 20)
    let engine = try SimulatedDisk().openEngine(options)
    var model = SortedModel()
    let keys = Self.keys(count, pageSize: pageSize)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try tx.put([1], for: keys[count / 2], in: tree)
      return tree
    }
    try engine.write { tx in
      try tx.bulkLoad(into: tree, options: BulkLoadOptions(bufferByteCount: 0)) { loader in
        for round in 0..<(1 + 40 * pageSize / count / keys[0].count) {
          for (number, key) in keys.enumerated() {
            let value = [UInt8](marked: number + round, count: number % 9)
            _ = model.put(value, key)
            try loader.append(value, for: key)
          }
        }
      }
      try tx.compare(tree, with: model, strangers: [])
    }
    try engine.walkEverything()
    try engine.close()
  }

  @Test("A replay of long keys into a tree of one leaf", arguments: [512, 4096])
  func replaysLongKeys(pageSize: Int) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: pageSize, cacheSize: 16 << 20, logLimit: 1 << 20)
    let engine = try disk.openEngine(options, segmentByteCount: 1 << 20)
    var model = SortedModel()
    let keys = Self.keys(200, pageSize: pageSize)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try tx.put([1], for: keys[100], in: tree)
      return tree
    }
    try engine.checkpoint()
    for (number, key) in keys.enumerated() {
      try engine.write { tx in try tx.put([UInt8](marked: number, count: 5), for: key, in: tree) }
      _ = model.put([UInt8](marked: number, count: 5), key)
    }
    let again = try disk.crashImage(.allNew).openEngine(options, segmentByteCount: 1 << 20)
    try again.read { tx in try tx.compare(tree, with: model, strangers: []) }
    try again.walkEverything()
  }
}
