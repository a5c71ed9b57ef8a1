// Holding commits back a little beside a checkpoint, so that none has to wait long for its end.

internal import Synchronization

/// Spreads over many commits what one of them would else wait for all by itself: that a checkpoint ends, which alone
/// can give a full log another segment.
///
/// A writer that fills the log faster than a checkpoint writes pages home has to wait in the end; nothing changes that
/// but a faster disk. Without this, it goes at full speed until the log is full, and then one commit takes as long as
/// the rest of the checkpoint: nearly a second where ten million rows are filled in at random. So from the middle of
/// its last segment on, each commit takes at least its share of the time that the checkpoint is expected to take yet:
/// that of its bytes in the room that the log has left. Where the checkpoint is fast enough, nobody waits.
///
/// The time is an estimate: the pages that are left, at the pace of this checkpoint, or of the last one as long as this
/// one has written few; and for the sync behind them, the time per page that the last one took. The estimate decides
/// about nothing but waiting, and one wait has a limit.
///
/// Invariants:
/// 1. `expectedEnd` is 0 unless the checkpoint's thread runs one that writes or syncs pages and has not failed.
/// 2. No transaction is held back for longer than the limit.
final class CommitPace: @unchecked Sendable {
  // Sendable: safe because the checkpoint's thread alone touches `writing` and `last`, the writer alone, under the
  // writer lock, `lastCommit`, and the rest is an atomic.

  /// What is known of the pages that a checkpoint writes; times in microseconds.
  private struct Writing {
    let start: UInt64
    /// Pages written before, and pages to be written, about.
    let pagesBefore: Int
    let total: Int
    /// When the last page was handed to the system.
    var syncStart: UInt64?
    var written = 0
  }

  /// When a checkpoint is expected to be done, in microseconds; 0 if nobody has to consider one.
  private let expectedEnd = Atomic<UInt64>(0)
  @exclusivity(unchecked) private var writing: Writing?
  /// How long the last checkpoint took for each page, to write it and to sync it, in microseconds.
  @exclusivity(unchecked) private var last = (page: 0.0, sync: 0.0)
  /// Where the log ended when the writer last came by, and when that was.
  @exclusivity(unchecked) private var lastCommit = (end: LSN(0), time: UInt64(0))

  /// The longest that one transaction is held back. One that takes a large part of the room is not slowed down by all
  /// that it deserves: the log is there for bursts.
  static let longestWaitMicroseconds: UInt64 = 20_000
  /// The shortest wait worth a call of the system; shorter ones add up over several commits.
  static let shortestWaitMicroseconds: UInt64 = 500
  /// How long a transaction that is held back sleeps before it looks whether the checkpoint has ended.
  fileprivate static let pauseMicroseconds: UInt64 = 1_000
  /// How long a checkpoint takes yet at the least, as far as anybody can tell.
  private static let leastLeftMicroseconds: UInt64 = 50_000
  /// The longest that is expected of a checkpoint.
  private static let longestMicroseconds = 60e6
  /// How many pages a checkpoint must have written for the next one to go by it, and what its sync takes whatever there
  /// is of pages: a file is made for the log, and the disk answers.
  private static let tellingPageCount = 2_048
  private static let fixedSyncMicroseconds: UInt64 = 20_000
  /// How much must have been written before a pace can be told from it: one part in so many.
  private static let shareBeforeEstimate = 16

  // MARK: The checkpoint's thread

  /// Notes that pages are being written: `written` of them since the checkpoint began, while `dirty` are to be written
  /// yet, which is asked for once.
  func note(written: Int, dirty: @autoclosure () -> Int, at now: UInt64 = Pause.now) {
    guard var writing else {
      self.writing = Writing(start: now, pagesBefore: written, total: max(dirty(), 1))
      return
    }
    writing.written = written - writing.pagesBefore
    self.writing = writing
    let isTelling = writing.written * Self.shareBeforeEstimate > writing.total
    let page = isTelling ? Double(now - writing.start) / Double(writing.written) : last.page
    guard page > 0 else { return }
    let left = Double(max(0, writing.total - writing.written))
    expect(left * page + Double(max(writing.total, writing.written)) * last.sync, from: now)
  }

  /// Notes that all pages have been handed to the system, which is about to be asked to sync them.
  func noteSync(at now: UInt64 = Pause.now) {
    guard writing?.syncStart == nil, let written = writing?.written else { return }
    writing?.syncStart = now
    if expectedEnd.load(ordering: .relaxed) != 0 { expect(Double(written) * last.sync, from: now) }
  }

