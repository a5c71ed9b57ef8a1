// Checking that the entries of change feeds follow each other, and tell what they say.

internal import QuireStorage

extension DatabaseCore {
  /// Throws at the first thing that is wrong with a feed of a snapshot. O(entries).
  ///
  /// What holds of every feed:
  /// 1. The first entry follows the base of the record, and each other one the entry before: by its chain, its number
  ///    and its totals. Times may go back, where a clock was set.
  /// 2. An entry has as many changes as it says, and the forms of their values are there.
  ///
  /// - Parameters:
  ///   - step: called every 256 entries; what it throws ends the look.
  ///   - report: gets what is wrong with one feed; if it returns, the others are looked at.
  func verifyFeeds(
    _ tx: borrowing QuireStorage.ReadTransaction, step: () throws -> Void = {},
    _ report: (DatabaseError) throws -> Void = { throw $0 }
  ) throws {
    for name in tx.treeNames where FeedKeys.feedName(name) != nil {
      guard let tree = tx.tree(named: name) else { continue }
      do { try verifyFeed(name, tree, tx, step) } catch let error as DatabaseError { try report(error) }
    }
  }

  private func verifyFeed(
    _ name: String, _ tree: Tree, _ tx: borrowing QuireStorage.ReadTransaction, _ step: () throws -> Void
  ) throws {
    var reader = FeedTree(try tx.cursor(tree))
    guard let record = try reader.record() else { throw FeedEntryHead.damaged("“\(name)” has no record.") }
    let forms = try reader.forms()
    var last = record.base
    var isOnEntry = try reader.seek(behind: last.position)
    var steps = SearchSteps()
    while isOnEntry {
      try steps.count(step)
      let entry = try reader.entry()
      guard entry.head.previousChain == last.position.chain, last.position.isBefore(entry.mark.position),
        entry.mark.position.csn <= tx.csn.rawValue, entry.mark.bytes > last.bytes,
        entry.mark.changes == last.changes &+ UInt64(entry.head.changeCount),
        entry.mark.commits == last.commits &+ (entry.mark.position.part == 0 ? 1 : 0)
      else { throw FeedEntryHead.damaged("In “\(name)” commit \(entry.mark.position.csn) does not follow.") }
      try entry.forEach { item in
        guard case .row(_, let collection, _, _, let new, let old) = item, new != nil || old != nil else { return }
        guard let form = collection.form, forms.contains(form) else {
          throw FeedEntryHead.damaged("In “\(name)” the form of the values of “\(collection.name)” is missing.")
        }
      }
      last = entry.mark
      isOnEntry = try reader.next()
    }
  }
}
