// Whether the meta page before the newest could still serve, and hence which of the two the next one may overwrite.

/// Judges a meta page that is not proven durable.
///
/// After a failed sync the page cache shows a meta page that the disk may not have. If its predecessor and the log
/// after that lead to the same state, the next meta page goes over the unproven one: whatever a crash leaves then, one
/// whole page remains. If they lead to all of it but the transaction that has committed with it, nobody knows whether
/// that was acknowledged: the page is then made durable as it is before anything else is written. If they do not lead
/// there, the newest page must have been durable, or what it adds was never acknowledged: its predecessor's log is
/// recycled only after the newest page's sync, and after a clean close logs are not needed at all.
struct Fallback {
  /// How far the predecessor leads.
  enum Reach {
    /// Not to what the newest page was built on.
    case none
    /// To what the newest page was built on, but not to the commit by checkpoint that it is.
    case allButItsCommit
    /// To the state of the newest page, or beyond.
    case all
  }

  let meta: MetaFile
  let logFiles: LogFiles

  /// How far the predecessor leads. Reads the predecessor's log, if it has one.
  ///
  /// There may be a gap between their numbers, where the newest page has replaced an unproven one in its slot: all the
  /// more the predecessor must stay. Its pages are there as long as nothing after it is proven, and its log tells by
  /// itself whether it still reaches as far.
  ///
  /// - Throws: `inputOutput` if that cannot be found out now. It must not count as no: the slot chosen for that answer
  ///   is the wrong one if the true answer is yes.
  func reach() throws(StorageError) -> Reach {
    guard let predecessor = meta.predecessor else { return .none }
    if predecessor.isComplete { return reach(of: predecessor.csn) }
    var files: [any File] = []
    defer { for file in files { file.close() } }
    do throws(StorageError) {
      for segment in predecessor.segments { files.append(try logFiles.open(segment, .readOnly)) }
      let reader = try LogReader(predecessor, files: files)
      let scan = try reader.scan()
      try reader.checkTestimony(scan, path: logFiles.databasePath)
      return reach(of: scan.endCSN)
    } catch {
      if error.code == .inputOutput { throw error }
      return .none
    }
  }

  private func reach(of csn: CSN) -> Reach {
    if csn >= meta.current.csn { return .all }
    return csn >= meta.current.loggedCSN ? .allButItsCommit : .none
  }
}

extension EngineCore {
  /// Decides, before the first meta page after an opening, which slot it goes to.
  ///
  /// An unproven page that must not be lost is written over itself: if the disk has it, a torn write changes nothing;
  /// if it has not, nobody was told that its commit is there, and its predecessor still stands.
  func chooseMetaSlot() throws(StorageError) {
    guard !meta.isProven else { return }
    switch try Fallback(meta: meta, logFiles: logFiles).reach() {
    case .none: break
    case .all: meta.nextSlot = meta.slot
    case .allButItsCommit:
      meta.nextSlot = meta.slot
      try writeMeta(meta.current)
    }
  }
}