  /// Notes that nobody has to consider the checkpoint any more. On any thread.
  func stop() { expectedEnd.store(0, ordering: .relaxed) }

  /// Notes that the checkpoint has ended, or goes on with what takes no time; `isDone` if it has not failed, so that
  /// the next one can go by it. A small one says nothing of a large one: most of its time went to what each takes.
  func end(isDone: Bool, at now: UInt64 = Pause.now) {
    if let writing, let start = writing.syncStart, isDone, writing.written >= Self.tellingPageCount {
      let count = Double(writing.written)
      let sync = now - start > Self.fixedSyncMicroseconds ? now - start - Self.fixedSyncMicroseconds : 0
      last = (Double(start - writing.start) / count, Double(sync) / count)
    }
    writing = nil
    stop()
  }

  private func expect(_ time: Double, from now: UInt64) {
    expectedEnd.store(max(1, now + UInt64(min(time, Self.longestMicroseconds))), ordering: .relaxed)
  }

  // MARK: The writer

  /// Whether a checkpoint runs that commits may have to consider. One load.
  @inline(__always) var isOn: Bool { expectedEnd.load(ordering: .relaxed) != 0 }

  /// How long a transaction that begins now is held back, in microseconds, where the log ends at `end`, in its last
  /// segment, and has `room` bytes left.
  func delay(end: LSN, room: Int, at now: UInt64 = Pause.now) -> UInt64 {
    let (last, expected) = (lastCommit, expectedEnd.load(ordering: .relaxed))
    assert(room >= 0, "a log is longer than its segment")
    // The end goes back where the parts of a transaction that was rolled back are given up.
    let byteCount = end.rawValue > last.end.rawValue ? Int(clamping: end.rawValue - last.end.rawValue) : 0
    guard last.time != 0, byteCount > 0, expected != 0 else {
      lastCommit = (end, now)
      return 0
    }
    let share = Double(byteCount) / Double(byteCount + room)
    // What takes longer than was expected may take as long again, and is never about to end at once.
    let overdue = now > expected ? now - expected : 0
    let left = Double((expected > last.time ? expected - last.time : 0) + overdue + Self.leastLeftMicroseconds)
    let wait = UInt64(min(left * share, Double(Self.longestWaitMicroseconds)))
    let due = min(last.time + wait, now + Self.longestWaitMicroseconds)
    guard due > now + Self.shortestWaitMicroseconds else {
      // What is too short to wait for is owed by the next one, what took longer by nobody.
      if due <= now { lastCommit = (end, now) }
      return 0
    }
    lastCommit = (end, due)
    assert(due - now <= Self.longestWaitMicroseconds, "a transaction is held back for too long")
    return due - now
  }

  /// Forgets the last commit: nothing was held back for a while.
  func forget() { lastCommit = (LSN(0), 0) }
}

extension Checkpointer {
  /// Before a transaction begins: holds it back for a moment, if a checkpoint runs that would else end later than the
  /// log is full. Readers are not concerned, nor are transactions that commit less than the disk can write home. One
  /// load where no checkpoint runs.
  @inline(__always) func paceCommit(_ permit: borrowing WriterPermit) { if pace.isOn { waitForPace(permit) } }

  @inline(never) private func waitForPace(_ permit: borrowing WriterPermit) {
    guard let log = log.lastSegmentRoom(permit) else { return pace.forget() }
    let start = Pause.now
    let due = start + pace.delay(end: log.end, room: log.room, at: start)
    // By the clock: a system may let a thread sleep for longer than it asks for.
    while pace.isOn, !queue.hasStopped, case let now = Pause.now, now < due {
      Pause.sleep(microseconds: UInt32(min(due - now, CommitPace.pauseMicroseconds)))
    }
  }

  /// Notes how far the checkpoint has come that runs. On the checkpoint's thread.
  func notePace(_ run: CheckpointRun) {
    switch run.phase {
    case .preparing(.log): break
    case .preparing(.pages):
      if run.pages.valuesWritten == nil {
        // Without what only readers of old snapshots see.
        pace.note(
          written: run.pages.pagesWritten, dirty: max(0, store.frames.dirtyCount - reclaimer.waitingCount))
      }
    case .preparing(.segment), .preparing(.sync), .meta: pace.noteSync()
    case .completing, .done: pace.end(isDone: true)
    }
  }
}
