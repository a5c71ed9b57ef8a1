// From appended to durable to published: group commit, and fail stop.

internal import DequeModule
internal import Dispatch
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Commits between their append and their publication.
///
/// Any number of commits share one flush: whoever needs one first leads, the others wait, and what was appended before
/// the flush began is durable when it ends. One flush is in flight at a time: with two on one descriptor a failure may
/// be told to the wrong one (hazard A7).
///
/// Invariants:
/// 1. `pending` is in the order of CSN and LSN; the published snapshot is the one before its first.
/// 2. Nothing is published before everything it was built on is, and a commit that waits for a flush not before
///    `durable` has reached it.
/// 3. After a failure `durable` and the published snapshot never move again.
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
    let semaphore = DispatchSemaphore(value: 0)
    /// Whether the thread was woken to lead the next flush.
    let mustLead = Atomic<Bool>(false)
    init(lsn: LSN) { self.lsn = lsn }
  }

  /// Something to call when a commit is durable, or when that has become unknowable.
  package typealias Callback = @Sendable (StorageError?) -> Void

  private struct State {
    var log: LogWriter?
    var durable: LSN
    var pending = Deque<Pending>()
    var isFlushing = false
    var waiters: [Waiter] = []
    var callbacks: [(lsn: LSN, call: Callback)] = []
    var failure: StorageError?
    /// What `failure` came from.
    var cause: StorageError?
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

  // MARK: Fail stop

  /// What stopped all writing, if anything has.
  package var failure: StorageError? {
    // Set with the failure, under the lock. Who has seen what a failure led to sees the failure.
    hasFailed.load(ordering: .acquiring) ? state.withLock { $0.failure } : nil
  }

  /// Throws if writing has stopped.
  @inline(__always) package func checkFailure() throws(StorageError) {
    if hasFailed.load(ordering: .acquiring) { try throwFailure() }
  }

  @inline(never) private func throwFailure() throws(StorageError) {
    if let failure { throw failure }
  }

  /// Stops all writing for good; everybody who waits is told that the outcome is unknown.
  package func fail(_ error: StorageError) {
    let (waiters, callbacks) = state.withLock { state -> ([Waiter], [(lsn: LSN, call: Callback)]) in
      if state.failure == nil {
        state.cause = error
        let reason = error.code == .fileChanged ? "" : " after a failure of the disk"
        state.failure = StorageError(
          .failStop, "Writing has stopped\(reason): \(error.message) Open the database again.",
          path: error.path, offset: error.offset, systemError: error.systemError)
        hasFailed.store(true, ordering: .releasing)
      }
      defer {
        state.waiters = []
        state.callbacks = []
      }
      return (state.waiters, state.callbacks)
    }
    for waiter in waiters { waiter.semaphore.signal() }
    let unknown = outcomeUnknown()
    for callback in callbacks { callback.call(unknown) }
  }

  private func outcomeUnknown() -> StorageError {
    let (failure, source) = state.withLock { ($0.failure, $0.cause) }
    // It may be durable, but nobody would find it.
    if let source, source.code == .fileChanged { return source }
    let cause = failure
    return StorageError(
      .outcomeUnknown,
      "Whether this commit is durable will be known when the database is opened again: \(cause?.message ?? "")",
      path: cause?.path, systemError: cause?.systemError)
  }

  // MARK: Commits

  /// Takes an appended commit. Called under the writer lock.
  ///
  /// - Parameter isDurable: whether the commit, and so all before it, is on the disk already. It is then acknowledged
  ///   whatever comes, and must be seen even if writing has stopped since.
  package func enqueue(_ snapshot: SnapshotRecord, lsn: LSN, waitsForFlush: Bool, isDurable: Bool) {
    state.withLock { state in
      let mayPublish = isDurable || !hasFailed.load(ordering: .relaxed)
      if mayPublish, !waitsForFlush || lsn <= state.durable, state.pending.isEmpty { return publish(snapshot) }
      state.pending.append(Pending(snapshot: snapshot, lsn: lsn, waitsForFlush: waitsForFlush))
      if mayPublish { publish(&state) }
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
    let old = slots.newest
    slots.publish(snapshot)
    reclaimer.retire(old)
  }

  /// Waits until the log is durable up to `lsn` and what that publishes is published.
  ///
  /// - Throws: `outcomeUnknown` if a flush failed meanwhile.
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
        if state.failure != nil { return .failed }
        if mustLead || !state.isFlushing {
          state.isFlushing = true
          return .lead
        }
        let waiter = Waiter(lsn: lsn)
        state.waiters.append(waiter)
        return .wait(waiter)
      }
      switch next {
      case .done: return
      case .failed: throw outcomeUnknown()
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
      if state.failure != nil { return .failed }
      state.callbacks.append((lsn, callback))
      return .wait(needsFlush: !state.isFlushing)
    }
    switch next {
    case .done: callback(nil)
    case .failed: callback(outcomeUnknown())
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

  // MARK: Leading

  /// Flushes once, on behalf of everybody; the caller has set `isFlushing`.
  private func lead() {
    let (log, expected) = state.withLock { ($0.log, $0.lastGroup) }
    guard let log else { preconditionFailure("nothing is flushed before there is a log") }
    if expected > 1 { awaitCompany(expected) }
    do throws(StorageError) {
      let (durable, testified) = try log.synchronize(watch)
      try watch?.check()
      // What a synced record says of a checkpoint cannot be lost any more: the places it freed may be reused.
      allocator.prove(testified)
      finish(durable)
    } catch {
      fail(error)
      state.withLock { $0.isFlushing = false }
    }
  }

  /// Waits a little, as the last flush served `expected` commits: the others are about to append.
  private func awaitCompany(_ expected: Int) {
    let start = DispatchTime.now().uptimeNanoseconds
    while DispatchTime.now().uptimeNanoseconds - start < Self.companyNanoseconds {
      let waiting = state.withLock { $0.waiters.count + $0.callbacks.count + 1 }
      if waiting >= expected { return }
      sched_yield()
    }
  }

  private func finish(_ durable: LSN) {
    typealias Outcome = (
      waiters: [Waiter], callbacks: [(lsn: LSN, call: Callback)], successor: Waiter?, needsFlush: Bool
    )
    let outcome = state.withLock { state -> Outcome in
      state.durable = max(state.durable, durable)
      durableWord.store(state.durable.rawValue, ordering: .releasing)
      if state.failure == nil { publish(&state) }
      if state.waiters.isEmpty, state.callbacks.isEmpty {
        state.lastGroup = 1
        state.isFlushing = false
        return ([], [], nil, false)
      }
      let limit = state.durable
      let waiters = state.waiters.filter { $0.lsn <= limit }
      let callbacks = state.callbacks.filter { $0.lsn <= limit }
      state.waiters.removeAll { $0.lsn <= limit }
      state.callbacks.removeAll { $0.lsn <= limit }
      state.lastGroup = waiters.count + callbacks.count + 1
      // Leadership goes on to a thread that still waits: a leader that went on itself would never return.
      let successor = state.waiters.isEmpty ? nil : state.waiters.removeFirst()
      if successor == nil { state.isFlushing = false }
      return (waiters, callbacks, successor, successor == nil && !state.callbacks.isEmpty)
    }
    for waiter in outcome.waiters { waiter.semaphore.signal() }
    if let successor = outcome.successor {
      successor.mustLead.store(true, ordering: .releasing)
      successor.semaphore.signal()
    }
    for callback in outcome.callbacks { callback.call(nil) }
    if outcome.needsFlush { requestFlush() }
    didFlush()
  }
}
