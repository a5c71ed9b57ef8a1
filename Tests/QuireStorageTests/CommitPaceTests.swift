// Holding commits back beside a checkpoint: simulated, on a clock of its own.

import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

@Suite struct CommitPaceTests {
  private static let million: UInt64 = 1_000_000

  /// A writer that commits without a pause beside a checkpoint, and what it had to wait for.
  private struct Simulation {
    /// The log's room when the checkpoint begins, and what a commit takes of it.
    var room = 1_000_000
    var commitByteCount = 2_000
    /// What a commit takes by itself, in microseconds.
    var commitTime: UInt64 = 1_000
    /// The pages of the checkpoint, and what each takes to be written, and to be synced in the end.
    var pages = 10_000
    var pageTime: UInt64 = 100
    var pageSyncTime: UInt64 = 20

    /// The longest that one commit took, the waiting for a full log included; and how many there were.
    func run(_ pace: CommitPace, from start: UInt64) -> (longest: UInt64, committed: Int) {
      let writtenAt = start + UInt64(pages) * pageTime
      let syncedAt = writtenAt + UInt64(pages) * pageSyncTime
      var (now, used, longest): (UInt64, Int, UInt64) = (start, 0, 0)
      var isSyncing = false
      var noted = start
      pace.note(written: 0, dirty: pages, at: start)
      while now < syncedAt {
        // The checkpoint's thread says how far it has come, every 128 pages.
        while noted <= min(now, writtenAt) {
          pace.note(written: Int((noted - start) / pageTime), dirty: pages, at: noted)
          noted += 128 * pageTime
        }
        if now >= writtenAt, !isSyncing {
          pace.noteSync(at: writtenAt)
          isSyncing = true
        }
        let begin = now
        if pace.isOn, used >= room / 2 {
          now += pace.delay(end: LSN(Self.base + UInt64(used)), room: max(0, room - room / 16 - used), at: now)
        } else {
          pace.forget()
        }
        if used + commitByteCount > room {
          now = max(now, syncedAt)
        } else {
          used += commitByteCount
          now += commitTime
        }
        longest = max(longest, now - begin)
      }
      pace.end(isDone: true, at: syncedAt)
      return (longest, used / commitByteCount)
    }

    static let base: UInt64 = 1 << 30
  }

  @Test("Without a checkpoint nobody is held back")
  func idle() {
    let pace = CommitPace()
    #expect(!pace.isOn && pace.delay(end: LSN(100), room: 10, at: 5) == 0)
    pace.note(written: 0, dirty: 100, at: 10)
    #expect(!pace.isOn, "nothing can be told from one look")
    pace.note(written: 3, dirty: 100, at: 20)
    #expect(!pace.isOn, "nor from three pages of a hundred")
    pace.note(written: 10, dirty: 90, at: 110)
    #expect(pace.isOn)
    pace.end(isDone: true, at: 1000)
    #expect(!pace.isOn)
  }

  @Test("A writer that is slower than the checkpoint is not held back")
  func slowWriter() {
    let pace = CommitPace()
    let slow = Simulation(commitTime: 5_000)
    for turn in 0..<3 as Range<UInt64> {
      let run = slow.run(pace, from: Self.million + turn * 10 * Self.million)
      #expect(run.longest == 5_000, "turn \(turn)")
    }
  }

  @Test("The wait for a checkpoint that is too slow is shared by many commits")
  func fastWriter() {
    let pace = CommitPace()
    let fast = Simulation()
    // Unpaced, the log would be full after half a second, and one commit would wait for 0.7 more.
    let first = fast.run(pace, from: Self.million)
    #expect(first.longest < 250_000, "the sync was not expected: \(first.longest) µs")
    for turn in 1..<4 as Range<UInt64> {
      let run = fast.run(pace, from: (1 + turn * 10) * Self.million)
      #expect(run.longest < 25_000, "turn \(turn): \(run.longest) µs")
    }
  }

  @Test("The same for other rooms, commits and paces", arguments: 1...40 as ClosedRange<UInt64>)
  func drawn(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pace = CommitPace()
    let simulation = Simulation(
      room: 2_000_000 + random.below(4_000_000), commitByteCount: 500 + random.below(4_000),
      commitTime: UInt64(200 + random.below(3_000)), pages: 2_000 + random.below(10_000),
      pageTime: UInt64(20 + random.below(150)), pageSyncTime: UInt64(random.below(40)))
    _ = simulation.run(pace, from: Self.million)
    let run = simulation.run(pace, from: 100 * Self.million)
    let limit = CommitPace.longestWaitMicroseconds + simulation.commitTime + 30_000
    #expect(run.longest <= limit, "seed \(seed): \(simulation) took \(run.longest) µs")
  }

