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
public final class PinnedSnapshot: Sendable {
  private let core: DatabaseCore
  private let id: Int
  private let site: CallSite
  /// Says which snapshot is held.
  private let holder: SnapshotHolder
  private let current: Latch<Current>

  /// A snapshot, and what is known of its collections.
  private struct Current {
    let snapshot: QuireStorage.PinnedSnapshot
    let collections = PinnedCollections()
  }

  init(_ core: DatabaseCore, _ site: CallSite) throws(DatabaseError) {
    self.core = core
    self.site = site
    do throws(StorageError) {
      let (snapshot, id) = try core.history.pin { () throws(StorageError) in
        let snapshot = try core.engine.pin()
        return (snapshot, snapshot.csn)
      }
      self.id = id
      current = Latch(Current(snapshot: snapshot))
      holder = core.holders.add()
      holder.hold(snapshot.csn, .pin, site, .none)
    } catch {
      throw DatabaseError(error)
    }
  }

  deinit {
    core.history.unpin(id)
    core.holders.remove(holder)
  }

  /// The commit that it shows.
  public var csn: CSN { current.withLock { $0.snapshot.csn } }

  /// Runs `body` on the snapshot. May be called inside other transactions too: it waits for nobody.
  ///
  /// - Throws: what `body` throws, and what went wrong in a call of `body`'s that could not throw.
  public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
    let current = current.withLock { $0 }
    let reading: QuireStorage.ReadTransaction
    do throws(StorageError) { reading = try current.snapshot.beginRead() } catch { throw DatabaseError(error) }
    let state = TransactionState(
      reading: reading, core, nil, outer: CurrentTransaction.innermost, pinned: current.collections)
    return try withExtendedLifetime(current.snapshot) {
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
  public func advance() throws(DatabaseError) -> [Commit] {
    do throws(StorageError) {
      let (next, commits) = try core.history.advance(id) { () throws(StorageError) in
        let next = try core.engine.pin()
        return (next, next.csn)
      }
      current.withLock { current in
        // Two threads that advance at once: the newer snapshot stays.
        guard next.csn > current.snapshot.csn else { return }
        current = Current(snapshot: next)
        holder.advance(to: next.csn)
      }
      return commits
    } catch {
      throw DatabaseError(error)
    }
  }
}
