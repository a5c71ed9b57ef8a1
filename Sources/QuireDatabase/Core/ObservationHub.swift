// Who observes a database, and who of them has to read again.

internal import QuireStorage
internal import Synchronization

/// The observers of one database: what each has read, and whether a commit has changed that since.
///
/// Commits are looked at on a thread of their own, some at a time: those who write do no more than ask for it, and no
/// read that takes long keeps an observer waiting. Nobody keeps a snapshot between two reads, and of the history only
/// what was not looked at yet.
///
/// Why no change is missed: an observer is `running` before its snapshot is taken, and gets every commit that is looked
/// at from then on. What was looked at before was published before, and so is in the snapshot.
///
/// Invariants:
/// 1. `pin` is there if and only if `observers` is not empty.
/// 2. A waiter waits only while its observer is `idle`, and nothing has ended.
/// 3. An observer that is `idle` has read nothing that a commit which was looked at has changed.
final class ObservationHub: Sendable {
  /// What an observer is at.
  enum Phase {
    /// It has to read, again or for the first time.
    case due
    /// Its closure runs; these commits came meanwhile.
    case running([Commit])
    /// It knows the newest state of what it has read.
    case idle(ReadSet)
  }

  private struct Observer {
    var phase = Phase.due
    /// The call that waits, and its number.
    var waiter: CheckedContinuation<Bool, any Error>?
    var waiterID = 0
  }

  private struct State {
    var observers: [Int: Observer] = [:]
    var lastID = 0
    var lastWaiterID = 0
    /// The place in the history up to which commits were looked at.
    var pin: Int?
    var isClosed = false
    var failure: DatabaseError?
  }

  private let state = Latch(State())
  /// How many observers there are, for those who write.
  private let count = Atomic<Int>(0)
  /// How many others want to know which parts of extensions' trees commits change.
  private let followerCount = Atomic<Int>(0)
  private let isScheduled = Atomic<Bool>(false)
  /// How many looks at commits were asked for and have not ended.
  private let lookCount = Atomic<Int>(0)

  // MARK: Observers

  /// Takes an observer in, which is due. Returns its number.
  func add(_ core: DatabaseCore) -> Int {
    state.withLock { state in
      assert((state.pin == nil) == state.observers.isEmpty, "commits are kept for nobody, or not kept for somebody")
      state.lastID += 1
      state.observers[state.lastID] = Observer()
      if state.pin == nil { state.pin = core.history.beginFollowing { core.publishedCSN } }
      count.store(state.observers.count, ordering: .sequentiallyConsistent)
      return state.lastID
    }
  }

  /// Lets an observer go.
  func remove(_ id: Int, _ history: CommitHistory) {
    let waiter = state.withLock { state -> CheckedContinuation<Bool, any Error>? in
      let observer = state.observers.removeValue(forKey: id)
      count.store(state.observers.count, ordering: .sequentiallyConsistent)
      if state.observers.isEmpty, let pin = state.pin {
        history.unpin(pin)
        state.pin = nil
      }
      assert((state.pin == nil) == state.observers.isEmpty, "commits are kept for nobody, or not kept for somebody")
      return observer?.waiter
    }
    waiter?.resume(returning: false)
  }

  /// Whether somebody wants to know which parts of extensions' trees commits change.
  var isNeeded: Bool {
    count.load(ordering: .sequentiallyConsistent) > 0 || followerCount.load(ordering: .sequentiallyConsistent) > 0
  }

  /// Somebody follows commits by what was read.
  func beginFollowing() { followerCount.add(1, ordering: .sequentiallyConsistent) }

  /// Somebody who did follows no more.
  func endFollowing() {
    let left = followerCount.subtract(1, ordering: .sequentiallyConsistent).newValue
    assert(left >= 0, "somebody ends to follow who has not begun")
  }

  /// Whether the database was closed.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// The observer is about to take a snapshot.
  func beginRun(_ id: Int) { state.withLock { state in state.observers[id]?.phase = .running([]) } }

  /// The observer has read `reads` in the snapshot of `csn`.
  func endRun(_ id: Int, _ reads: ReadSet, at csn: CSN) {
    var isConcerned = false
    while true {
      let commits = state.withLock { state -> [Commit]? in
        guard case .running(let commits) = state.observers[id]?.phase else { return nil }
        if commits.isEmpty || isConcerned {
          state.observers[id]?.phase = isConcerned ? .due : .idle(reads)
          return nil
        }
        state.observers[id]?.phase = .running([])
        return commits
      }
      guard let commits else { return }
      isConcerned = commits.contains { commit in
        // One that only touched rows has the number of the commit before it: nobody knows which of them the snapshot
        // has come after.
        let isNew = commit.csn > csn || (commit.csn == csn && commit.scope.isTouchOnly)
        return isNew && reads.isConcerned(by: commit)
      }
    }
  }

