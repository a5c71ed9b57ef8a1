// Holding checkpoints beside writers that never rest.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ThreadedHeldCheckpointTests {
  private static let keyCount: Int64 = 300
  /// Where the newest commit tells its number.
  private static let numberKey: Int64 = -1

  /// What commit `number` puts under its key; nil where it removes what is there. Long values take pages of their own.
  private static func value(_ number: Int64) -> [UInt8]? {
    if number % 7 == 0 { return nil }
    let count = number % 11 == 0 ? 9000 : Int(40 + number % 200)
    return [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
  }

  /// Commits one number after another; each tells its number in a row of its own.
  private static func commit(_ number: Int64, _ engine: StorageEngine) throws {
    try engine.write { tx in
      let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
      if let value = value(number) {
        try tx.put(value, for: number % keyCount, in: tree)
      } else {
        _ = try tx.delete(number % keyCount, in: tree)
      }
      try tx.put(withUnsafeBytes(of: number.littleEndian) { Array($0) }, for: numberKey, in: tree)
    }
  }

  /// Whether an engine shows exactly what the commits up to the one it names have left.
  private static func isWhole(_ engine: StorageEngine) throws -> Bool {
    try engine.read { tx in
      let found = tx.tree(named: "t")
      let tree = try #require(found)
      let bytes = try tx.value(for: numberKey, in: tree)
      let last = try #require(bytes)
      let number = last.enumerated().reduce(Int64(0)) { $0 | Int64($1.element) << Int64(8 * $1.offset) }
      for key in 0..<keyCount {
        let newest = number - ((number - key) % keyCount + keyCount) % keyCount
        let expected = newest > 0 ? value(newest) : nil
        if try tx.value(for: key, in: tree) != expected { return false }
      }
      return true
    }
  }

  @Test func readsWholeCommitsBesideAWriter() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.quire"
    let engine = try StorageEngine(
      at: path, options: StorageOptions(cacheSize: 1 << 20, durability: .relaxed, logLimit: 1 << 20))
    let stop = StopFlag()
    let threads = ThreadGroup()
    try Self.commit(1, engine)
    threads.start {
      var number: Int64 = 2
      while !stop.isSet {
        try Self.commit(number, engine)
        number += 1
      }
    }
    threads.start {
      while !stop.isSet {
        try engine.checkpoint()
        try engine.compact()
      }
    }
    threads.start {
      defer { stop.set() }
      for round in 0..<TestSize.trials(200, divisor: 20) {
        let held = try engine.core.holdCheckpoint()
        for _ in 0..<(round % 3 + 1) {
          let reader = try StorageEngine(
            at: path, options: StorageOptions(cacheSize: 1 << 20, isReadOnly: true), held: held.image)
          if try !Self.isWhole(reader) { threads.complain("round \(round) shows no whole commit") }
          try reader.close()
        }
        held.end()
      }
    }
    #expect(threads.join() == [])
    #expect(engine.statistics.readers == 0)
    try engine.verify()
    try engine.close()
  }
}
