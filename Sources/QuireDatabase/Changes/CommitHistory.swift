// The newest commits, for pinned snapshots and streams that have not seen them yet.

internal import DequeModule
internal import Logging
internal import QuireStorage
internal import Synchronization

/// Keeps commits until everybody who follows has taken them.
///
/// A commit enters under the writer lock, before any reader can see its snapshot: who finds a snapshot finds its commit
/// here (hazard B5).
///
/// Invariants:
/// 1. The entries' sequence numbers grow by one, and end at `lastSequence`; their CSNs do not fall.
/// 2. An entry that a pin has not taken is there, unless `byteCount` had to be brought below the limit.
/// 3. A stream's `position` is that of the last entry it was given; what it was not given is not published, or about to
///    be delivered by the thread that wrote it.
final class CommitHistory: Sendable {
  private struct Stream {
    var position: Int
    let buffer: CommitBuffer
    let tells: CommitStream.Silent

    func isTold(_ commit: Commit) -> Bool {
      switch tells {
      case .none: !commit.isSilent
      case .registrations: !commit.isSilent || !commit.scope.restarted.isEmpty
      case .all: true
      }
    }
  }

  private struct State {
    var entries = Deque<PlacedCommit>()
    var lastSequence = 0
    var byteCount = 0
    /// The number of the last commit that was let go; nil if all are there.
    var droppedCSN: CSN?
    /// Where each pin is, by a number of its own.
    var pins: [Int: Int] = [:]
    var streams: [Int: Stream] = [:]
    var nextID = 0
    var isClosed = false
    /// What has stopped all writing.
    var failure: DatabaseError?

    /// The last entry that the snapshot of `csn` shows.
    func position(at csn: CSN) -> Int { entries.last { $0.commit.csn <= csn }?.sequence ?? firstSequence - 1 }
    var firstSequence: Int { entries.first?.sequence ?? lastSequence + 1 }

    func commits(after position: Int, upTo end: Int) -> [Commit] {
      entries.lazy.filter { $0.sequence > position && $0.sequence <= end }.map(\.commit)
    }
  }

  private static let lastID = Atomic<Int>(0)

  private let state = Latch(State())
  private let id = CommitHistory.lastID.add(1, ordering: .relaxed).newValue
  private let byteLimit: Int
  private let logger: Logger?

  init(byteLimit: Int, logger: Logger? = nil) {
    self.byteLimit = byteLimit
    self.logger = logger
  }

  /// Called outside of the latch: the handler is the app's.
  private func logMissed(_ follower: Logger.MetadataValue) {
    CallOut.check()
    logger?.warning(
      "A follower of commits lags behind and has missed some: it is told to read afresh.",
      metadata: ["follower": follower])
  }

  // MARK: Writing

