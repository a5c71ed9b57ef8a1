// Long-lived reads.

public import QuireStorage
internal import Synchronization

/// A snapshot that stays where it is until it is told to advance: what a screen shows.
///
/// ```swift
/// let screen = try db.pin()
/// let commits = try screen.advance()
/// ```
///
/// Costs what later commits replace of the pages that it sees; neither writers nor checkpoints wait for it, however
/// long it is held. May be used from any thread, by several at once; a read that runs while another thread advances
/// goes on in its own snapshot. Ends when the object goes.
///
/// While the database is suspended nothing can be read. Afterwards a pin of the newest commit shows it still, if nobody
/// else has written; any other one throws `snapshotGone` until it advances. See ``Database/suspend(timeout:)-2hsxo``.
public final class PinnedSnapshot: Sendable {
  private let core: DatabaseCore
  private let id: Int
  private let site: CallSite
  /// Says which snapshot is held.
  private let holder: SnapshotHolder
  private let current: Latch<Current>

  /// A snapshot, and what is known of its collections and of the commits that it has come past.
  ///
  /// Invariant: `touches` are the commits behind `touchStart`, in order, that the pin has gone past without leaving the
  /// snapshot, and take at most `Limits.historyByteCount` together.
  private struct Current {
    /// Nil if it went with a suspension.
    var snapshot: QuireStorage.PinnedSnapshot?
    let csn: CSN
    let collections = CollectionTable.Pinned()
    var position: CommitPosition
    var touches: [PlacedCommit] = []
    var touchStart: Int

    init(_ snapshot: QuireStorage.PinnedSnapshot, _ position: CommitPosition) {
      self.snapshot = snapshot
      csn = snapshot.csn
      self.position = position
      touchStart = position.sequence
    }

    /// Goes past commits that only touched rows.
    mutating func pass(_ commits: [PlacedCommit], upTo end: CommitPosition) {
      assert(end.history == position.history && end.sequence >= position.sequence, "a pin goes back")
      position = end
      touches += commits
      assert(
        zip(touches, touches.dropFirst()).allSatisfy { $0.sequence < $1.sequence }, "a pin has gone past commits twice")
      guard touches.reduce(0, { $0 + $1.commit.byteCount }) > Limits.historyByteCount else { return }
      (touches, touchStart) = ([], position.sequence)
    }
  }

  init(_ core: DatabaseCore, _ site: CallSite) throws(DatabaseError) {
    self.core = core
    self.site = site
    do throws(StorageError) {
      let (snapshot, id, position) = try core.history.pin { () throws(StorageError) in
        let snapshot = try core.engine.pin()
        return (snapshot, snapshot.csn)
      }
      self.id = id
      current = Latch(Current(snapshot, position))
      holder = core.holders.add()
      holder.hold(snapshot.csn, .pin, site, .none)
    } catch {
      throw DatabaseError(error)
    }
    core.suspension.add(self, id)
  }

  deinit {
    core.suspension.remove(id)
    core.history.unpin(id)
    core.holders.remove(holder)
  }

  /// The commit that it shows.
  public var csn: CSN { current.withLock { $0.csn } }

