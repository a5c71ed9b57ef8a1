// Threads that the engine owns. Nothing of the engine waits on the cooperative pool: its threads are few, and a wait
// for the disk on one of them is a wait for everybody.

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif
internal import DequeModule
internal import Dispatch
internal import Synchronization

/// A thread with a queue of jobs.
final class ServiceThread: @unchecked Sendable {
  // Sendable: safe because the jobs are behind a mutex, and the thread handle is touched by `start` and `stop` only.
  private struct State {
    var jobs = Deque<@Sendable () -> Void>()
    var isRunning = false
    var isStopping = false
  }

  private let state = Latch(State())
  private let wakeUp = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// Queues a job; the thread is started by the first one. False if the thread has been stopped.
  @discardableResult
  func enqueue(_ job: @escaping @Sendable () -> Void) -> Bool {
    enum Next {
      case refused
      case wake
      case start
    }
    let next = state.withLock { state -> Next in
      if state.isStopping { return .refused }
      state.jobs.append(job)
      if state.isRunning { return .wake }
      state.isRunning = true
      return .start
    }
    if next == .refused { return false }
    if next == .start { start() }
    wakeUp.signal()
    return true
  }

  private func start() {
    // The loop holds this object and nothing else of the engine, so that an engine that nobody uses can go away.
    let argument = Unmanaged.passRetained(self).toOpaque()
    #if canImport(Darwin)
      var thread: pthread_t?
      let result = pthread_create(&thread, nil, { runServiceThread($0) }, argument)
      if let thread { pthread_detach(thread) }
    #else
      var thread = pthread_t()
      let result = pthread_create(&thread, nil, { $0.flatMap(runServiceThread) }, argument)
      if result == 0 { pthread_detach(thread) }
    #endif
    precondition(result == 0, "the system gave no thread (error \(result))")
  }

  fileprivate func run() {
    while true {
      wakeUp.wait()
      enum Next {
        case run(@Sendable () -> Void)
        case stop
        case idle
      }
      let next = state.withLock { state -> Next in
        if let job = state.jobs.popFirst() { return .run(job) }
        return state.isStopping ? .stop : .idle
      }
      switch next {
      case .run(let job): job()
      case .idle: continue
      case .stop:
        ended.signal()
        return
      }
    }
  }

  /// Lets queued jobs end, then the thread. Waits for it, unless called from it.
  func stop() {
    let wasRunning = state.withLock { state -> Bool in
      guard !state.isStopping else { return false }
      state.isStopping = true
      return state.isRunning
    }
    guard wasRunning else { return }
    wakeUp.signal()
    if !isCurrent { ended.wait() }
  }

  private let identity = Atomic<UInt>(0)
  fileprivate func noteIdentity() { identity.store(ThreadIdentity.current, ordering: .releasing) }
  private var isCurrent: Bool { identity.load(ordering: .acquiring) == ThreadIdentity.current }
}

private func runServiceThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  let thread = Unmanaged<ServiceThread>.fromOpaque(argument).takeRetainedValue()
  thread.noteIdentity()
  thread.run()
  return nil
}

