// Closing a database.

internal import QuireStorage

/// One call that closes a database.
struct Closing {
  let core: DatabaseCore

  /// Closes the engine, whichever it is by then; see `Database.close`.
  func run() throws(DatabaseError) {
    core.reportLastMetrics()
    core.closing.run()
    defer { core.closing.run() }
    while true {
      let engine = core.engine
      var failure: StorageError?
      do throws(StorageError) { try engine.close() } catch { failure = error }
      if let failure, failure.code == .inUse || engine.core.isOpen { throw DatabaseError(failure) }
      // If one that was suspended got a successor meanwhile, that is to be closed.
      guard core.end(with: engine) else { continue }
      endFollowing()
      if let failure { throw DatabaseError(failure) }
      return
    }
  }

  /// Nothing will follow: tells those who wait for it.
  private func endFollowing() {
    core.suspension.close(core.path)
    core.history.close()
    core.observers.close()
  }
}