  /// Waits until the observer is due. False when the database was closed, or the task cancelled.
  func waitUntilDue(_ id: Int) async throws -> Bool {
    let waiterID = state.withLock { state in
      state.lastWaiterID += 1
      return state.lastWaiterID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Bool, DatabaseError>? in
          guard let observer = state.observers[id], !state.isClosed, !Task.isCancelled else { return .success(false) }
          guard case .idle = observer.phase else { return .success(true) }
          if let failure = state.failure { return .failure(failure) }
          // A second consumer gets nothing.
          guard observer.waiter == nil else { return .success(false) }
          state.observers[id]?.waiter = continuation
          state.observers[id]?.waiterID = waiterID
          return nil
        }
        switch outcome {
        case .success(let isDue): continuation.resume(returning: isDue)
        case .failure(let failure): continuation.resume(throwing: failure)
        case nil: break
        }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Bool, any Error>? in
        // Before this call has begun to wait, it sees by itself that its task was cancelled.
        guard state.observers[id]?.waiterID == waiterID else { return nil }
        return state.observers[id]?.waiter.take()
      }
      waiter?.resume(returning: false)
    }
  }

  // MARK: Commits

  /// There are commits that readers see. Called by those who wrote.
  func commitsArrived(_ core: DatabaseCore) {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    lookCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
    do throws(StorageError) {
      try core.storage.threads.runLook { [weak core] in self.look(core) }
    } catch {
      // Without a thread for it, those who wrote look. If the database is being closed, all observers end.
      look(error.code == .limitReached ? core : nil)
    }
  }

  /// Takes the look that was asked for.
  private func look(_ core: DatabaseCore?) {
    // Lowered before looking: a commit that comes in between asks again.
    isScheduled.store(false, ordering: .sequentiallyConsistent)
    if let core { lookAtCommits(core) }
    let left = lookCount.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
    assert(left >= 0, "a look at commits ends that has not begun")
  }

  private func lookAtCommits(_ core: DatabaseCore) {
    guard let pin = state.withLock({ $0.pin }) else { return }
    look(at: core.history.take(pin) { core.publishedCSN })
  }

  /// What is registered under a name has changed without a commit.
  func extensionChanged(_ name: String) {
    let scope = CommitScope(extensions: [ByteString(name)], restarted: [ByteString(name)])
    look(at: [Commit(csn: CSN(.max), changes: ChangeSet(ChangeLog(), names: [:]), info: nil, scope: scope)])
  }

  /// Finds those whom the commits concern. What is not known yet of what they read is kept for the end of their run.
  private func look(at commits: [Commit]) {
    if commits.isEmpty { return }
    let idle = state.withLock { state -> [(id: Int, reads: ReadSet)] in
      var idle: [(id: Int, reads: ReadSet)] = []
      for (id, observer) in state.observers {
        switch observer.phase {
        case .due: break
        case .idle(let reads): idle.append((id, reads))
        case .running(let earlier): state.observers[id]?.phase = .running(Self.join(earlier, commits))
        }
      }
      return idle
    }
    // Outside of the latch: this takes time in proportion to the changes.
    for (id, reads) in idle where commits.contains(where: reads.isConcerned) { becomeDue(id) }
  }

  private static func join(_ earlier: [Commit], _ commits: [Commit]) -> [Commit] {
    let all = earlier + commits
    let byteCount = all.reduce(0) { $0 + $1.byteCount }
    guard all.count > Limits.observedCommitCount || byteCount > Limits.historyByteCount,
      let newest = all.map(\.csn).max()
    else { return all }
    return [.unknown(upTo: newest)]
  }

  private func becomeDue(_ id: Int) {
    let waiter = state.withLock { state -> CheckedContinuation<Bool, any Error>? in
      // It cannot have read since, as it was not due; but it may be gone.
      guard case .idle = state.observers[id]?.phase else { return nil }
      state.observers[id]?.phase = .due
      return state.observers[id]?.waiter.take()
    }
    waiter?.resume(returning: true)
  }

  // MARK: Ending

  /// The database was closed: nobody waits any more.
  func close() {
    for waiter in state.withLock({ state in
      state.isClosed = true
      return Self.takeWaiters(&state)
    }) { waiter.resume(returning: false) }
  }

  /// The database cannot be written any more: nothing will change what was read.
  func fail(_ error: DatabaseError) {
    for waiter in state.withLock({ state in
      if state.failure == nil { state.failure = error }
      return Self.takeWaiters(&state)
    }) { waiter.resume(throwing: error) }
  }

  /// The file was opened again after a suspension: what had stopped writing has not stopped what follows.
  func revive() { state.withLock { $0.failure = nil } }

  private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Bool, any Error>] {
    var waiters: [CheckedContinuation<Bool, any Error>] = []
    for id in state.observers.keys {
      if let waiter = state.observers[id]?.waiter.take() { waiters.append(waiter) }
    }
    return waiters
  }

  /// Whether every observer waits for a change, and every commit that was acknowledged before the call was looked at.
  var areAllWaiting: Bool {
    guard lookCount.load(ordering: .sequentiallyConsistent) == 0 else { return false }
    return state.withLock { state in state.observers.values.allSatisfy { $0.waiter != nil } }
  }

  /// Whether a look at commits was asked for that has not ended.
  var hasLooksDue: Bool { lookCount.load(ordering: .sequentiallyConsistent) > 0 }

  /// How many observers there are.
  var observerCount: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Throws if an invariant is broken.
  func checkInvariants() throws(DatabaseError) {
    let isSound = state.withLock { state -> Bool in
      let waitsRightly = state.observers.values.allSatisfy { observer in
        guard observer.waiter != nil else { return true }
        guard case .idle = observer.phase else { return false }
        return !state.isClosed && state.failure == nil
      }
      return (state.pin == nil) == state.observers.isEmpty && waitsRightly
    }
    guard isSound else { throw DatabaseError(.damagedRow, "Invariant 1 or 2: the observers are out of order.") }
  }
}
