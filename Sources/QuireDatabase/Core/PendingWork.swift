// Waiting for everything that was begun.

internal import QuireStorage
internal import Synchronization

/// Work that was begun and has not ended, in the order in which it was begun.
///
/// Invariants:
/// 1. `running` holds the numbers of work that was begun and has not ended; all are below `next`.
/// 2. A waiter waits for a number in `running` that is below its own.
final class PendingWork: Sendable {
  private struct State {
    var next = 0
    var running: Set<Int> = []
    var waiters: [(end: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Latch(State())

  /// Work begins; returns its number.
  func begin() -> Int {
    state.withLock { state in
      defer { state.next += 1 }
      state.running.insert(state.next)
      return state.next
    }
  }

  /// Work ends.
  func end(_ number: Int) {
    let continuations = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      let ended = state.running.remove(number)
      assert(ended != nil && number < state.next, "work ends that has not begun, or has ended")
      if state.waiters.isEmpty { return [] }
      let first = state.running.min() ?? .max
      defer { state.waiters.removeAll { $0.end <= first } }
      return state.waiters.filter { $0.end <= first }.map(\.continuation)
    }
    for continuation in continuations { continuation.resume() }
  }

  /// Waits for all work that has begun by now.
  func drain() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state -> Bool in
        if state.running.isEmpty { return true }
        assert(state.running.min().map { $0 < state.next } ?? false, "a wait for nothing would not end")
        state.waiters.append((state.next, continuation))
        return false
      }
      if isDone { continuation.resume() }
    }
  }
}
