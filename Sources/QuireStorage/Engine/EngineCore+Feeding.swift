// What a change feed asks of the engine: who the database is, dice, and the state that a running transaction builds on.

extension EngineCore {
  /// The identity of the database, which backups do not share and copies of the file do.
  package var databaseID: DatabaseID { resources.logFiles.databaseID }

  /// Random bits, from where the identity of a new database comes.
  package func drawRandom() -> UInt64 { environment.random() }

  /// A transaction on the state that the running write transaction builds on, which readers may not see yet. Only for
  /// the thread that runs that transaction, and not beyond its end.
  ///
  /// - Throws: `limitReached` if there are as many readers as there can be.
  package func beginReadAtHead() throws(StorageError) -> ReadTransaction {
    assert(writerLock.isHeldByThisThread, "the newest state is read without the writer lock")
    let snapshot = commitHead.snapshot
    // The writer lock protects the snapshot until the announcement does.
    let slot = try slots.announce(snapshot.csn)
    return ReadTransaction(slots, reader, slot: slot, snapshot: snapshot)
  }
}
