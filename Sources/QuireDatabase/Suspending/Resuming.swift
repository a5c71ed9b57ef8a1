// Finding the file of a suspended database again.

internal import Logging
internal import QuireStorage

/// One call that takes the file of a database again.
struct Resuming {
  let core: DatabaseCore

  /// Takes the file again; see `Database.resume`.
  func run() throws -> Bool {
    if core.environment == nil { return false }
    var result: Result<Bool, any Error> = .success(false)
    try core.suspension.inTurn(core) { () throws(DatabaseError) in result = Result { try resumeAlone() } }
    return try result.get()
  }

  private func resumeAlone() throws -> Bool {
    guard let csn = core.suspension.suspendedCSN else {
      try core.wrapping { () throws(StorageError) in try core.storage.checkOpen() }
      return false
    }
    let old = core.engine
    let next = try reopen(old)
    let news: FileNews
    do throws(DatabaseError) { news = try look(at: next, old, since: csn) } catch {
      giveUp(next)
      throw error
    }
    guard let known = adopt(next, news, since: csn) else {
      giveUp(next)
      throw DatabaseError(.closed, "The database was closed. Open it again.", path: core.path)
    }
    withExtendedLifetime(old) {}
    core.suspension.end()
    tell(news)
    core.deliver()
    // Somebody may have closed it by now.
    try core.wrapping { () throws(StorageError) in try next.core.checkOpen() }
    try ExtensionRenewal(core: core).register(known)
    return news.isChanged
  }

  // MARK: Finding the file

  /// What a resumption has found in the file.
  private struct FileNews {
    /// Whether there are commits that nobody here has seen.
    let isChanged: Bool
    /// Whether what is known of the file has to be found anew: for that reason, or as it may have been made of a commit
    /// that the disk has not kept.
    let isUncertain: Bool
    /// The feeds, if so.
    let feeds: FeedSet?
  }

  private func reopen(_ old: StorageEngine) throws(DatabaseError) -> StorageEngine {
    var options = core.options.storage
    // What has gone is not made anew.
    options.createsIfMissing = false
    do throws(StorageError) {
      return try StorageEngine(
        at: old.core.file.path, options: options, environment: core.environment ?? StorageEnvironment())
    } catch { throw DatabaseError(error) }
  }

  /// Looks whether the file is ours, and what others have made of it.
  private func look(
    at next: StorageEngine, _ old: StorageEngine, since csn: CSN
  ) throws(DatabaseError) -> FileNews {
    let found = next.core.slots.newest.csn
    guard next.core.databaseID == old.core.databaseID, found >= csn else {
      throw DatabaseError(
        .fileChanged,
        """
        The file is another one than before the suspension, or an older state of it: \(csn) was seen, and the newest \
        commit is \(found). Put the file back and resume, or close the database and open it anew.
        """, path: core.path)
    }
    let isChanged = found > csn
    guard isChanged || old.core.queue.hasStopped else {
      return FileNews(isChanged: false, isUncertain: false, feeds: nil)
    }
    let trees = try DatabaseCore.openTrees(next, core.path)
    let names = try DatabaseCore.findNames(next, core.trees, core.path, core.options)
    guard trees.isSame(as: core.trees), names.aliases == core.aliases else {
      throw DatabaseError(
        .fileChanged,
        """
        The trees of the file, or the names of its collections, are others than before the suspension. Close the \
        database and open it anew.
        """, path: core.path)
    }
    return FileNews(isChanged: isChanged, isUncertain: true, feeds: names.feeds)
  }

  /// Puts the engine in its place. Nobody else is let in before this returns.
  ///
  /// - Returns: the extensions that were registered and are to be told, or registered again; nil if the database was
  ///   closed meanwhile.
  private func adopt(_ next: StorageEngine, _ news: FileNews, since csn: CSN) -> [RenewedExtension]? {
    let newest = next.core.slots.newest.csn
    core.history.revive(at: newest)
    core.observers.revive()
    var known: [RenewedExtension] = []
    if news.isUncertain {
      // Before anybody can pin what it stands for.
      let scope = CommitScope(isTouchOnly: newest == csn)
      core.history.append(Commit(csn: newest, changes: .unknown, info: nil, scope: scope), published: csn)
    }
    guard core.replace(with: next) else { return nil }
    if news.isUncertain {
      core.forgetFile(news.feeds, csn: newest)
      known = ExtensionRenewal(core: core).renew(csn: newest)
    }
    for pin in core.suspension.pins { pin.move(to: next) }
    core.endReplacing()
    return known
  }

  /// Closes an engine that is not wanted, and leaves the file as it is.
  private func giveUp(_ next: StorageEngine) {
    // What fails here the next opening meets.
    do throws(StorageError) { try next.core.suspend(until: nil) } catch {}
  }

  private func tell(_ news: FileNews) {
    guard news.isChanged else { return }
    CallOut.check()
    core.options.logger?.notice(
      "The file has changed while the database was suspended. What was known of it is found anew.",
      metadata: ["path": "\(core.path)"])
  }
}

extension DatabaseTrees {
  /// Whether the trees are the same ones, wherever they stand in their list.
  fileprivate func isSame(as other: DatabaseTrees) -> Bool {
    rows.id == other.rows.id && keys.id == other.keys.id && collections.id == other.collections.id
      && info.id == other.info.id
  }
}
