// A checkpoint from freeze to proof, in steps.

internal import Synchronization

/// What writes meta pages: one at a time.
enum CheckpointJob {
  case checkpoint(CheckpointRun)
  case lengthening(LogLengthening)
}

/// Lets one checkpoint run at a time, or the log become longer, and lets writers wait for the end of it.
final class CheckpointGate: @unchecked Sendable {
  // Sendable: safe because the state is behind the mutex; the run itself is stepped by one thread at a time.
  private struct State {
    var job: CheckpointJob?
    /// What the last checkpoint failed with; nil if it was done.
    var lastFailure: StorageError?
    var waiters: [CheckpointWaiter] = []
    /// Whether what runs writes pages of trees, or may do so yet.
    var isWritingPages = false
    /// Those who wait for the end of that alone.
    var pageWaiters: [CheckpointWaiter] = []
    /// Whether the running transaction writes pages home, beside what runs; never while that writes pages.
    var isSpilling = false
  }
  private let state = Latch(State())

  /// What runs.
  var current: CheckpointJob? { state.withLock { $0.job } }

  /// What the last checkpoint failed with.
  var lastFailure: StorageError? { state.withLock { $0.lastFailure } }

  /// Whether somebody waits for the end of what runs.
  var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty || !$0.pageWaiters.isEmpty } }

  func begin(_ job: CheckpointJob) {
    state.withLock { state in
      precondition(state.job == nil, "one checkpoint runs at a time")
      assert(!state.isSpilling, "a checkpoint begins beside a spill")
      state.job = job
      if case .checkpoint = job { state.isWritingPages = true }
    }
  }

  /// Lets what runs write pages once more, in time or not at all: false if the running transaction does.
  func beginPages() -> Bool {
    state.withLock { state in
      assert(state.job != nil, "pages are written by nobody")
      if state.isSpilling { return false }
      state.isWritingPages = true
      return true
    }
  }

  /// Lets the running transaction write pages home until `endSpill`; nobody does so.
  func beginSpill() -> Bool {
    state.withLock { state in
      if state.isWritingPages { return false }
      state.isSpilling = true
      return true
    }
  }

  /// Ends that.
  func endSpill() { state.withLock { $0.isSpilling = false } }

  /// Notes that what runs has written its pages, and wakes the threads that wait for that.
  func endPages() {
    let waiters = state.withLock { state in
      assert(state.job != nil, "pages are written by nobody")
      state.isWritingPages = false
      defer { state.pageWaiters = [] }
      return state.pageWaiters
    }
    for waiter in waiters { waiter.signal() }
  }

  /// Ends a checkpoint and wakes the threads that wait.
  func end(_ failure: StorageError?) { end { $0 = failure } }

  /// Ends what was no checkpoint: what the last one failed with stays, unless there is a `failure` now.
  func end(keepingFailure failure: StorageError?) { end { $0 = failure ?? $0 } }

  private func end(_ note: (inout StorageError?) -> Void) {
    let waiters = state.withLock { state -> [CheckpointWaiter] in
      assert(state.job != nil, "a checkpoint ends that has not begun")
      state.job = nil
      state.isWritingPages = false
      note(&state.lastFailure)
      defer { (state.waiters, state.pageWaiters) = ([], []) }
      return state.waiters + state.pageWaiters
    }
    for waiter in waiters { waiter.signal() }
  }

  /// Waits until nothing runs, or, if `forPages`, until what runs writes no pages any more.
  func wait(forPages: Bool = false) {
    let waiter = CheckpointWaiter()
    let mustWait = state.withLock { state -> Bool in
      if state.job == nil || forPages && !state.isWritingPages { return false }
      if forPages { state.pageWaiters.append(waiter) } else { state.waiters.append(waiter) }
      return true
    }
    if mustWait { waiter.wait() }
  }
}

/// The state of a checkpoint that runs.
///
/// The order of its phases is what makes it safe; each waits for the one before:
/// 1. everything frozen is durable in the log (a meta page must not name what recovery could not reach);
/// 2. pages are written to places that nothing durable refers to;
/// 3. the next segment's file exists in full;
/// 4. the data file is synced (a meta page that names pages which the disk has not kept would verify and still lose
///    them);
/// 5. the meta page is written and synced: the point of no return, before which a failure leaves everything as it was,
///    and behind which none can;
/// 6. a log record that marks it durable is written and synced: only then is anything of the old checkpoint reused;
/// 7. what only readers of older snapshots see is written home, if it takes too much memory. Nothing depends on that.
final class CheckpointRun: @unchecked Sendable {
  // Sendable: safe because one thread at a time steps a run, and the gate hands it over.
  enum Phase {
    /// No byte of the meta page has been written.
    case preparing(Preparation)
    /// The meta page is next.
    case meta
    /// The meta page is durable.
    case completing(Completion)
    case done
  }

  /// What comes before the meta page.
  enum Preparation {
    case log
    case pages
    case segment
    case sync
  }

  /// What comes behind it.
  enum Completion {
    /// The same page once more, in the other slot: of a checkpoint whose result needs no log.
    case twin
    case mark
    case held
  }

  let state: CheckpointState
  let pages: CheckpointPages
  /// Protects the frozen snapshot.
  let slot: ReaderSlot
  /// The LSN up to which the log must be durable before the meta page may be written.
  let requiredLSN: LSN
  /// The meta page to be written; roots and next segment are filled in on the way.
  var meta: MetaPage
  /// Whether the result needs no log.
  let isFinal: Bool
  var phase = Phase.preparing(.log)
  /// Whether a record that marks the meta page durable is durable itself.
  var isProven = false
  /// Why it did not come to its end, once it has ended.
  var failure: CheckpointFailure?
  /// The segment to come after the current one, once it is ready.
  var next: LogManager.NextSegment?
  /// Whether the log before had files that nobody needs once the checkpoint is proven.
  var leavesFiles = false

  init(
    state: CheckpointState, pages: CheckpointPages, slot: ReaderSlot, requiredLSN: LSN, meta: MetaPage, isFinal: Bool
  ) {
    self.state = state
    self.pages = pages
    self.slot = slot
    self.requiredLSN = requiredLSN
    self.meta = meta
    self.isFinal = isFinal
  }
}
