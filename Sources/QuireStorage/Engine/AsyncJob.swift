// A job on a thread of the engine's that somebody awaits.

internal import Synchronization

/// Says once that something is to end.
package final class CancellationFlag: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Not said yet.
  package init() {}

  /// Whether it was said.
  package var isSet: Bool { flag.load(ordering: .acquiring) }
  /// Says so.
  package func set() { flag.store(true, ordering: .releasing) }
}

/// A job, from the call to its end.
///
/// What its work holds is let go of before the caller hears of the end: who awaits a read of a pinned snapshot may let
/// the snapshot go and close the database at once, and no thread is still holding on to it.
///
/// Work is done as the task would do it that awaits it: see `TaskContext`.
///
/// Invariants:
/// 1. The continuation is resumed once: by `refuse` before `begin`, or by `end` after it.
/// 2. `work` is there until it is taken after `begin`, or until the job is refused.
/// 3. `context` is there from before the job waits until its work is done, or until the job is refused or ended.
package final class AsyncJob<Work: Sendable, Result: Sendable>: Sendable {
  private enum State {
    case new
    case waiting(CheckedContinuation<Result, any Error>)
    case running(CheckedContinuation<Result, any Error>)
    case ended
  }

  private let state = Latch(State.new)
  private let work: Latch<Work?>
  private let context = Latch<TaskContext?>(nil)
  private let begun = Atomic<Bool>(false)
  private let cancelled: Swift.Result<Result, any Error>
  /// Set when the task that awaits the job is cancelled: for work that asks in the middle of it.
  package let cancellation = CancellationFlag()

  /// A job that has not been handed over.
  ///
  /// - Parameters:
  ///   - cancelled: its result if its task is cancelled before its turn.
  ///   - work: what is to be done.
  package init(cancelled: Swift.Result<Result, any Error> = .failure(CancellationError()), _ work: Work) {
    self.work = Latch(work)
    self.cancelled = cancelled
  }

  /// Lets `start` hand the job to a thread, and waits for its end. If the task is cancelled before the job's turn it
  /// ends at once, and never runs; what `start` throws is its end as well.
  package func result(_ start: () throws -> Void) async throws -> Result {
    let context = TaskContext()
    self.context.withLock { $0 = context }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard wait(continuation) else { return }
        do { try start() } catch { refuse(.failure(error)) }
      }
    } onCancel: {
      cancellation.set()
      context.cancel()
      refuse(cancelled)
    }
  }

  /// Does its work, once, on the thread that has called `begin`. That thread has let go of it when this returns.
  ///
  /// - Parameter body: calls the work.
  package func perform<Output>(_ body: (Work) throws -> Output) throws -> Output {
    let taken = work.withLock { $0.take() }
    let context = context.withLock { $0.take() }
    guard let taken, let context else { preconditionFailure("the work of a job is done once, after it has begun") }
    return try context.run { () throws -> Output in try body(taken) }
  }

  /// The job waits for its turn. False if it was cancelled before it could.
  private func wait(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
    let isWaiting = state.withLock { state -> Bool in
      guard case .new = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !isWaiting {
      giveUp()
      continuation.resume(with: cancelled)
    }
    return isWaiting
  }

  /// Lets go of work that is not done, if there still is some.
  private func giveUp() {
    _ = work.withLock { $0.take() }
    context.withLock { $0.take() }?.giveUp()
  }

  /// Whether the job's turn has come at some time.
  package var hasBegun: Bool { begun.load(ordering: .acquiring) }

  /// The job's turn has come. False if it was cancelled.
  package func begin() -> Bool {
    state.withLock { state in
      guard case .waiting(let continuation) = state else { return false }
      state = .running(continuation)
      begun.store(true, ordering: .releasing)
      return true
    }
  }

  /// Ends the job without doing it, unless its turn has come.
  private func refuse(_ result: Swift.Result<Result, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Result, any Error>? in
      switch state {
      case .new:
        state = .ended
        return nil
      case .waiting(let continuation):
        state = .ended
        return continuation
      case .running, .ended:
        return nil
      }
    }
    guard let continuation else { return }
    giveUp()
    continuation.resume(with: result)
  }

  /// The job is done, or was not done after all: a write that is refused never comes to its work.
  package func end(_ result: Swift.Result<Result, any Error>) {
    giveUp()
    let continuation = state.withLock { state -> CheckedContinuation<Result, any Error>? in
      guard case .running(let continuation) = state else { return nil }
      state = .ended
      return continuation
    }
    continuation?.resume(with: result)
  }
}

/// A job that asks in the middle of it, if at all, whether it was cancelled.
package typealias PlainJob<Result: Sendable> = AsyncJob<@Sendable (CancellationFlag) throws -> Result, Result>

extension AsyncJob where Work == @Sendable (CancellationFlag) throws -> Result {
  /// The job's turn has come: does it, unless it was cancelled.
  package func run() {
    guard begin() else { return }
    end(result())
  }

  /// Does the work, of which nothing is left when this returns.
  private func result() -> Swift.Result<Result, any Error> {
    do { return .success(try perform { work in try work(cancellation) }) } catch { return .failure(error) }
  }
}

extension ThreadStarter {
  /// Runs `body` on a thread of its own, for an async caller who has no engine yet whose threads could run it.
  ///
  /// - Parameter body: gets what says that the task which awaits it was cancelled.
  /// - Throws: `limitReached` if the system gives no thread, `CancellationError` if the task was cancelled before
  ///   `body` began, and what `body` throws.
  package func run<Result: Sendable>(
    _ body: @escaping @Sendable (CancellationFlag) throws -> Result
  ) async throws -> Result {
    let job = PlainJob(body)
    return try await job.result {
      do throws(SystemError) { try start { job.run() } } catch {
        throw StorageError(
          .limitReached,
          "The system gives no thread, and nothing has been done. End threads of the process, or raise its limit.",
          systemError: error)
      }
    }
  }
}
