// How long a checkpoint waits between two buffers of values.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct CheckpointThrottleTests {
  private static let start = LSN(1 << 20)

  private func makeThrottle() -> CheckpointThrottle { CheckpointThrottle(start: Self.start, logRoom: 1000, total: 100) }

  /// How often the log was looked at, a look each before what is a pause otherwise.
  private func looks(written: Int, _ end: (Int) -> LSN?) -> Int {
    var throttle = makeThrottle()
    var count = 0
    throttle.wait(written: written) {
      count += 1
      return end(count)
    }
    return count
  }

  @Test("Who is in a hurry, or behind the log, does not pause")
  func goesOn() {
    #expect(looks(written: 100) { _ in nil } == 1)
    // Nothing of the log is used yet: a sixteenth goes without a pause.
    #expect(looks(written: 6) { _ in Self.start } == 1)
    // A fifth is used: three tenths and a sixteenth.
    let fifth = LSN(Self.start.rawValue + 200)
    #expect(looks(written: 36) { _ in fifth } == 1)
    // Two thirds are used, or more than there was room for: everything.
    for used in [667, 1000, 5000] as [UInt64] {
      #expect(looks(written: 100) { _ in LSN(Self.start.rawValue + used) } == 1)
    }
  }

  @Test("Who is ahead waits until the log has moved on, and a little at the most")
  func waits() {
    // The third look finds that somebody waits, or that the log has caught up.
    #expect(looks(written: 50) { $0 < 3 ? LSN(Self.start.rawValue + UInt64($0)) : nil } == 3)
    #expect(looks(written: 50) { LSN(Self.start.rawValue + UInt64($0 < 3 ? $0 : 400)) } == 3)
    // A log that always moves, and one that never does: both end by themselves.
    #expect(looks(written: 50) { LSN(Self.start.rawValue + UInt64($0 & 15)) } > 1)
    #expect(looks(written: 50) { _ in Self.start } > 1)
  }

  @Test("Commits go on beside a checkpoint of many long values, and who asks for its end gets it")
  func besideCommits() throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/a.quire"
    let options = StorageOptions(pageSize: 4096, cacheSize: 64 << 20, durability: .relaxed, logLimit: 8 << 20)
    let engine = try StorageEngine(at: path, options: options)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var key: Int64 = 0
    // Values of a page each, so many that the log has checkpoints begun.
    while engine.statistics.checkpoints < 2 {
      try engine.write { tx in
        for _ in 0..<20 {
          try tx.put([UInt8](marked: Int(key), count: 4000), for: key, in: tree)
          key += 1
        }
      }
      try #require(key < 200_000, "no checkpoint has ended")
    }
    try engine.checkpoint()
    #expect(engine.core.store.unwrittenCount == 0)
    try engine.verify()
    try engine.close()
    let again = try StorageEngine(at: path)
    try again.read { tx in
      let count = try tx.count(of: tree)
      #expect(count == Int(key))
      for probe in stride(from: 0, to: key, by: 97) {
        let value = try tx.value(for: probe, in: tree)
        #expect(value == [UInt8](marked: Int(probe), count: 4000))
      }
    }
    try again.close()
  }
}
