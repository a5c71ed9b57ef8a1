// A job on a thread of the engine's that somebody awaits.

internal import Synchronization

/// Says once that something is to end.
package final class CancellationFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  /// Whether it was said.
  package var isSet: Bool { flag.load(ordering: .acquiring) }
  /// Says so.
  package func set() { flag.store(true, ordering: .releasing) }
}

/// A job, from the call to its end.
///
/// Invariant: the continuation is resumed once: by `refuse` before `begin`, or by `end` after it.
package final class AsyncJob<Result: Sendable>: Sendable {
  private enum State {
    case new
    case waiting(CheckedContinuation<Result, any Error>)
    case running(CheckedContinuation<Result, any Error>)
    case ended
  }

  private let state = Latch(State.new)
  private let begun = Atomic<Bool>(false)
  private let cancelled: Swift.Result<Result, any Error>
  /// Set when the task that awaits the job is cancelled: for work that asks in the middle of it.
  package let cancellation = CancellationFlag()

  /// A job that has not been handed over.
  ///
  /// - Parameter cancelled: its result if its task is cancelled before its turn.
  package init(cancelled: Swift.Result<Result, any Error> = .failure(CancellationError())) {
    self.cancelled = cancelled
  }

  /// Lets `start` hand the job to a thread, and waits for its end. If the task is cancelled before the job's turn it
  /// ends at once, and never runs; what `start` throws is its end as well.
  package func result(_ start: () throws -> Void) async throws -> Result {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard wait(continuation) else { return }
        do { try start() } catch { refuse(.failure(error)) }
      }
    } onCancel: {
      cancellation.set()
      refuse(cancelled)
    }
  }

  /// The job's turn has come: does it, unless it was cancelled.
  package func run(_ body: () throws -> Result) {
    guard begin() else { return }
    let result: Swift.Result<Result, any Error>
    do { result = .success(try body()) } catch { result = .failure(error) }
    end(result)
  }

  /// The job waits for its turn. False if it was cancelled before it could.
  private func wait(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
    let isWaiting = state.withLock { state -> Bool in
      guard case .new = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !isWaiting { continuation.resume(with: cancelled) }
    return isWaiting
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
    continuation?.resume(with: result)
  }

  /// The job is done.
  package func end(_ result: Swift.Result<Result, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Result, any Error>? in
      guard case .running(let continuation) = state else { return nil }
      state = .ended
      return continuation
    }
    continuation?.resume(with: result)
  }
}
