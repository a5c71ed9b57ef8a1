// Whether commits have changed what was read in a pinned snapshot.

/// What one read of a pinned snapshot has read: says of commits whether they may have changed it.
///
/// What counts as read is what does so in ``Database/observe(fileID:line:_:)``. While this lives, transactions that
/// begin note which parts of extensions' trees they change; of an extension that one has changed without a note, all
/// counts as changed.
public final class FollowedReads: Sendable {
  private let reads: ReadSet
  private let hub: ObservationHub

  /// Takes over from who has begun to follow.
  fileprivate init(_ reads: ReadSet, _ hub: ObservationHub) { (self.reads, self.hub) = (reads, hub) }

  deinit { hub.endFollowing() }

  /// Whether one of the commits may have changed what was read. To be asked about all commits behind the snapshot that
  /// was read, also those by which nothing but extensions changed: ``PinnedSnapshot/advanceTellingAll()`` gives them.
  public func areChanged(by commits: [Commit]) -> Bool { commits.contains(where: reads.isConcerned) }
}

extension PinnedSnapshot {
  /// Runs `body` on the snapshot as `read(_:)` does, and returns what it has read as well.
  ///
  /// - Throws: as `read(_:)`.
  public func followingRead<Result>(
    _ body: (ReadTransaction) throws -> Result
  ) throws -> (Result, FollowedReads) {
    let hub = observers
    // Before the read: what is committed from now on is told apart.
    hub.beginFollowing()
    do {
      let recorder = ReadRecorder()
      let (result, opened) = try read(noting: recorder) { tx in
        (try body(tx), tx.state.collections.all.map(\.name))
      }
      return (result, FollowedReads(recorder.finish(opened: opened), hub))
    } catch {
      hub.endFollowing()
      throw error
    }
  }
}
