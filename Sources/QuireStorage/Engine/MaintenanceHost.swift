// What maintenance asks of the engine around it.

/// The engine, as maintenance sees it: it does its work in transactions, which components do not have.
package protocol MaintenanceHost: AnyObject {
  /// Runs `body` as a transaction that changes no content, and appends it as a commit that nobody waits for. If `body`
  /// returns false or throws, nothing remains of it.
  func rearrange(
    _ body: (WriteContext, borrowing WriterPermit) throws(StorageError) -> Bool
  ) throws(StorageError)

  /// Makes sure that `count` places can be taken beside those that the next checkpoint needs; see `WriteHost`.
  func reservePlaces(forExtent count: Int, isWrittenNow: Bool) throws(StorageError) -> Bool
}
