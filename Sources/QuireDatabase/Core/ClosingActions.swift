// What has to end before a database can be closed.

internal import QuireStorage
internal import Synchronization

/// Actions that end what belongs to an open database and holds snapshots of it.
///
/// Invariant: each number is given out once, and its action taken back once at most.
final class ClosingActions: Sendable {
  private struct State {
    var next = 0
    var actions: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Latch(State())

  /// Has `action` run when the database is about to be closed; returns a number to take it back by.
  func add(_ action: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.actions[state.next] = action
      return state.next
    }
  }

  /// Takes an action back.
  func remove(_ number: Int) {
    state.withLock { state in
      let action = state.actions.removeValue(forKey: number)
      assert(action != nil, "an action was taken back twice")
    }
  }

  /// Runs each action. Those that run already on another thread are run here, too, so that none has to be waited for
  /// afterwards: an action waits for what it has begun elsewhere, and takes itself back at its end.
  func run() {
    for action in state.withLock({ Array($0.actions.values) }) { action() }
  }
}
