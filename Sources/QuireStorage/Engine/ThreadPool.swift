// Threads that take their jobs from one queue.

internal import DequeModule
internal import Synchronization

/// Some threads and one queue of jobs: whichever thread is idle takes the next job, so that none waits behind a long
/// one while a thread has nothing to do. With one thread, jobs run one after the other, in order.
///
/// Threads are started when there are more jobs than threads without one, and stay until `stop`. Each holds the pool
/// and nothing else of the engine, so that an engine that nobody uses can go away.
///
/// Invariants:
/// 1. While there are jobs in the queue there is a thread that will come for them.
/// 2. `wakeUp` has been signalled once for each job, and once for each thread when the pool was stopped.
/// 3. `threads` has the identities of those threads that have begun and not ended; they are `threadCount` at the most.
final class ThreadPool: @unchecked Sendable {
  // Sendable: safe because the state is behind the mutex, and the rest never changes.
  typealias Job = @Sendable () -> Void

  /// What has become of a job.
  enum Admission {
    /// It will run.
    case queued
    /// It will not: the pool has been stopped.
    case stopped
    /// It will not: there is no thread, and the system gives none.
    case lacksThread(SystemError)
  }

  private struct State {
    var jobs = Deque<Job>()
    var threadCount = 0
    var busyCount = 0
    var threads: [UInt] = []
    var isStopping = false
  }

  private let state = Latch(State())
  private let limit: Int
  private let starter: ThreadStarter
  private let wakeUp = Semaphore()
  private let ended = Semaphore()

  /// A pool of up to `limit` threads; none is started yet.
  init(_ starter: ThreadStarter, limit: Int = 1) {
    self.starter = starter
    self.limit = limit
    assert(limit > 0, "a pool has a thread at least")
  }

  /// Queues a job.
  func enqueue(_ job: @escaping Job) -> Admission {
    let admission = state.withLock { state -> Admission in
      if state.isStopping { return .stopped }
      if state.busyCount + state.jobs.count >= state.threadCount, state.threadCount < limit,
        let error = addThread(&state), state.threadCount == 0
      {
        return .lacksThread(error)
      }
      state.jobs.append(job)
      return .queued
    }
    if case .queued = admission { wakeUp.signal() }
    return admission
  }

  /// Makes sure that there is a thread, so that jobs are refused by a stopped pool only.
  func prepare() -> Admission {
    state.withLock { state in
      if state.isStopping { return .stopped }
      if state.threadCount == 0, let error = addThread(&state) { return .lacksThread(error) }
      return .queued
    }
  }

  /// Starts a thread, under the latch: a job that is queued meanwhile must not count on one that does not come.
  private func addThread(_ state: inout State) -> SystemError? {
    do throws(SystemError) { try starter.start { [self] in run() } } catch { return error }
    assert(state.threadCount < limit, "a pool has more threads than it may")
    state.threadCount += 1
    return nil
  }

  private func run() {
    let thread = ThreadIdentity.current
    state.withLock { $0.threads.append(thread) }
    while let job = nextJob() {
      job()
      assert(state.withLock { $0.busyCount > 0 && $0.busyCount <= $0.threadCount }, "jobs have been miscounted")
      state.withLock { $0.busyCount -= 1 }
    }
    assert(isCurrent, "a thread ends that has not begun")
    state.withLock { state in state.threads.removeAll { $0 == thread } }
    ended.signal()
  }

  /// Waits for a job; nil once the pool has been stopped.
  private func nextJob() -> Job? {
    while true {
      wakeUp.wait()
      let (job, isOver) = state.withLock { state -> (Job?, Bool) in
        guard let job = state.jobs.popFirst() else { return (nil, state.isStopping) }
        state.busyCount += 1
        return (job, false)
      }
      if let job { return job }
      if isOver { return nil }
    }
  }

  /// Whether the caller runs on a thread of the pool's.
  var isCurrent: Bool {
    let thread = ThreadIdentity.current
    return state.withLock { $0.threads.contains(thread) }
  }

  /// Lets queued jobs end, then the threads. Waits for them, but for the one that calls.
  func stop() {
    let threadCount = state.withLock { state -> Int in
      if state.isStopping { return 0 }
      state.isStopping = true
      return state.threadCount
    }
    if threadCount == 0 { return }
    for _ in 0..<threadCount { wakeUp.signal() }
    for _ in 0..<(isCurrent ? threadCount - 1 : threadCount) { ended.wait() }
  }
}