/// The engine's threads: one that flushes, one for checkpoints, one that writes for async callers, two that read for
/// them, and two for what takes long.
package final class Services: @unchecked Sendable {
  // Sendable: safe because the closures are set once, before any thread can call them.
  private let isThreaded: Bool
  private let flushThread = ServiceThread()
  private let checkpointThread = ServiceThread()
  private let writerThread = ServiceThread()
  private let deliveryThread = ServiceThread()
  private let readerThreads: [ServiceThread]
  private let nextReader = Atomic<Int>(0)
  private let longWorkThreads = [ServiceThread(), ServiceThread()]
  private let nextLongWork = Atomic<Int>(0)
  private let hasFlushRequest = Atomic<Bool>(false)
  private var flush: @Sendable () -> Void = {}
  private let flushInterrupt = DispatchSemaphore(value: 0)
  private let markThread = ServiceThread()
  private let hasMarkRequest = Atomic<Bool>(false)
  private let markInterrupt = DispatchSemaphore(value: 0)
  private let maintenanceThread = ServiceThread()
  private let hasMaintenanceRequest = Atomic<Bool>(false)
  private let maintenanceInterrupt = DispatchSemaphore(value: 0)
  private let isStopping = Atomic<Bool>(false)
  private var mark: @Sendable () -> Bool = { true }
  private var maintenance: @Sendable () -> Bool = { true }
  /// How long the engine must have been quiet before its file is tidied.
  private static let idleMilliseconds = 1000
  /// How long the log must have been quiet before a mark is worth its block.
  private static let quietMilliseconds = 5

  private let openFlag: OpenFlag

  init(isThreaded: Bool, openFlag: OpenFlag, readerThreadCount: Int) {
    readerThreads = (0..<readerThreadCount).map { _ in ServiceThread() }
    self.isThreaded = isThreaded
    self.openFlag = openFlag
  }

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

  /// Has the file tidied when no burst of commits has ended for a second.
  func requestMaintenance() {
    guard isThreaded, !hasMaintenanceRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    maintenanceThread.enqueue { [self] in
      while !mustStop {
        _ = maintenanceInterrupt.wait(timeout: .now() + .milliseconds(Self.idleMilliseconds))
        if mustStop { return }
        // Lowered before looking: a burst that ends in between asks again.
        hasMaintenanceRequest.store(false, ordering: .sequentiallyConsistent)
        if maintenance() || hasMaintenanceRequest.exchange(true, ordering: .sequentiallyConsistent) { return }
      }
    }
  }

  /// Runs `job` on one of the threads for what takes long, where it delays no reader; false if the engine is stopping.
  func runLongWork(_ job: @escaping @Sendable () -> Void) -> Bool {
    let index = nextLongWork.wrappingAdd(1, ordering: .relaxed).oldValue
    return longWorkThreads[(index & .max) % longWorkThreads.count].enqueue(job)
  }

  /// Has a mark written when no flush has come for a few milliseconds.
  func requestMark() {
    guard isThreaded, !hasMarkRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    markThread.enqueue { [self] in
      while !isStopping.load(ordering: .acquiring) {
        _ = markInterrupt.wait(timeout: .now() + .milliseconds(Self.quietMilliseconds))
        // Lowered before looking: a flush that comes in between asks again.
        hasMarkRequest.store(false, ordering: .sequentiallyConsistent)
        if mark() || hasMarkRequest.exchange(true, ordering: .sequentiallyConsistent) { return }
      }
    }
  }

  /// Has somebody flush soon; several requests become one. When stepped, the test flushes.
  func requestFlush() {
    guard isThreaded, !hasFlushRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    flushThread.enqueue { [self] in
      hasFlushRequest.store(false, ordering: .releasing)
      flush()
    }
  }

  /// Has somebody begin to flush when `delay` has passed, unless a flush is due already: that one comes sooner, and
  /// covers what has been appended by then. So the oldest commit that is not covered decides. Where a flush is under
  /// way at that moment, the next one begins at its end.
  func requestFlush(after delay: Duration) {
    guard isThreaded, !hasFlushRequest.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // Counted from here: the thread may have a flush to end first.
    let deadline = DispatchTime.now() + Self.timeInterval(delay)
    flushThread.enqueue { [self] in
      // A wait and not a sleep: `stop` interrupts it, or closing would take as long as the interval.
      if !isStopping.load(ordering: .acquiring) { _ = flushInterrupt.wait(timeout: deadline) }
      hasFlushRequest.store(false, ordering: .releasing)
      flush()
    }
  }

  /// `delay` as the system's timers take it; a year at the most.
  private static func timeInterval(_ delay: Duration) -> DispatchTimeInterval {
    let (seconds, attoseconds) = min(max(delay, .zero), .seconds(365 * 86_400)).components
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }

  /// Runs `job` on the checkpoint thread.
  func runCheckpoint(_ job: @escaping @Sendable () -> Void) {
    if isThreaded { checkpointThread.enqueue(job) }
  }

  /// Runs `job` on the thread that writes for async callers; false if the engine is stopping.
  package func runWriter(_ job: @escaping @Sendable () -> Void) -> Bool { writerThread.enqueue(job) }

  /// Runs `job` on the thread that tells those who follow commits, and runs what was to be run after one; false if the
  /// engine is stopping.
  package func runDelivery(_ job: @escaping @Sendable () -> Void) -> Bool { deliveryThread.enqueue(job) }

  /// Runs `job` on one of the threads that read for async callers; false if the engine is stopping.
  package func runReader(_ job: @escaping @Sendable () -> Void) -> Bool {
    let index = nextReader.wrappingAdd(1, ordering: .relaxed).oldValue
    return readerThreads[(index & .max) % readerThreads.count].enqueue(job)
  }

  /// Ends all threads when their queued jobs are done.
  func stop() {
    // A forked child has none of them, and would wait for ever.
    if openFlag.isForked { return }
    isStopping.store(true, ordering: .releasing)
    markInterrupt.signal()
    flushInterrupt.signal()
    maintenanceInterrupt.signal()
    let others =
      [markThread, writerThread] + longWorkThreads + readerThreads + [checkpointThread, flushThread, deliveryThread]
    for thread in [maintenanceThread] + others { thread.stop() }
  }
}