  /// Takes a commit in; `published` is the newest commit that readers see. Under the writer lock.
  func append(_ commit: Commit, published: CSN) {
    let dropped = state.withLock { state -> Dropped in
      let dropped = trim(&state, published)
      assert(state.entries.last.map { $0.commit.csn <= commit.csn } ?? true, "a commit comes after a newer one")
      assert(commit.csn > published || commit.scope.isTouchOnly, "a commit was seen before it was noted")
      state.lastSequence += 1
      state.entries.append(PlacedCommit(sequence: state.lastSequence, commit: commit))
      state.byteCount += commit.byteCount
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Commits that nobody waits for. They hold objects of the app's, which may do anything when they go: not under the
  /// latch. Nearly always it is one.
  private struct Dropped {
    private var first: Commit?
    private var others: [Commit] = []

    mutating func append(_ commit: Commit) {
      if first == nil { first = commit } else { others.append(commit) }
    }
  }

  /// Lets go of what nobody waits for; returns it.
  private func trim(_ state: inout State, _ published: CSN) -> Dropped {
    var dropped = Dropped()
    let followed = min(state.pins.values.min() ?? .max, state.streams.values.map(\.position).min() ?? .max)
    while let first = state.entries.first, first.commit.csn <= published,
      first.sequence <= followed || state.byteCount > byteLimit
    {
      state.byteCount -= first.commit.byteCount
      state.droppedCSN = first.commit.csn
      dropped.append(first.commit)
      state.entries.removeFirst()
    }
    assert(state.byteCount >= 0 && (state.byteCount == 0 || !state.entries.isEmpty), "commits are kept that are gone")
    return dropped
  }

  /// Gives the streams what readers see by now. Called by those who wrote, once their commit is acknowledged.
  func deliver(published: () -> CSN) {
    var hasMissed = false
    var resumptions: [CommitBuffer.Resumption] = []
    let dropped = state.withLock { state -> Dropped in
      if state.streams.isEmpty {
        // One commit may be as large as all that may be kept.
        return state.byteCount > byteLimit ? trim(&state, published()) : Dropped()
      }
      func give(_ commit: Commit, to buffer: CommitBuffer) {
        let (isFirstMissed, resume) = buffer.append(commit)
        if isFirstMissed, buffer.wantsAll { hasMissed = true }
        if let resume { resumptions.append(resume) }
      }
      let published = published()
      let end = state.position(at: published)
      assert(end <= state.lastSequence, "a stream is to be given what nobody has written")
      for (id, stream) in state.streams where stream.position < end {
        if stream.position < state.firstSequence - 1 {
          give(.unknown(upTo: published), to: stream.buffer)
          if stream.buffer.wantsAll { hasMissed = true }
        }
        for entry in state.entries where entry.sequence > stream.position && entry.sequence <= end {
          if stream.isTold(entry.commit) { give(entry.commit, to: stream.buffer) }
        }
        state.streams[id]?.position = end
      }
      return trim(&state, published)
    }
    withExtendedLifetime(dropped) {}
    for resume in resumptions { resume() }
    if hasMissed { logMissed("stream") }
  }

  /// The place of a snapshot that nothing holds: nobody knows which commits that only touched rows it came after, so it
  /// has none of them behind it. Nil if commits that came after the snapshot are gone.
  func position(at csn: CSN) -> CommitPosition? {
    let sequence = state.withLock { state -> Int? in
      if let dropped = state.droppedCSN, dropped > csn { return nil }
      let last = state.entries.last { $0.commit.csn <= csn && !$0.commit.scope.isTouchOnly }
      return last?.sequence ?? state.firstSequence - 1
    }
    return sequence.map { CommitPosition(history: id, sequence: $0) }
  }

  // MARK: Pins

  /// Begins to follow at the snapshot that `snapshot` takes.
  func pin<Snapshot: Sendable>(
    _ snapshot: () throws(StorageError) -> (Snapshot, CSN)
  ) throws(StorageError) -> (Snapshot, id: Int, position: CommitPosition) {
    let outcome: Result<(Snapshot, Int, CommitPosition), StorageError> = state.withLock { state in
      do throws(StorageError) {
        // Inside the latch: no commit can come between the snapshot and the place to go on from.
        let (snapshot, csn) = try snapshot()
        state.nextID += 1
        let position = state.position(at: csn)
        state.pins[state.nextID] = position
        return .success((snapshot, state.nextID, CommitPosition(history: self.id, sequence: position)))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Moves a pin to the snapshot that `snapshot` takes. Returns where it was and is, and the commits in between. Calls
  /// nobody: the caller tells of what was missed.
  ///
  /// - Parameter tellsSilent: whether those are among them by which nothing but extensions changed.
  func advance<Snapshot: Sendable>(
    _ id: Int, tellsSilent: Bool, _ snapshot: () throws(StorageError) -> (Snapshot, CSN)
  ) throws(StorageError) -> (Snapshot, from: CommitPosition, to: CommitPosition, [PlacedCommit]) {
    let outcome: Result<(Snapshot, Int, Int, [PlacedCommit]), StorageError> = state.withLock { state in
      do throws(StorageError) {
        let (snapshot, csn) = try snapshot()
        let position = state.pins[id] ?? state.lastSequence
        let end = state.position(at: csn)
        var commits: [PlacedCommit] = []
        if position < state.firstSequence - 1 {
          commits.append(PlacedCommit(sequence: state.firstSequence - 1, commit: .unknown(upTo: csn)))
        }
        commits += state.entries.lazy.filter {
          $0.sequence > position && $0.sequence <= end && (tellsSilent || !$0.commit.isSilent)
        }
        assert(
          commits.dropFirst().allSatisfy { $0.sequence > position && $0.sequence <= end },
          "a pin goes past commits twice")
        state.pins[id] = max(position, end)
        return .success((snapshot, position, max(position, end), commits))
      } catch {
        return .failure(error)
      }
    }
    let (snapshot, from, to, commits) = try outcome.get()
    func place(_ sequence: Int) -> CommitPosition { CommitPosition(history: self.id, sequence: sequence) }
    return (snapshot, place(from), place(to), commits)
  }

  /// Tells that a pin has missed commits.
  func logMissedByPin() { logMissed("pin") }

  /// Ends a pin.
  func unpin(_ id: Int) { state.withLock { state in state.pins[id] = nil } }

  // MARK: Observers

  /// Begins to keep commits from what readers see now on. Returns the pin's number.
  func beginFollowing(published: () -> CSN) -> Int {
    state.withLock { state in
      state.nextID += 1
      state.pins[state.nextID] = state.position(at: published())
      return state.nextID
    }
  }

  /// What readers see by now and a pin has not taken yet, silent commits included; the pin moves on.
  func take(_ id: Int, published: () -> CSN) -> [Commit] {
    let commits = state.withLock { state -> [Commit] in
      // Nobody follows any more.
      guard let position = state.pins[id] else { return [] }
      let published = published()
      let end = state.position(at: published)
      guard end > position else { return [] }
      state.pins[id] = end
      let missed = position < state.firstSequence - 1 ? [Commit.unknown(upTo: published)] : []
      return missed + state.commits(after: position, upTo: end)
    }
    if commits.first?.changes.isUnknown == true { logMissed("observer") }
    return commits
  }

  // MARK: Streams

  /// Adds to `buffer` what is published from now on.
  func follow(_ buffer: CommitBuffer, tells: CommitStream.Silent, published: () -> CSN) -> Int {
    state.withLock { state in
      state.nextID += 1
      // Nobody waits for a new one yet.
      if state.isClosed || state.failure != nil { _ = buffer.finish(state.failure) }
      state.streams[state.nextID] = Stream(
        position: state.position(at: published()), buffer: buffer, tells: tells)
      return state.nextID
    }
  }

  /// Ends a stream.
  func unfollow(_ id: Int) { state.withLock { state in state.streams[id] = nil } }

  /// Ends all streams: nothing will follow.
  func close() {
    let resumptions = state.withLock { state in
      state.isClosed = true
      return state.streams.values.compactMap { $0.buffer.finish() }
    }
    for resume in resumptions { resume() }
  }

  /// The database cannot be written any more: streams end with the reason.
  func fail(_ error: DatabaseError) {
    let (isFirst, resumptions) = state.withLock { state -> (Bool, [CommitBuffer.Resumption]) in
      defer { state.failure = error }
      return (state.failure == nil, state.streams.values.compactMap { $0.buffer.finish(error) })
    }
    for resume in resumptions { resume() }
    if isFirst {
      logger?.critical(
        "Writing has stopped after a failure of the disk. Open the database again.", metadata: ["error": "\(error)"])
    }
  }

  /// The file was opened again after a suspension, and its newest commit is `csn`: what had stopped writing has not
  /// stopped what follows, and what the disk has not kept is no commit.
  func revive(at csn: CSN) {
    let lost = state.withLock { state -> [PlacedCommit] in
      state.failure = nil
      let lost = state.entries.filter { $0.commit.csn > csn }
      state.entries.removeLast(lost.count)
      state.lastSequence -= lost.count
      state.byteCount -= lost.reduce(0) { $0 + $1.commit.byteCount }
      return Array(lost)
    }
    withExtendedLifetime(lost) {}
  }

  /// Throws if an invariant is broken.
  func checkInvariants() throws(DatabaseError) {
    let isSound = state.withLock { state -> Bool in
      let entries = state.entries
      let inOrder = zip(entries, entries.dropFirst()).allSatisfy {
        $0.sequence + 1 == $1.sequence && $0.commit.csn <= $1.commit.csn
      }
      return inOrder && (entries.last.map { $0.sequence == state.lastSequence } ?? true)
        && state.byteCount == entries.reduce(0) { $0 + $1.commit.byteCount }
        && state.streams.values.allSatisfy { $0.position <= state.lastSequence }
    }
    guard isSound else { throw DatabaseError(.damagedRow, "Invariant 1: the commit history is out of order.") }
  }
}
