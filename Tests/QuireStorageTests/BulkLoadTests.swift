// Bulk loads against a sorted array: every shape of key, with and without runs on disk, into trees with and without
// entries, and what is left when one is stopped.

import QuireStorage
import QuireTesting
import Testing

/// One load: what the keys look like, and how it is made.
private struct LoadScenario: CustomTestStringConvertible, Sendable {
  let pageSize: Int
  let shape: KeyUniverse.Shape
  let bufferByteCount: Int
  let existing: Int
  let seed: UInt64

  var testDescription: String {
    "\(pageSize) \(shape), buffer \(bufferByteCount), into \(existing) entries, seed \(seed)"
  }
  var keyKind: KeyKind { shape == .integers || shape == .consecutive ? .int64 : .bytes }

  static let all: [LoadScenario] = [512, 4096].flatMap { pageSize in
    KeyUniverse.Shape.allCases.enumerated().flatMap { number, shape in
      [(8 << 10, 0), (2 << 20, 0), (8 << 10, 200), (2 << 20, 200)].enumerated().map { index, load in
        LoadScenario(
          pageSize: pageSize, shape: shape, bufferByteCount: load.0, existing: load.1,
          seed: UInt64(pageSize + number * 10 + index))
      }
    }
  }
}

private struct Stopped: Error {}

@Suite struct BulkLoadTests {
  private let options = StorageOptions(pageSize: 512, cacheSize: 64 << 20, logLimit: 256 << 10)

