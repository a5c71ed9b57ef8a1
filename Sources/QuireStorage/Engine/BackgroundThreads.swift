// Threads that the engine owns. Nothing of the engine waits on the cooperative pool: its threads are few, and a wait
// for the disk on one of them is a wait for everybody.

internal import Dispatch
internal import Synchronization

/// The engine's threads, each started when it is needed first: one that flushes, one for checkpoints, one that marks
/// the end of a burst of commits, one that tidies the file, one that writes for async callers, some that read for them,
/// two for what takes long, two for callers who wait for the disk, one that acknowledges async commits, one that looks
/// at commits for observers, and one that runs what apps want done after commits.
///
/// Where the system gives no thread, nothing that was appended may be left without one who flushes it, and nobody may
/// wait for work that nobody does. So flushes and checkpoints then run on the thread that asks for
/// them; callers that want something run on a thread of the engine's are told before anything has been done; a mark or
/// the tidying of the file is left out, and asked for again with the next commits.
package final class BackgroundThreads: @unchecked Sendable {
  // Sendable: safe because the closures are set once, before any thread can call them.
  private let isThreaded: Bool
  private let flushThread: ThreadPool
  private let checkpointThread: ThreadPool
  private let markThread: ThreadPool
  private let maintenanceThread: ThreadPool
  let writerThread: ThreadPool
  let readerThreads: ThreadPool
  let longWorkThreads: ThreadPool
  let waitingThreads: ThreadPool
  let deliveryThread: ThreadPool
  let lookThread: ThreadPool
  let actionThread: ThreadPool
  private let hasFlushRequest = Atomic<Bool>(false)
  private var flush: @Sendable () -> Void = {}
  private let flushInterrupt = Semaphore()
  private let hasMarkRequest = Atomic<Bool>(false)
  private let markInterrupt = Semaphore()
  private let hasMaintenanceRequest = Atomic<Bool>(false)
  /// When maintenance may begin, by the clock that stands still while the machine sleeps.
  private let maintenanceTime = Atomic<UInt64>(0)
  private let maintenanceInterrupt = Semaphore()
  private let isStopping = Atomic<Bool>(false)
  /// How many flushes were asked for that no thread could be had for, and whose turn has not ended.
  private let ownFlushCount = Atomic<Int>(0)
  private var mark: @Sendable () -> Bool = { true }
  private var maintenance: @Sendable () -> Bool = { true }
  /// How long the engine must have been quiet before its file is tidied.
  private static let idleMilliseconds = 1000
  /// How long the log must have been quiet before a mark is worth its block.
  private static let quietMilliseconds = 5

  let openFlag: OpenFlag
  /// The path of the database, for errors.
  let path: String

  init(isThreaded: Bool, openFlag: OpenFlag, path: String, readerThreadCount: Int, starter: ThreadStarter) {
    flushThread = ThreadPool(starter)
    checkpointThread = ThreadPool(starter)
    markThread = ThreadPool(starter)
    maintenanceThread = ThreadPool(starter)
    writerThread = ThreadPool(starter)
    readerThreads = ThreadPool(starter, limit: readerThreadCount)
    longWorkThreads = ThreadPool(starter, limit: 2)
    waitingThreads = ThreadPool(starter, limit: 2)
    deliveryThread = ThreadPool(starter)
    lookThread = ThreadPool(starter)
    actionThread = ThreadPool(starter)
    self.isThreaded = isThreaded
    self.openFlag = openFlag
    self.path = path
  }

  /// All threads, in the order in which they are stopped: those that others hand their jobs to come last.
  private var pools: [ThreadPool] {
    [
      maintenanceThread, markThread, writerThread, longWorkThreads, readerThreads, waitingThreads, checkpointThread,
      flushThread, deliveryThread, lookThread, actionThread,
    ]
  }

  /// Whether the caller runs on one of these threads: stopping them waits for it.
  package var areCurrent: Bool { pools.contains { $0.isCurrent } }

  /// What to call for a flush, for a mark, and for maintenance: the latter two return false while commits are still on
  /// their way.
  func setFlush(
    _ flush: @escaping @Sendable () -> Void, mark: @escaping @Sendable () -> Bool,
    maintenance: @escaping @Sendable () -> Bool
  ) {
    self.flush = flush
    self.mark = mark
    self.maintenance = maintenance
  }

  /// Whether the engine's owner has given it up: long work is to end.
  var mustStop: Bool { isStopping.load(ordering: .acquiring) }

  /// Asks for maintenance of the file when no burst of commits has ended for a second.
  func requestMaintenance() {
    guard isThreaded else { return }
    let due = Pause.time + .milliseconds(Self.idleMilliseconds)
    maintenanceTime.store(due.uptimeNanoseconds, ordering: .relaxed)
    guard !hasMaintenanceRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let admission = maintenanceThread.enqueue { [self] in
      while true {
        guard waitForMaintenanceTime() else { return }
        // Lowered before looking: a burst that ends in between asks again.
        hasMaintenanceRequest.store(false, ordering: .sequentiallyConsistent)
        if maintenance() || hasMaintenanceRequest.exchange(true, ordering: .sequentiallyConsistent) { return }
        let next = Pause.time + .milliseconds(Self.idleMilliseconds)
        maintenanceTime.store(next.uptimeNanoseconds, ordering: .relaxed)
      }
    }
    if case .lacksThread = admission { hasMaintenanceRequest.store(false, ordering: .sequentiallyConsistent) }
  }

  /// Asks for maintenance unless that has been done. Costs a load then, for each commit that nobody flushes.
  @inline(__always) func requestMaintenanceOnce() {
    if !hasMaintenanceRequest.load(ordering: .relaxed) { requestMaintenance() }
  }

  /// Waits until a second has passed since the last request; false if the engine is given up before that.
  private func waitForMaintenanceTime() -> Bool {
    while !mustStop {
      let due = DispatchTime(uptimeNanoseconds: maintenanceTime.load(ordering: .relaxed))
      if Pause.time >= due { return true }
      _ = maintenanceInterrupt.wait(until: due)
    }
    return false
  }

  /// Asks for a mark when no flush has come for a few milliseconds.
  func requestMark() {
    guard isThreaded, !hasMarkRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let admission = markThread.enqueue { [self] in
      while !isStopping.load(ordering: .acquiring) {
        _ = markInterrupt.wait(until: Pause.time + .milliseconds(Self.quietMilliseconds))
        // Lowered before looking: a flush that comes in between asks again.
        hasMarkRequest.store(false, ordering: .sequentiallyConsistent)
        if mark() || hasMarkRequest.exchange(true, ordering: .sequentiallyConsistent) { return }
      }
    }
    if case .lacksThread = admission { hasMarkRequest.store(false, ordering: .sequentiallyConsistent) }
  }

  /// Asks for a flush soon; several requests become one. When stepped, the test flushes.
  func requestFlush() {
    guard isThreaded, !hasFlushRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    request {}
  }

  /// Asks for a flush that begins when `delay` has passed, unless a flush is due already: that one comes sooner, and
  /// covers what has been appended by then. So the oldest commit that is not covered decides. Where a flush is under
  /// way at that moment, the next one begins at its end.
  func requestFlush(after delay: Duration) {
    guard isThreaded, !hasFlushRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // Counted from here: the thread may have a flush to end first.
    let deadline = Pause.time + Self.timeInterval(delay)
    request { [self] in
      // A wait and not a sleep: `stop` interrupts it, or closing would take as long as the interval.
      if !isStopping.load(ordering: .acquiring) { _ = flushInterrupt.wait(until: deadline) }
    }
  }

  private func request(_ pause: @escaping @Sendable () -> Void) {
    let admission = flushThread.enqueue { [self] in
      pause()
      hasFlushRequest.store(false, ordering: .releasing)
      flush()
    }
    guard case .lacksThread = admission else { return }
    hasFlushRequest.store(false, ordering: .releasing)
    flushHere()
  }

  /// Flushes on the caller's thread, and again for each request that comes meanwhile, from the flush itself as well.
  private func flushHere() {
    if ownFlushCount.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue > 0 { return }
    var served = 1
    while true {
      flush()
      let (isDone, count) = ownFlushCount.compareExchange(
        expected: served, desired: 0, ordering: .acquiringAndReleasing)
      if isDone { return }
      served = count
    }
  }

  /// `delay` as the system's timers take it; a year at the most.
  private static func timeInterval(_ delay: Duration) -> DispatchTimeInterval {
    let (seconds, attoseconds) = min(max(delay, .zero), .seconds(365 * 86_400)).components
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }

  /// Runs `job` on the checkpoint thread; false if it is the caller's, as the system gives no thread. When stepped, the
  /// test does it.
  func runCheckpoint(_ job: @escaping @Sendable () -> Void) -> Bool {
    guard isThreaded else { return true }
    if case .lacksThread = checkpointThread.enqueue(job) { return false }
    return true
  }

  /// Makes sure that there is a thread that flushes: what has been appended for an async caller must be flushed.
  func prepareFlush() -> ThreadPool.Admission { flushThread.prepare() }

  /// Ends all threads when their queued jobs are done.
  func stop() {
    // A forked child has none of them, and would wait for ever.
    if openFlag.isForked { return }
    isStopping.store(true, ordering: .releasing)
    markInterrupt.signal()
    flushInterrupt.signal()
    maintenanceInterrupt.signal()
    for pool in pools { pool.stop() }
  }
}
