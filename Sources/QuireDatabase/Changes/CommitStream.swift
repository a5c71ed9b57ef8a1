// Commits as an asynchronous sequence.

internal import DequeModule
internal import QuireStorage
internal import Synchronization

/// All commits from the moment on at which the sequence was asked for, in their order, each after it is durable.
///
/// ```swift
/// for try await commit in db.commits {
///   if commit.changes.hasChanges(forKey: "s1", in: .songs) { reload() }
/// }
/// ```
///
/// Holds up to `Database.Options.commitBuffer` commits that were not taken yet, and up to 64 MiB of them; what comes on
/// top of that is delivered as one commit whose changes are `isUnknown`. Ends when the database is closed, or with an
/// error when a failed write has stopped it. One consumer at a time: iterators of one sequence take commits from each
/// other.
public struct CommitStream: AsyncSequence, Sendable {
  /// What is delivered.
  public typealias Element = Commit
  /// A `DatabaseError`, when a failed write has ended the sequence.
  public typealias Failure = any Error

  fileprivate final class Subscription: Sendable {
    let history: CommitHistory
    let buffer: CommitBuffer
    let id: Int

    init(
      _ history: CommitHistory, _ buffer: CommitBuffer, _ tells: Silent, published: () -> CSN
    ) {
      self.history = history
      self.buffer = buffer
      id = history.follow(buffer, tells: tells, published: published)
    }

    deinit { history.unfollow(id) }
  }

  private let subscription: Subscription

  /// Which commits are told by which nothing but extensions changed.
  enum Silent {
    case none
    /// Those by which the content of an extension began or ended.
    case registrations
    case all
  }

  /// - Parameter wantsAll: whether it is worth a warning that commits found no room; not for who only waits for some.
  init(_ history: CommitHistory, limit: Int, tells: Silent, wantsAll: Bool = true, published: () -> CSN) {
    let buffer = CommitBuffer(limit: limit, byteLimit: Limits.historyByteCount, wantsAll: wantsAll)
    subscription = Subscription(history, buffer, tells, published: published)
  }

  /// Begins to take commits.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// Takes the commits one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: Subscription

    /// The next commit; waits for it. Nil when the database was closed, or the task cancelled.
    public mutating func next() async throws -> Commit? { try await subscription.buffer.next() }

    /// The next commit, if there is one that was not taken yet; waits for nothing, and throws nothing. A commit is
    /// there when its `write` has returned, and when its `onCommit` actions run.
    public mutating func nextIfReady() -> Commit? { subscription.buffer.nextIfReady() }
  }
}

/// Commits that wait for their consumer.
///
/// Invariants:
/// 1. `commits` holds at most `limit` commits and one more, which stands for those that found no room.
/// 2. `byteCount` is what the commits take together, and at most `byteLimit`; one that stands for others takes nothing.
/// 3. A consumer waits only while `commits` is empty and nothing has ended.
final class CommitBuffer: Sendable {
  private struct State {
    var commits = Deque<Commit>()
    var byteCount = 0
    /// The call of `next` that waits, and its number.
    var waiter: CheckedContinuation<Commit?, any Error>?
    var waiterID = 0
    var lastID = 0
    var isFinished = false
    var failure: DatabaseError?
  }

  private let state = Latch(State())
  private let limit: Int
  private let byteLimit: Int
  /// Whether it matters that commits found no room.
  let wantsAll: Bool

  init(limit: Int, byteLimit: Int, wantsAll: Bool = true) {
    self.wantsAll = wantsAll
    self.limit = max(1, limit)
    self.byteLimit = byteLimit
  }

  private static func byteCount(_ commit: Commit) -> Int { commit.changes.isUnknown ? 0 : commit.byteCount }

  /// What is left to do when the history's latch is given up: a consumer goes on wherever the app has it go on, which
  /// may be here and now.
  typealias Resumption = @Sendable () -> Void

  /// Takes a commit in. Returns whether it is the first one that finds no room, and how the consumer goes on that has
  /// waited for it.
  func append(_ commit: Commit) -> (isFirstMissed: Bool, resume: Resumption?) {
    var isFirstMissed = false
    let waiter = state.withLock { state -> CheckedContinuation<Commit?, any Error>? in
      guard !state.isFinished else { return nil }
      if let waiter = state.waiter {
        assert(state.commits.isEmpty && state.byteCount == 0, "a consumer waits for commits that are there")
        state.waiter = nil
        return waiter
      }
      let byteCount = Self.byteCount(commit)
      if state.commits.count < limit, state.byteCount + byteCount <= byteLimit {
        state.commits.append(commit)
        state.byteCount += byteCount
      } else if state.commits.last?.changes.isUnknown == true {
        state.commits[state.commits.count - 1] = .unknown(upTo: commit.csn)
      } else {
        state.commits.append(.unknown(upTo: commit.csn))
        isFirstMissed = true
      }
      assert(
        state.commits.count - 1 <= limit && state.byteCount <= byteLimit, "more commits wait than there is room for")
      return nil
    }
    guard let waiter else { return (isFirstMissed, nil) }
    return (isFirstMissed, { waiter.resume(returning: commit) })
  }

  /// Nothing follows what was taken in. Returns how the consumer goes on that has waited.
  func finish(_ failure: DatabaseError? = nil) -> Resumption? {
    let waiter = state.withLock { state -> CheckedContinuation<Commit?, any Error>? in
      guard !state.isFinished else { return nil }
      assert(state.waiter == nil || state.commits.isEmpty, "a consumer waits for commits that are there")
      state.isFinished = true
      state.failure = failure
      defer { state.waiter = nil }
      return state.waiter
    }
    guard let waiter else { return nil }
    if let failure { return { waiter.resume(throwing: failure) } }
    return { waiter.resume(returning: nil) }
  }

  /// The next commit, if there is one.
  func nextIfReady() -> Commit? {
    state.withLock { state in
      guard let commit = state.commits.popFirst() else { return nil }
      state.byteCount -= Self.byteCount(commit)
      assert(
        state.byteCount >= 0 && (state.byteCount == 0 || !state.commits.isEmpty), "commits that are gone take room")
      return commit
    }
  }

  /// The next commit.
  func next() async throws -> Commit? {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Next {
          case commit(Commit?)
          case failure(DatabaseError)
          case wait
        }
        let next = state.withLock { state -> Next in
          if let commit = state.commits.popFirst() {
            state.byteCount -= Self.byteCount(commit)
            return .commit(commit)
          }
          if let failure = state.failure { return .failure(failure) }
          // A second consumer gets nothing: two would tear the order apart.
          if state.isFinished || Task.isCancelled || state.waiter != nil { return .commit(nil) }
          state.waiter = continuation
          state.waiterID = id
          return .wait
        }
        switch next {
        case .commit(let commit): continuation.resume(returning: commit)
        case .failure(let failure): continuation.resume(throwing: failure)
        case .wait: break
        }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Commit?, any Error>? in
        // Before this call has begun to wait, it sees by itself that its task was cancelled.
        guard state.waiterID == id else { return nil }
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: nil)
    }
  }
}
