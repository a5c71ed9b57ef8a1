// Thousands of trees in one transaction: the time grows with their number, not with its square.

import QuireStorage
import QuireTesting
import Testing

@Suite(.serialized) struct ManyTreesTests {
  private static func name(_ number: Int) -> String { "collection number \(number)" }

  private static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    try disk.openEngine(StorageOptions(logLimit: 16 << 20), segmentByteCount: 4 << 20)
  }

  private func make(_ range: Range<Int>, in engine: StorageEngine) throws {
    try engine.write { tx in
      for number in range {
        let tree = try tx.createTree(Self.name(number), keys: .int64)
        try tx.put([UInt8(number & 0xff)], for: Int64(number), in: tree)
      }
    }
  }

  private func check(_ count: Int, of engine: StorageEngine) throws {
    try engine.read { tx in
      let found = tx.treeNames.count
      try #require(found == count)
      for number in stride(from: 0, to: count, by: 37) {
        let tree = tx.tree(named: Self.name(number))
        let value = try tx.value(for: Int64(number), in: #require(tree))
        try #require(value == [UInt8(number & 0xff)])
      }
    }
  }

  @Test(
    "Four times as many trees take about four times as long to make, to find and to drop",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func makingIsLinear() throws {
    let growth = try Effort.growth(of: 800, by: 4) { count in
      let engine = try Self.open(SimulatedDisk())
      return {
        try self.make(0..<count, in: engine)
        try engine.write { tx in
          for number in 0..<count {
            let tree = tx.tree(named: Self.name(number))
            if number % 2 == 0, let tree { try tx.dropTree(tree) }
          }
          let left = tx.treeNames.count
          try #require(left == count / 2)
        }
        try engine.close()
      }
    }
    #expect(growth < 9, "a square would make it 16")
  }

  @Test("Replaying a log in which trees are made and filled in turn takes time in proportion")
  func replayIsLinear() throws {
    let growth = try Effort.growth(of: 300, by: 4) { count in
      let disk = SimulatedDisk()
      let engine = try Self.open(disk)
      try self.make(0..<count, in: engine)
      let image = disk.crashImage(.allNew)
      return {
        let recovered = try Self.open(image)
        try self.check(count, of: recovered)
      }
    }
    #expect(growth < 9, "a square would make it 16")
  }

  @Test("A savepoint takes trees and names back, in whatever order they came and went")
  func savepoints() throws {
    let engine = try Self.open(SimulatedDisk())
    try make(0..<300, in: engine)
    try engine.write { tx in
      try Self.drop(stride(from: 0, to: 300, by: 3), in: tx)
      do {
        try tx.savepoint { inner in
          try Self.drop(stride(from: 1, to: 300, by: 3), in: inner)
          _ = try inner.createTree(Self.name(0), keys: .bytes)
          throw Mismatch("undone")
        }
      } catch is Mismatch {}
      for number in 0..<300 {
        let isGone = tx.tree(named: Self.name(number)) == nil
        #expect(isGone == (number % 3 == 0))
      }
      for number in stride(from: 0, to: 300, by: 3) {
        let tree = try tx.createTree(Self.name(number), keys: .int64)
        try tx.put([UInt8(number & 0xff)], for: Int64(number), in: tree)
      }
    }
    try check(300, of: engine)
    try engine.verify()
    try engine.close()
  }

  private static func drop(_ numbers: some Sequence<Int>, in tx: borrowing WriteTransaction) throws {
    for number in numbers {
      let tree = tx.tree(named: name(number))
      try tx.dropTree(#require(tree))
    }
  }
}
