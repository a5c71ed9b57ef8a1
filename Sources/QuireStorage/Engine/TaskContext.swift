// What a task hands on to the work that a thread of the engine's does for it.

internal import Synchronization

/// Runs a closure once, on any thread, as the task would that has made this: with its task-local values, and cancelled
/// when it is.
///
/// The language hands the values on to tasks alone. So there is a task of its own, whose one job is kept, and run where
/// and when somebody calls `run`: on that thread, from beginning to end.
///
/// Invariants:
/// 1. The job is there from `init` on, and is run once: by `run`, or by `giveUp`.
/// 2. `body` is there while the job runs, and at no other time.
package final class TaskContext: TaskExecutor, Sendable {
  private let job = Latch<UnownedJob?>(nil)
  private let body = Latch<Body?>(nil)
  private let task = Latch<Task<Void, Never>?>(nil)

  // Unchecked: safe because the thread that puts the closure down is the one that runs it, before it goes on.
  /// A closure that one thread hands to itself.
  private struct Body: @unchecked Sendable { let run: () -> Void }

  /// For the task that calls.
  package init() {
    let task = Task(executorPreference: self) { [self] in
      // Nothing is suspended here, so that the thread that begins it ends it.
      let body = body.withLock { $0.take() }
      body?.run()
    }
    self.task.withLock { $0 = task }
  }

  /// Keeps the job; for the language's runtime, which calls this before `init` ends.
  package func enqueue(_ job: consuming ExecutorJob) {
    let kept = UnownedJob(job)
    self.job.withLock { job in
      assert(job == nil, "the task of a context has a second job")
      job = kept
    }
  }

  /// The task is cancelled: what runs, or will run, can ask `Task.isCancelled`.
  package func cancel() { task.withLock { $0 }?.cancel() }

  /// Runs `body` on this thread as the task.
  package func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    var outcome: Swift.Result<Result, Failure>?
    withoutActuallyEscaping({ () throws(Failure) -> Result in try body() }) { body in
      withUnsafeMutablePointer(to: &outcome) { outcome in
        runJob(Body { outcome.pointee = Swift.Result(catching: body) })
      }
    }
    guard let outcome else { preconditionFailure("a context runs one closure") }
    return try outcome.get()
  }

  /// Nothing is to be run: lets the task end.
  package func giveUp() { runJob(nil) }

  private func runJob(_ body: Body?) {
    guard let job = job.withLock({ $0.take() }) else { return }
    self.body.withLock { $0 = body }
    job.runSynchronously(on: asUnownedTaskExecutor())
    task.withLock { $0 = nil }
  }
}
