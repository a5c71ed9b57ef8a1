// How many readers there are: those that somebody has begun, and not what the engine announces for itself.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ReaderCountTests {
  @Test("A checkpoint under way is no reader, and hides none")
  func checkpointIsNoReader() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions(pageSize: 512, cacheSize: 64 * 512, logLimit: 32 << 10))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var pin: PinnedSnapshot? = try engine.pin()
    var steps = 0
    for number in 0..<600 {
      try engine.write { tx in try tx.put([UInt8](marked: number, count: 100), for: Int64(number % 200), in: tree) }
      if number % 40 == 0 { engine.core.beginCheckpointInTransaction() }
      let expected = pin == nil ? 0 : 1
      while engine.core.stepCheckpoint() {
        steps += 1
        #expect(engine.statistics.readers == expected)
        if steps % 5 == 0 { break }
      }
      #expect(engine.statistics.readers == expected)
      if number == 300 { pin = nil }
    }
    #expect(steps > 50)
    try engine.read { _ in #expect(engine.statistics.readers == 1) }
    withExtendedLifetime(pin) {}
    try engine.close()
  }
}