  @Test("A small checkpoint, or one that has failed, says nothing of a large one")
  func smallOnes() {
    let fast = Simulation()
    for (pages, isDone) in [(1, true), (60, true), (20_000, false)] {
      let pace = CommitPace()
      _ = fast.run(pace, from: Self.million)
      pace.note(written: 0, dirty: pages, at: 50 * Self.million)
      pace.note(written: pages, dirty: 0, at: 51 * Self.million)
      pace.noteSync(at: 51 * Self.million)
      pace.end(isDone: isDone, at: 90 * Self.million)
      let run = fast.run(pace, from: 100 * Self.million)
      #expect(run.longest < 25_000 && run.committed > 400, "\(pages) pages: \(run)")
    }
  }

  @Test("No wait is longer than the limit, and none is too short for a call of the system")
  func limits() {
    let pace = CommitPace()
    pace.note(written: 0, dirty: 1000, at: 0)
    pace.note(written: 100, dirty: 900, at: Self.million)
    // Nine seconds are left.
    #expect(pace.delay(end: LSN(1000), room: 10_000, at: Self.million) == 0, "nothing is known of the first commit")
    #expect(pace.delay(end: LSN(6000), room: 5_000, at: Self.million + 10) > 15_000)
    #expect(pace.delay(end: LSN(11_000), room: 0, at: Self.million + 20) <= CommitPace.longestWaitMicroseconds)
    pace.forget()
    #expect(pace.delay(end: LSN(11_000), room: 1 << 30, at: Self.million + 30) == 0)
    #expect(pace.delay(end: LSN(11_001), room: 1 << 30, at: Self.million + 31) == 0)
    // A log whose end has gone back, as after a rollback of what was logged in parts.
    #expect(pace.delay(end: LSN(10_000), room: 1 << 30, at: Self.million + 32) == 0)
  }

  // MARK: Engines

  @Test("A transaction is held back in the second half of the last segment, until the checkpoint has ended")
  func holdsBack() throws {
    let engine = try SimulatedDisk().openEngine(segmentByteCount: 64 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let checkpointer = engine.core.checkpointer
    /// How long two commits took, the first of which tells where the log is.
    func time(_ key: Int64) throws -> UInt64 {
      let start = Pause.now
      for key in [key, key + 1] {
        try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 900), for: key, in: tree) }
      }
      return Pause.now - start
    }
    /// A checkpoint that has written a tenth of its pages in a minute.
    func expectAMinute() {
      let now = Pause.now
      checkpointer.pace.note(written: 0, dirty: 1000, at: now - min(now, 60 * Self.million))
      checkpointer.pace.note(written: 100, dirty: 900, at: now)
    }
    var key: Int64 = 0
    while engine.core.log.with({ $0?.next != nil }) || engine.core.log.with({ ($0?.position ?? 0) < 40 << 10 }) {
      try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 900), for: key, in: tree) }
      key += 1
    }
    #expect(checkpointer.isRunning, "the log is in its last segment, and no checkpoint runs")
    expectAMinute()
    let heldBack = try time(key)
    #expect(heldBack >= CommitPace.longestWaitMicroseconds, "\(heldBack) µs")
    checkpointer.pace.end(isDone: false)
    while engine.core.stepCheckpoint() {}
    #expect(!checkpointer.pace.isOn)
    // With a segment behind the one in use nobody waits, whatever is expected.
    expectAMinute()
    let fastest = try (1...20).map { try time(key + 2 * $0) }.min()
    #expect(fastest.map { $0 < CommitPace.longestWaitMicroseconds } == true, "\(fastest ?? 0) µs")
    checkpointer.pace.end(isDone: false)
    try engine.close()
  }

  @Test("A checkpoint says how far it has come, and no longer once it has ended or failed", arguments: [false, true])
  func checkpointTells(fails: Bool) throws {
    let disk = SimulatedDisk()
    // A log that has room for everything: else the transaction would be a checkpoint itself.
    let engine = try disk.openEngine(
      StorageOptions(pageSize: 512, cacheSize: 8 << 20), scheduling: .threads, segmentByteCount: 8 << 20)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for key in 0..<12_000 as Range<Int64> { try tx.put([UInt8](repeating: 1, count: 40), for: key, in: tree) }
    }
    let pace = engine.core.checkpointer.pace
    // The fourth buffer of pages waits until somebody has looked.
    let held = disk.hold(.write, of: "/db", skipping: 3) { $0.offset >= 2 * 512 }
    let threads = ThreadGroup()
    let failure = Latch<StorageError?>(nil)
    threads.start {
      do throws(StorageError) { try engine.checkpoint() } catch { failure.withLock { $0 = error } }
    }
    #expect(held.awaitCall())
    #expect(pace.isOn, "nobody knows of a checkpoint that writes pages")
    held.release(fails ? .error(SystemCode.inputOutput) : nil)
    #expect(threads.join().isEmpty)
    #expect(failure.withLock { $0?.code } == (fails ? .inputOutput : nil))
    engine.core.checkpointer.finishRunning()
    #expect(!pace.isOn, "commits are held back for a checkpoint that has ended")
    try engine.write { tx in try tx.put([1], for: Int64(-1), in: tree) }
    try engine.close()
    let again = try disk.openEngine(StorageOptions(pageSize: 512))
    let count = try again.read { tx in try tx.count(of: tree) }
    #expect(count == 12_001)
    try again.close()
  }
}
