// The commits whose notifications are still to be posted.

internal import Foundation
internal import Quire

/// Commits on their way to the main queue.
///
/// They wait in a stream, which keeps no more than 64 MiB of them: where the main queue never runs, or is busy for
/// long, what found no room becomes one notification of changes that are not known.
///
/// Invariants:
/// 1. `isOnItsWay` is true from when word is sent to the main queue until it begins to post there: what is sent to the
///    main queue while it is true comes after the notifications.
/// 2. `infos` holds what was made of commits in `next` and `active`, by their change sets, which these keep alive.
/// 3. A commit is taken out of the stream once, and its notification posted by who has taken it out of `next`.
final class PendingPosts: Sendable {
  private struct State {
    var commits: CommitStream.Iterator?
    var isOnItsWay = false
    /// The next ones, not too many.
    var next: [Commit] = []
    /// Those that are being posted: more than one if who is told runs the main queue.
    var active: [Commit] = []
    var infos: [ObjectIdentifier: Info] = [:]
  }

  /// What a notification says; made once, and read from then on.
  private struct Info: @unchecked Sendable {
    // Sendable: safe because nothing changes it, and because of the app's own objects in it apps are asked that these
    // may be used from any thread.
    let info: [AnyHashable: Any]
  }

  private let state = Guarded(State())

  /// Takes the stream of commits.
  func begin(_ commits: CommitStream.Iterator) {
    state.withLock { state in
      assert(state.commits == nil && state.next.isEmpty, "a stream of commits is replaced by another one")
      state.commits = commits
    }
  }

  /// Calls `send`, which sends word to the main queue, unless word is on its way.
  func sendWord(_ send: () -> Void) {
    state.withLock { state in
      guard state.commits != nil, !state.isOnItsWay else { return }
      state.isOnItsWay = true
      // Under the lock: another thread that finds it on its way may send its own at once.
      send()
    }
  }

  /// What is sent from here on is not on its way.
  func beginPosting() { state.withLock { $0.isOnItsWay = false } }

  /// The next commit to be posted; nil if there is none.
  func takeNext() -> Commit? {
    state.withLock { state in
      if state.next.isEmpty {
        while state.next.count < 32, let commit = state.commits?.nextIfReady() { state.next.append(commit) }
      }
      guard !state.next.isEmpty else { return nil }
      assert(state.next.count <= 32, "more commits were taken out of the stream than may wait beside it")
      let commit = state.next.removeFirst()
      state.active.append(commit)
      return commit
    }
  }

  /// A commit was posted.
  func forget(_ commit: Commit) {
    let done = state.withLock { state in
      assert(state.active.contains { $0.changes === commit.changes }, "a commit was posted that nobody has taken")
      state.active.removeAll { $0.changes === commit.changes }
      let info = state.infos.removeValue(forKey: ObjectIdentifier(commit.changes))
      assert(state.infos.count <= state.active.count + state.next.count, "what was made of a commit outlives it")
      return info
    }
    // Objects of the app's may do anything when they go: not under the lock.
    withExtendedLifetime(done) {}
  }

  /// What is said of a commit: kept until the commit was posted, as those who are told ask for it again.
  func info(of commit: Commit, _ make: (Commit) -> [AnyHashable: Any]) -> [AnyHashable: Any] {
    // All commits whose changes are not known share one change set.
    if commit.changes.isUnknown { return make(commit) }
    let id = ObjectIdentifier(commit.changes)
    if let known = state.withLock({ $0.infos[id] }) { return known.info }
    let made = Info(info: make(commit))
    state.withLock { state in
      let isWaiting = (state.active + state.next).contains { $0.changes === commit.changes }
      if isWaiting { state.infos[id] = made }
    }
    return made.info
  }
}