  @Test(
    "A bulk load leaves what puts would have left", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some(LoadScenario.all, of: 5))
  fileprivate func equalsModel(scenario: LoadScenario) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: scenario.pageSize, cacheSize: 64 << 20, logLimit: 256 << 10)
    let engine = try disk.openEngine(options, seed: scenario.seed)
    var random = SeededRandom(seed: scenario.seed)
    let limit = Limits.keyByteCount(pageSize: scenario.pageSize)
    let keys = KeyUniverse(count: 3000, shape: scenario.shape, maximumLength: limit, seed: scenario.seed).keys
    var model = SortedModel()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: scenario.keyKind)
      for _ in 0..<scenario.existing {
        let key = keys[random.below(keys.count)]
        _ = model.put([1, 2, 3], key)
        try tx.modelPut([1, 2, 3], key, in: tree)
      }
      return tree
    }
    try engine.write { tx in
      let before = model.count
      let load = BulkLoadOptions(bufferByteCount: scenario.bufferByteCount)
      let gained = try tx.bulkLoad(into: tree, options: load) { loader in
        for number in 0..<5000 {
          let key = keys[random.below(keys.count)]
          let room = scenario.pageSize / 3 - 100 - (tree.keys == .int64 ? 0 : key.count)
          // Some too long for a page, and some of these too long for the smaller buffer.
          let long = random.oneIn(16) ? [scenario.pageSize / 2, 1000, 20_000][random.below(3)] : 0
          let value = [UInt8](marked: number, count: max(long, random.below(max(1, min(room, 80)))))
          _ = model.put(value, key)
          if tree.keys == .int64 {
            try loader.append(value, for: integer(key))
          } else {
            try loader.append(value, for: key)
          }
        }
      }
      try require(gained == model.count - before, "\(gained) new entries, expected \(model.count - before)")
      try tx.compare(tree, with: model, strangers: [])
      // The transaction goes on.
      try tx.put([9], for: "after", in: tx.createTree("u", keys: .bytes))
    }
    try engine.read { tx in try tx.compare(tree, with: model, strangers: Array(keys.prefix(50))) }
    try engine.walkEverything()
    // Puts and deletes in the tree that was built.
    try engine.write { tx in
      for _ in 0..<500 {
        let key = keys[random.below(keys.count)]
        if random.oneIn(2) {
          _ = model.delete(key)
          _ = try tx.modelDelete(key, in: tree)
        } else {
          _ = model.put([7], key)
          try tx.modelPut([7], key, in: tree)
        }
      }
    }
    let again = try disk.processKillImage().openEngine(options, seed: 9)
    try again.read { tx in try tx.compare(tree, with: model, strangers: []) }
    try again.walkEverything(isCheckpointed: true)
    #expect(!disk.names.contains { $0.contains("-run") })
  }

  @Test(
    "A load that is stopped leaves nothing", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [1000, 8 << 10, 4 << 20])
  func stops(bufferByteCount: Int) throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let load = BulkLoadOptions(bufferByteCount: bufferByteCount)
    // While it is being given its entries: the transaction goes on.
    try engine.write { tx in
      #expect(throws: Stopped.self) {
        try tx.bulkLoad(into: tree, options: load) { loader in
          for key in 0..<Int64(2000) { try loader.append([1], for: key) }
          throw Stopped()
        }
      }
      try tx.put([2], for: Int64(7), in: tree)
    }
    // While it writes: the transaction is lost.
    #expect(throws: Stopped.self) {
      try engine.write { tx in
        try tx.bulkLoad(into: tree, options: load, progress: { _ in throw Stopped() }) { loader in
          for key in 0..<Int64(40_000) { try loader.append([1, 2, 3, 4, 5], for: key) }
        }
      }
    }
    try engine.write { tx in
      #expect(throws: Stopped.self) {
        try tx.savepoint { tx in
          try tx.bulkLoad(into: tree, options: load, progress: { _ in throw Stopped() }) { loader in
            for key in 0..<Int64(40_000) { try loader.append([1, 2, 3, 4, 5], for: key) }
          }
        }
      }
      try tx.put([3], for: Int64(8), in: tree)
    }
    let count = try engine.read { tx in try tx.count(of: tree) }
    #expect(count == 2)
    try engine.walkEverything()
    try engine.close()
  }

  @Test("Leaves are full, and progress reaches the end")
  func fillsLeaves() throws {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: 4096))
    var random = SeededRandom(seed: 4)
    var last = 0
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      try tx.bulkLoad(into: tree, progress: { last = $0.done }) { loader in
        for _ in 0..<40_000 {
          try loader.append([UInt8](repeating: 1, count: 40), for: Int64(bitPattern: random.next()))
        }
      }
    }
    #expect(last == 40_000)
    let walk = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(walk.fill > 0.97, "leaves are \(walk.fill) full")
    #expect(walk.entries == 40_000)
  }

  @Test("A load that is merged in several pieces loses none of its entries")
  func mergesInPieces() throws {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: 4096, cacheSize: 64 << 20))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in try tx.put([1], for: Int64(-1), in: tree) }
    // Twenty MiB, where a piece has eight.
    let (count, value) = (20 << 10, [UInt8](repeating: 5, count: 1000))
    let gained = try engine.write { tx in
      try tx.bulkLoad(into: tree) { loader in
        for key in 0..<Int64(count) { try loader.append(value, for: key) }
      }
    }
    #expect(gained == count)
    #expect(try engine.read { tx in try tx.count(of: tree) } == count + 1)
    try engine.close()
  }

  @Test("References to extents are staged beside entries that stay where they are", arguments: [8 << 10, 4 << 20])
  func stagedBesideBorrowed(bufferByteCount: Int) throws {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: 4096, cacheSize: 64 << 20))
    // Nearly all of each key is the leaf's prefix, so that a leaf has more entries than the staging area has room for.
    let prefix = [UInt8](repeating: 7, count: Limits.keyByteCount(pageSize: 4096) - 4)
    var model = SortedModel()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try tx.bulkLoad(into: tree, options: BulkLoadOptions(bufferByteCount: bufferByteCount)) { loader in
        for number in (0..<600).reversed() {
          let key = prefix + [UInt8(number >> 8), UInt8(number & 255), 1, 2]
          let value = [UInt8](marked: number, count: number % 3 == 0 ? 0 : number % 3 == 1 ? 9 : 5000)
          _ = model.put(value, key)
          try loader.append(value, for: key)
        }
      }
      return tree
    }
    try engine.read { tx in try tx.compare(tree, with: model, strangers: []) }
    try engine.walkEverything()
    try engine.close()
  }

  @Test("Runs in such numbers that they are merged more than once")
  func mergesRunsTwice() throws {
    let engine = try SimulatedDisk().openEngine(options)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in
      try tx.bulkLoad(into: tree, options: BulkLoadOptions(bufferByteCount: 0)) { loader in
        for number in 0..<30_000 {
          try loader.append("\(number)", for: "key \(number &* 7919 % 10_007)")
        }
      }
    }
    try engine.read { tx in
      let count = try tx.count(of: tree)
      #expect(count == 10_007)
      for number in 20_000..<20_100 {
        let value = try tx.value(for: "key \(number &* 7919 % 10_007)", in: tree)
        let expected = number + 10_007 < 30_000 ? number + 10_007 : number
        #expect(value == Array("\(expected)".utf8))
      }
    }
    try engine.walkEverything()
  }

  @Test("Entries that no tree takes are refused, and the rest is loaded")
  func refusesLongEntries() throws {
    let engine = try SimulatedDisk().openEngine(options)
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try tx.bulkLoad(into: tree) { loader in
        try loader.append("v", for: "k")
        #expect(throws: StorageError.self) {
          // The memory is never touched.
          let count = Limits.valueByteCount + 1
          let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
          defer { bytes.deallocate() }
          try loader.append(UnsafeRawBufferPointer(bytes), for: "k")
        }
        #expect(throws: StorageError.self) { try loader.append("v", for: [UInt8](repeating: 1, count: 600)) }
        #expect(throws: StorageError.self) { try loader.append("v", for: Int64(1)) }
      }
      let count = try tx.count(of: tree)
      #expect(count == 1)
    }
    try engine.walkEverything()
  }
}
