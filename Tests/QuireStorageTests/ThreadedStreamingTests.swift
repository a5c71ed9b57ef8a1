// Transactions that stream, on threads, while checkpoints, marks and flushes come from others; and the images that a
// killed process would leave in the midst of it. Run under the thread sanitizer with --filter Threaded.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedStreamingTests {
  private static let keyCount: Int64 = 60
  private static let writerCount = 3

  /// Writes one round of a writer: the same number under all of its keys, with detours.
  private static func write(_ engine: StorageEngine, _ tree: Tree, writer: Int, round: Int) throws {
    func put(_ number: Int, _ tx: borrowing WriteTransaction) throws {
      let first = Int64(writer) * keyCount
      for key in first..<(first + keyCount) { try tx.put([UInt8](marked: number, count: 40), for: key, in: tree) }
    }
    if round % 3 == 0 {
      do {
        try engine.write { tx in
          try put(round + 5000, tx)
          try tx.rollback()
        }
      } catch let error as StorageError where error.code == .rolledBack {}
    }
    try engine.write { tx in
      try put(round, tx)
      guard round % 2 == 0 else { return }
      do {
        try tx.savepoint { tx in
          try put(round + 7000, tx)
          try tx.rollback()
        }
      } catch let error as StorageError where error.code == .rolledBack {}
    }
  }

  /// The round that each writer has come to; throws if one is there in part.
  private static func rounds(_ engine: StorageEngine, _ expected: Range<Int>) throws -> [Int] {
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { return [Int](repeating: 0, count: writerCount) }
      return try (0..<writerCount).map { writer in
        let first = Int64(writer) * keyCount
        let value = try tx.value(for: first, in: tree)
        for key in first..<(first + keyCount) where try tx.value(for: key, in: tree) != value {
          throw Mismatch("writer \(writer) is there in part")
        }
        guard let value else { return 0 }
        guard let round = expected.first(where: { [UInt8](marked: $0, count: 40) == value }) else {
          throw Mismatch("writer \(writer) left a value that it never committed")
        }
        return round
      }
    }
  }

  @Test("Parts of several writers, with checkpoints in between, and killed at any moment")
  func threadedStreaming() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 8 << 20, logLimit: 32 << 10)
    let engine = try disk.openEngine(
      options, scheduling: .threads, segmentByteCount: 16 << 10, partByteCount: 250)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let roundCount = 40
    let acknowledged = Latch([Int](repeating: 0, count: Self.writerCount))
    let (writing, watching) = (ThreadGroup(), ThreadGroup())
    let stop = StopFlag()
    for writer in 0..<Self.writerCount {
      writing.start {
        for round in 1...roundCount {
          try Self.write(engine, tree, writer: writer, round: round)
          acknowledged.withLock { $0[writer] = round }
        }
      }
    }
    watching.start {
      while !stop.isSet {
        try engine.checkpoint()
        engine.core.appendQuietMark()
        _ = try Self.rounds(engine, 1..<(roundCount + 1))
      }
    }
    watching.start {
      while !stop.isSet {
        let floor = acknowledged.withLock { $0 }
        let found = try Self.rounds(disk.processKillImage().openEngine(options), 1..<(roundCount + 1))
        for writer in 0..<Self.writerCount where found[writer] < floor[writer] {
          throw Mismatch("writer \(writer) was acknowledged \(floor[writer]), and \(found[writer]) is there")
        }
      }
    }
    let complaints = writing.join()
    stop.set()
    #expect(complaints + watching.join() == [])
    #expect(try Self.rounds(engine, 1..<(roundCount + 1)) == [Int](repeating: roundCount, count: Self.writerCount))
    try engine.verify()
    try engine.close()
  }
}
