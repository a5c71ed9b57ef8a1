// From appended to durable to published: group commit, and fail stop.

internal import DequeModule
internal import Dispatch
internal import Synchronization

/// Commits between their append and their publication.
///
/// Any number of commits share one flush: the thread that needs one first leads, the others wait, and what was appended
/// before the flush began is durable when it ends. One flush is in flight at a time: with two on one descriptor a
/// failure may be told to the wrong one (hazard A7).
///
/// Invariants:
/// 1. `pending` is in the order of CSN and LSN; the published snapshot is the one before its first.
/// 2. Nothing is published before everything it was built on is, and a commit that waits for a flush not before
///    `durable` has reached it.
/// 3. After a failure no flush begins. One that was in flight ends as it would have ended: what it has covered is
///    durable, published and acknowledged, and then `durable` and the published snapshot never move again, but for a
///    commit by checkpoint whose meta page the disk has.
/// 4. A thread that waits while `isFlushing` is told at the end of that flush; nobody is left waiting after it in vain.
package final class CommitQueue: @unchecked Sendable {
  // Sendable: safe because everything mutable is behind the mutex or an atomic.
  private struct Pending {
    let snapshot: SnapshotRecord
    let lsn: LSN
    let waitsForFlush: Bool
  }

  /// A thread that waits for its commit.
  private final class Waiter: Sendable {
    let lsn: LSN
    let semaphore = Semaphore()
    /// Whether the thread was woken to lead the next flush.
    let mustLead = Atomic<Bool>(false)
    init(lsn: LSN) { self.lsn = lsn }
  }

  /// Something to call when a commit is durable, or when that has become unknowable.
  package typealias Callback = @Sendable (StorageError?) -> Void

  private typealias Waiting = (lsn: LSN, call: Callback)

  private struct State {
    var log: LogWriter?
    var durable: LSN
    var pending = Deque<Pending>()
    var isFlushing = false
    var waiters: [Waiter] = []
    var callbacks: [Waiting] = []
    var failure: StorageError?
    /// How many commits the last flush made durable, if more than one: then company is worth waiting for.
    var lastGroup = 1
  }

  private let state: Latch<State>
  private let slots: ReaderSlots
  private let reclaimer: Reclaimer
  private let allocator: PageAllocator
  private let watch: FileWatch?
  private let durableWord: Atomic<UInt64>
  private let provenWord: Atomic<UInt64>
  /// Whether there is a failure: every transaction asks, twice.
  private let hasFailed = Atomic<Bool>(false)
  /// Asks the engine for a thread that calls `flush`; set once, before the first commit.
  package let requestFlush: @Sendable () -> Void
  /// Tells the engine that a flush has succeeded.
  private let didFlush: @Sendable () -> Void

  /// The longest a leader waits for company, in nanoseconds: measured to save half the flushes of four threads.
  private static let companyNanoseconds: UInt64 = 50_000

  /// A queue without a log, which has nothing to flush before `setLog`.
  package init(
    slots: ReaderSlots, reclaimer: Reclaimer, allocator: PageAllocator, durableLSN: LSN, durableCheckpoint: UInt64,
    watch: FileWatch? = nil, requestFlush: @escaping @Sendable () -> Void, didFlush: @escaping @Sendable () -> Void
  ) {
    self.slots = slots
    self.reclaimer = reclaimer
    self.allocator = allocator
    self.watch = watch
    self.requestFlush = requestFlush
    self.didFlush = didFlush
    durableWord = Atomic(durableLSN.rawValue)
    provenWord = Atomic(durableCheckpoint)
    state = Latch(State(durable: durableLSN))
  }

  /// The LSN up to which the log is durable.
  package var durableLSN: LSN { LSN(durableWord.load(ordering: .acquiring)) }

  /// The newest checkpoint whose meta page is durable.
  package var durableCheckpoint: UInt64 {
    get { provenWord.load(ordering: .acquiring) }
    set { provenWord.store(newValue, ordering: .releasing) }
  }

  /// Notes that recovery has written everything up to `lsn` home, without a log to flush: a transaction that changes
  /// nothing must not wait for what is durable already.
  package func noteRecovered(_ lsn: LSN) {
    state.withLock { state in
      state.durable = max(state.durable, lsn)
      durableWord.store(state.durable.rawValue, ordering: .releasing)
    }
  }

  /// The log to flush, from now on.
  package func setLog(_ log: LogWriter) { state.withLock { $0.log = log } }

  /// Returns when no flush is in flight; nobody may begin another one meanwhile. Looks again and again: this is for the
  /// end of an engine whose writing has stopped.
  package func waitForFlush() {
    while state.withLock({ $0.isFlushing }) { Pause.sleep(microseconds: 200) }
  }

  // MARK: Fail stop

  /// Whether writing has stopped for good.
  @inline(__always) package var hasStopped: Bool {
    // Set with the failure, under the lock. A thread that has seen what a failure led to sees the failure.
    hasFailed.load(ordering: .acquiring)
  }

  /// What stopped all writing, if anything has.
  package var failure: StorageError? { hasStopped ? state.withLock { $0.failure } : nil }

  /// Throws if writing has stopped.
  @inline(__always) package func checkFailure() throws(StorageError) {
    if hasStopped { try throwFailure() }
  }

  @inline(never) private func throwFailure() throws(StorageError) {
    if let failure { throw failure }
  }

  /// Stops all writing for good, and tells everybody who waits. Not to be called under a latch: callbacks lead to code
  /// of the app's.
  package func fail(_ error: StorageError) {
    stop(error)
    announceFailure()
  }

  /// Stops all writing for good, and tells nobody yet: for callers that hold a latch, behind which something would else
  /// be appended. They call `announceFailure` when they have given it up.
  package func stop(_ error: StorageError) {
    state.withLock { state in
      guard state.failure == nil else { return }
      let isOfDisk = ![.fileChanged, .damagedPage, .failStop].contains(error.code)
      let reason = isOfDisk ? " after a failure of the disk" : ""
      let advice = error.code == .failStop ? "" : " Open the database again."
      state.failure = StorageError(
        .failStop, "Writing has stopped\(reason): \(error.message)\(advice)",
        path: error.path, offset: error.offset, systemError: error.systemError)
      hasFailed.store(true, ordering: .releasing)
    }
  }

  /// Tells the threads that wait that the outcome of their commits is unknown; but not while a flush is in flight,
  /// which may still make them durable, and whose leader tells them at its end.
  package func announceFailure() {
    let told = state.withLock { state -> (waiters: [Waiter], callbacks: [Waiting])? in
      state.failure == nil || state.isFlushing ? nil : takeAll(&state)
    }
    guard let told else { return }
    for waiter in told.waiters { waiter.semaphore.signal() }
    tell(told.callbacks, outcomeUnknown())
  }

  private func takeAll(_ state: inout State) -> (waiters: [Waiter], callbacks: [Waiting]) {
    defer { (state.waiters, state.callbacks) = ([], []) }
    return (state.waiters, state.callbacks)
  }

  private func tell(_ callbacks: [Waiting], _ error: StorageError?) {
    if callbacks.isEmpty { return }
    CallOut.check()
    for callback in callbacks { callback.call(error) }
  }

  /// The error of a commit that may be durable or not.
  package func outcomeUnknown() -> StorageError {
    let failure = failure
    return StorageError(
      .outcomeUnknown,
      "Whether this commit is durable is not known yet. \(failure?.message ?? "")",
      path: failure?.path, systemError: failure?.systemError)
  }

  // MARK: Commits

  /// Takes an appended commit, even after a failure: it was appended before that, and what is durable, or waits for no
  /// flush, is seen.
  ///
  /// - Parameter waitsForFlush: false if the commit is on the disk already, and so all before it, or if its durability
  ///   does not wait for that.
  package func enqueue(
    _ snapshot: SnapshotRecord, lsn: LSN, waitsForFlush: Bool, _ permit: borrowing WriterPermit
  ) {
    state.withLock { state in
      if !waitsForFlush || lsn <= state.durable, state.pending.isEmpty { return publish(snapshot) }
      assert(state.pending.last.map { $0.lsn <= lsn } ?? true, "commits are published in the order of the log")
      assert(state.pending.last.map { $0.snapshot.csn < snapshot.csn } ?? true, "commits wait in their order")
      state.pending.append(Pending(snapshot: snapshot, lsn: lsn, waitsForFlush: waitsForFlush))
      publish(&state)
    }
  }

  /// Publishes, in order, what may be.
  private func publish(_ state: inout State) {
    var newest: SnapshotRecord?
    while let first = state.pending.first, !first.waitsForFlush || first.lsn <= state.durable {
      state.pending.removeFirst()
      if let skipped = newest { reclaimer.retire(skipped) }
      newest = first.snapshot
    }
    if let newest { publish(newest) }
  }

  /// Makes `snapshot` what readers begin on, and gives up the one before it. Under the lock, so that they stay in
  /// order.
  private func publish(_ snapshot: SnapshotRecord) {
    assert(snapshot.csn > slots.newest.csn, "an older commit is published")
    let old = slots.newest
    slots.publish(snapshot)
    reclaimer.retire(old)
  }

  /// Waits until the log is durable up to `lsn` and what that publishes is published.
  ///
  /// - Throws: `outcomeUnknown` if writing has stopped, and no flush that was in flight then has covered `lsn`.
  package func wait(for lsn: LSN) throws(StorageError) {
    var mustLead = false
    while true {
      enum Next {
        case done
        case failed
        case lead
        case wait(Waiter)
      }
      let next = state.withLock { state -> Next in
        if state.durable >= lsn, !mustLead { return .done }
        if mustLead || !state.isFlushing {
          // No flush begins after a failure; the one that this thread was to lead is over.
          state.isFlushing = state.failure == nil
          return state.isFlushing ? .lead : .failed
        }
        assert(state.isFlushing, "a thread waits for a flush that nobody leads")
        let waiter = Waiter(lsn: lsn)
        state.waiters.append(waiter)
        return .wait(waiter)
      }
      switch next {
      case .done: return
      case .failed:
        announceFailure()
        throw outcomeUnknown()
      case .lead:
        lead()
        mustLead = false
      case .wait(let waiter):
        waiter.semaphore.wait()
        mustLead = waiter.mustLead.load(ordering: .acquiring)
      }
    }
  }

  /// Calls `callback` when the log is durable up to `lsn`, from whatever thread finds out.
  package func notify(whenDurable lsn: LSN, _ callback: @escaping Callback) {
    enum Next {
      case done
      case failed
      case wait(needsFlush: Bool)
    }
    let next = state.withLock { state -> Next in
      if state.durable >= lsn { return .done }
      if state.failure != nil, !state.isFlushing { return .failed }
      state.callbacks.append((lsn, callback))
      return .wait(needsFlush: !state.isFlushing)
    }
    switch next {
    case .done: tell([(lsn, callback)], nil)
    case .failed: tell([(lsn, callback)], outcomeUnknown())
    case .wait(let needsFlush): if needsFlush { requestFlush() }
    }
  }

  /// Makes everything appended so far durable.
  package func flush() throws(StorageError) {
    let end = state.withLock { $0.log?.endLSN ?? $0.durable }
    try wait(for: end)
  }

  /// Whether everything appended is durable.
  package var isClean: Bool { state.withLock { $0.durable >= ($0.log?.endLSN ?? $0.durable) } }

  /// Checks the invariants; returns what is broken.
  package func checkInvariants() -> String? {
    state.withLock { state in
      let published = slots.newest.csn
      if let first = state.pending.first {
        if first.snapshot.csn.rawValue != published.rawValue + 1 {
          return "\(first.snapshot.csn) waits behind \(published)"
        }
        if !first.waitsForFlush || first.lsn <= state.durable { return "\(first.snapshot.csn) waits for nothing" }
      }
      for (before, next) in zip(state.pending, state.pending.dropFirst())
      where before.lsn > next.lsn || before.snapshot.csn >= next.snapshot.csn {
        return "\(next.snapshot.csn) waits behind \(before.snapshot.csn)"
      }
      if durableWord.load(ordering: .acquiring) != state.durable.rawValue { return "the durable LSN has two values" }
      if hasStopped != (state.failure != nil) { return "writing has stopped for some and not for others" }
      if state.waiters.contains(where: { $0.lsn <= state.durable }) { return "a thread waits for what is durable" }
      let isLed = state.isFlushing || state.failure != nil
      return isLed || state.waiters.isEmpty ? nil : "threads wait for a flush that nobody leads"
    }
  }

  // MARK: Leading

  /// Flushes once, on behalf of everybody; the caller has set `isFlushing`.
  private func lead() {
    let (log, expected) = state.withLock { ($0.log, $0.lastGroup) }
    guard let log else { preconditionFailure("nothing is flushed before there is a log") }
    assert(state.withLock { $0.isFlushing }, "a flush is led by who has not begun it")
    if expected > 1 { awaitCompany(expected) }
    do throws(StorageError) {
      let (durable, markedCheckpoint) = try log.synchronize(watch)
      try watch?.check()
      // What a synced record says of a checkpoint can no longer be lost: the places it freed may be reused.
      allocator.prove(markedCheckpoint)
      finish(durable)
    } catch {
      stop(error)
      state.withLock { $0.isFlushing = false }
      announceFailure()
    }
  }

  /// Waits a little, as the last flush served `expected` commits: the others are about to append.
  private func awaitCompany(_ expected: Int) {
    let start = Pause.nanoseconds
    while Pause.nanoseconds - start < Self.companyNanoseconds {
      let waiting = state.withLock { $0.waiters.count + $0.callbacks.count + 1 }
      if waiting >= expected { return }
      Pause.yield()
    }
  }

  private func finish(_ durable: LSN) {
    typealias Outcome = (
      waiters: [Waiter], callbacks: [Waiting], successor: Waiter?, needsFlush: Bool
    )
    let outcome = state.withLock { state -> Outcome in
      state.durable = max(state.durable, durable)
      durableWord.store(state.durable.rawValue, ordering: .releasing)
      // Even if writing has stopped meanwhile: what this flush has covered is durable, and is acknowledged.
      publish(&state)
      if state.waiters.isEmpty, state.callbacks.isEmpty {
        state.lastGroup = 1
        state.isFlushing = false
        return ([], [], nil, false)
      }
      assert(state.isFlushing, "a flush ends that has not begun")
      let limit = state.durable
      let waiters = state.waiters.filter { $0.lsn <= limit }
      let callbacks = state.callbacks.filter { $0.lsn <= limit }
      state.waiters.removeAll { $0.lsn <= limit }
      state.callbacks.removeAll { $0.lsn <= limit }
      assert(state.waiters.allSatisfy { $0.lsn > limit }, "a thread waits for what is durable")
      state.lastGroup = waiters.count + callbacks.count + 1
      // Leadership goes on to a thread that still waits: a leader that went on itself would never return.
      let mayGoOn = state.failure == nil
      let successor = state.waiters.isEmpty || !mayGoOn ? nil : state.waiters.removeFirst()
      if successor == nil { state.isFlushing = false }
      return (waiters, callbacks, successor, mayGoOn && successor == nil && !state.callbacks.isEmpty)
    }
    for waiter in outcome.waiters { waiter.semaphore.signal() }
    if let successor = outcome.successor {
      successor.mustLead.store(true, ordering: .releasing)
      successor.semaphore.signal()
    }
    tell(outcome.callbacks, nil)
    if hasFailed.load(ordering: .acquiring) { announceFailure() }
    if outcome.needsFlush { requestFlush() }
    didFlush()
  }
}
