// What writers of full texts have in common, and how readers of their transactions see all of it.

internal import QuireDatabase

/// What follows a write transaction for a full text of any kind.
protocol TextKeeping: AnyObject {
  /// What gathers postings, and stores them.
  var upkeep: FullTextUpkeep { get }
}

extension FullTextTrees {
  /// Stores what a write transaction has gathered so far, so that a search finds it. Returns whether it is a write
  /// transaction.
  @discardableResult
  func storeGathered() throws -> Bool {
    guard store.writeTransaction != nil else { return false }
    for writer in try store.writers(as: (any TextKeeping).self)
    where writer.upkeep.trees.store.name.utf8.elementsEqual(store.name.utf8) {
      try writer.upkeep.flush()
    }
    return true
  }
}