  /// Runs `body` on the snapshot. May be called inside other transactions too: it waits for nobody.
  ///
  /// - Throws: `suspended`, `snapshotGone`, what `body` throws, and what went wrong in a call of `body`'s that could
  ///   not throw.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    try read(in: current.withLock { $0 }, body)
  }

  /// Runs `body` on the snapshot as it is at the call, on a thread of the database's: whichever of those that read is
  /// idle takes the next read. A task that is cancelled before gets a `CancellationError`, and `body` does not run.
  ///
  /// - Throws: as the form above, and `limitReached` if the system gives no thread.
  @concurrent
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    let taken = current.withLock { $0 }
    let job = PlainJob<Result> { [self] _ in try read(in: taken, body) }
    return try await job.result {
      try core.wrapping { () throws(StorageError) in try core.storage.threads.runReader { job.run() } }
    }
  }

  /// The same, noting what is read.
  func read<Result>(noting recorder: ReadRecorder, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    try read(in: current.withLock { $0 }, noting: recorder, body)
  }

  /// Those who want to know what commits change.
  var observers: ObservationHub { core.observers }

  private func read<Result>(
    in current: Current, noting recorder: ReadRecorder? = nil, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    guard let snapshot = current.snapshot else { throw goneError() }
    let scratch: TransactionScratch
    do throws(StorageError) { scratch = try core.takeScratch(for: try snapshot.beginRead()) } catch {
      throw error.code == .suspended && core.suspension.suspendedCSN == nil && !snapshot.isOf(core.engine)
        ? goneError() : DatabaseError(error)
    }
    let state = TransactionState(
      reading: scratch, core, nil, outer: CurrentTransaction.innermost, pinned: current.collections,
      recorder: recorder)
    state.position = current.position
    return try withExtendedLifetime(snapshot) {
      try core.run(state, "read of a pinned snapshot", site, isPinned: true, body)
    }
  }

  /// Goes on to the newest snapshot. Returns the commits in between, in their order; empty if there were none.
  ///
  /// Commits are kept for a pin that lags behind as long as they take less than 64 MiB together; the ones that had to
  /// go are replaced by one whose changes are `isUnknown`.
  ///
  /// - Throws: `closed`.
  @discardableResult
  public func advance() throws(DatabaseError) -> [Commit] { try takeStep().step.commits }

  /// The same, with the commits by which nothing but extensions changed.
  ///
  /// - Throws: `closed`.
  public func advanceTellingAll() throws(DatabaseError) -> [Commit] { try takeStep(tellsSilent: true).step.commits }

  /// Goes on to the newest snapshot, and runs `body` with the step and a read of the snapshot that it has led to: also
  /// if another thread takes the next step in the meantime. The pin goes on also if `body` throws.
  ///
  /// - Throws: as `advance()` and `read(_:)`.
  public func advance<Result>(reading body: (PinnedStep, ReadTransaction) throws -> Result) throws -> Result {
    let (step, taken) = try takeStep()
    return try read(in: taken) { tx in try body(step, tx) }
  }

  private func goneError() -> DatabaseError {
    DatabaseError(
      .snapshotGone,
      """
      The snapshot of \(csn) went as the database was suspended: another process may have written over it. Call \
      advance(), and read afresh.
      """, path: core.path)
  }

  /// Takes a step; returns it and what it has led to.
  private func takeStep(tellsSilent: Bool = false) throws(DatabaseError) -> (step: PinnedStep, Current) {
    let outcome = current.withLock { current -> Result<(PinnedStep, Current), StorageError> in
      do throws(StorageError) {
        // Inside the lock, so that steps follow each other here as they do in the history.
        let (next, start, end, commits) = try core.history.advance(id, tellsSilent: tellsSilent) {
          () throws(StorageError) in
          let next = try core.engine.pin()
          return (next, next.csn)
        }
        let step = PinnedStep(
          start: start, end: end, passed: commits, earlier: current.touches, earlierStart: current.touchStart)
        assert(next.csn >= current.csn && start == current.position, "a pin goes on from elsewhere")
        if next.csn > current.csn || current.snapshot == nil {
          current = Current(next, end)
          holder.advance(to: next.csn)
        } else {
          current.pass(commits, upTo: end)
        }
        return .success((step, current))
      } catch {
        return .failure(error)
      }
    }
    do throws(StorageError) {
      let (step, taken) = try outcome.get()
      if step.passed.first?.commit.changes.isUnknown == true { core.history.logMissedByPin() }
      return (step, taken)
    } catch {
      throw DatabaseError(error)
    }
  }
}

extension PinnedSnapshot: SuspendedPin {
  func move(to engine: StorageEngine) {
    // What goes may be the last of the former engine: not under the latch.
    let former = current.withLock { current -> QuireStorage.PinnedSnapshot? in
      let former = current.snapshot
      // Without a slot for it there is nothing to show either.
      let next = try? engine.pin()
      current.snapshot = next.flatMap { former != nil && $0.csn == current.csn ? $0 : nil }
      return former
    }
    withExtendedLifetime(former) {}
  }
}
