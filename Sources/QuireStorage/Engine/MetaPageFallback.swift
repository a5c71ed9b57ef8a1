// Whether the meta page before the newest could still serve, and hence which of the two the next one may overwrite.

/// Judges a meta page that is not proven durable.
///
/// After a failed sync the page cache shows a meta page that the disk may not have. If its predecessor and the log
/// after that lead to the same state, the next meta page goes over the unproven one: whatever a crash leaves then, one
/// whole page remains. If they do not, the newest page must have been durable, or what it adds was never acknowledged:
/// its predecessor's log is recycled only after the newest page's sync, and after a clean close logs are not needed at
/// all.
struct MetaPageFallback {
  let meta: MetaPages
  let logFiles: LogFiles

  /// Whether the predecessor leads to the state of the newest page. Reads the predecessor's log, if it has one.
  ///
  /// There may be a gap between their numbers, where the newest page has replaced an unproven one in its slot: all the
  /// more the predecessor must stay. Its pages are there as long as nothing after it is proven, and its log tells by
  /// itself whether it still reaches as far.
  ///
  /// - Throws: `inputOutput` if that cannot be found out now. It must not count as no: the slot chosen for that answer
  ///   is the wrong one if the true answer is yes.
  func isUsable() throws(StorageError) -> Bool {
    guard let predecessor = meta.predecessor else { return false }
    if predecessor.isComplete { return predecessor.csn >= meta.current.loggedCSN }
    var files: [any File] = []
    defer { for file in files { file.close() } }
    do throws(StorageError) {
      for segment in predecessor.segments { files.append(try logFiles.open(segment, .readOnly)) }
      let reader = try LogReader(predecessor, files: files)
      let scan = try reader.scan()
      try reader.checkMarks(scan, path: logFiles.databasePath)
      return scan.endCSN >= meta.current.loggedCSN
    } catch {
      if error.code == .inputOutput { throw error }
      return false
    }
  }

  /// Decides, before the first meta page after an opening, which slot it goes to.
  ///
  /// - Throws: `inputOutput`.
  func chooseMetaSlot() throws(StorageError) {
    guard !meta.isProven else { return }
    if try isUsable() { meta.nextSlot = meta.slot }
  }
}
