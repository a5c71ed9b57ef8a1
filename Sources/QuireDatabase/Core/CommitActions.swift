// What apps want done after async commits.

internal import DequeModule
internal import QuireStorage
internal import Synchronization

/// The actions of async commits, in the order of the commits. Which commit is known to be durable first is another
/// matter: several threads find that out.
///
/// Invariants:
/// 1. `entries` are in the order of their commits; none has had its turn.
/// 2. One thread at a time runs actions, while `isRunning`.
final class CommitActions: Sendable {
  /// The actions of one commit.
  final class Entry: Sendable {
    fileprivate enum Fate {
      case unknown
      case committed
      case failed
    }

    fileprivate let actions: [@Sendable () -> Void]
    fileprivate let rollbackActions: [@Sendable () -> Void]
    fileprivate let end: @Sendable () -> Void
    fileprivate let fate = Latch(Fate.unknown)

    fileprivate init(
      _ actions: [@Sendable () -> Void], _ rollbackActions: [@Sendable () -> Void],
      _ end: @escaping @Sendable () -> Void
    ) {
      self.actions = actions
      self.rollbackActions = rollbackActions
      self.end = end
    }
  }

  private struct State {
    var entries = Deque<Entry>()
    var isRunning = false
  }

  private let state = Latch(State())

  /// Takes the actions of a commit whose fate is not known yet, behind those of the commits before it.
  ///
  /// - Parameters:
  ///   - rollbackActions: run in their place if there is no commit.
  ///   - end: called when they have run, or will never.
  func add(
    _ actions: [@Sendable () -> Void], orElse rollbackActions: [@Sendable () -> Void],
    _ end: @escaping @Sendable () -> Void
  ) -> Entry {
    let entry = Entry(actions, rollbackActions, end)
    state.withLock { $0.entries.append(entry) }
    return entry
  }

  /// The fate of a commit is known. Somebody has to call `run` then.
  func settle(_ entry: Entry, isCommitted: Bool) {
    entry.fate.withLock { fate in
      assert(fate == .unknown, "the fate of a commit changes")
      fate = isCommitted ? .committed : .failed
    }
  }

  /// Runs what has its turn, unless another thread is at it, which then goes on with that.
  func run() {
    guard begin() else { return }
    while let (entry, isCommitted) = next() {
      for action in isCommitted ? entry.actions : entry.rollbackActions { action() }
      entry.end()
    }
  }

  private func begin() -> Bool {
    state.withLock { state in
      if state.isRunning { return false }
      state.isRunning = true
      return true
    }
  }

  /// The next entry, if its fate is known; else nobody runs any more.
  private func next() -> (Entry, isCommitted: Bool)? {
    state.withLock { state in
      assert(state.isRunning, "two threads run actions")
      if let first = state.entries.first {
        let fate = first.fate.withLock { $0 }
        if fate != .unknown {
          state.entries.removeFirst()
          return (first, fate == .committed)
        }
      }
      state.isRunning = false
      return nil
    }
  }
}
