// What a write transaction asks of the engine around it.

/// The engine, as the context of its write transaction sees it. All of this is called on the thread that holds the
/// writer lock, between two operations of the running transaction.
///
/// No function borrows a permit: the context is reached through the transaction that the user's closure was lent, and
/// holds none between two operations. The engine looks instead whether the thread holds the lock: see
/// `WriterLock.withHeld`.
package protocol WriteHost: AnyObject {
  /// Where temporary files go.
  var fileSystem: any FileSystem { get }

  /// Throws if writing has stopped for good, or in a forked child: asked before anything is written ahead of a commit.
  func checkCanWrite() throws(StorageError)

  /// Writes dirty pages home until there are few enough.
  ///
  /// - Throws: `failStop`, `diskFull`, `inputOutput`. The operation has done nothing; the transaction can only be
  ///   rolled back.
  func makeRoom() throws(StorageError)

  /// Hands the pages that a load has completed to the disk.
  ///
  /// - Throws: what `makeRoom` throws.
  func writePagesAhead() throws(StorageError)

  /// Makes sure that `count` places can be taken beside those that the next checkpoint needs.
  ///
  /// - Parameter isWrittenNow: whether they are written at once, and not by a checkpoint.
  /// - Returns: whether they are certain to have blocks.
  /// - Throws: `diskFull`, `inputOutput`: nothing of the transaction has been logged.
  func reservePlaces(forExtent count: Int, isWrittenNow: Bool) throws(StorageError) -> Bool

  /// Appends the body of the transaction's record to the log as a part.
  ///
  /// - Returns: false if that cannot be; the record is then given up.
  func appendPart() -> Bool
}
