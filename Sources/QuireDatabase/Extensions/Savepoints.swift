// Parts of a write transaction that can be undone, with what extensions have gathered in them.

internal import QuireStorage

extension WriteTransaction {
  /// Runs `body`; if it throws, undoes what it did and rethrows, and the transaction goes on as before. May be nested.
  ///
  /// Undone are rows, reported changes, `onCommit` actions and `commitInfo`; row ids are not given again.
  @discardableResult
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    try state.checkWriting()
    return try state.undoable(body)
  }
}

extension TransactionState {
  /// Runs `body`; if it throws, everything it did is undone: rows, changes, actions, the commit's info, new collections
  /// and fields. The ids that were given are not given again.
  fileprivate func undoable<Result>(_ body: () throws -> Result) throws -> Result {
    guard let writer else { throw notWriting() }
    // Taking fields back would leave the row that is being encoded with fields that have no name.
    guard encodingCount == 0 else { throw savepointInCoder() }
    // Writers must be older than the savepoint, or it would take their trees away from them.
    let session = try session()
    let extensionMarks = session?.makeMarks()
    let (forest, hasChangedForest, newRegistered) = (loadedForest, writer.hasChangedForest, writer.newRegistered)
    let changes = unsafe writer.changes.position
    let actionCount = writer.actions.count
    let rollbackActionCount = writer.rollbackActions.count
    let commitInfo = writer.commitInfo
    let marks = collections.all.map(\.mark)
    do {
      return try savepoint {
        let result: Result
        do { result = try body() } catch { throw ClosureError(error: error) }
        // What could not throw inside belongs to the savepoint, and undoes it.
        try check()
        return result
      }
    } catch {
      assert(
        writer.actions.count >= actionCount && writer.rollbackActions.count >= rollbackActionCount
          && collections.all.count >= marks.count, "what a transaction had before a savepoint is gone")
      unsafe writer.changes.truncate(to: changes)
      writer.actions.removeLast(writer.actions.count - actionCount)
      writer.undoneActions += writer.rollbackActions[rollbackActionCount...]
      writer.rollbackActions.removeLast(writer.rollbackActions.count - rollbackActionCount)
      writer.commitInfo = commitInfo
      for (index, collection) in collections.all.enumerated() {
        collection.restore(index < marks.count ? marks[index] : nil)
      }
      collections.forgetNames()
      unsafe lastUsed = nil
      // Changes of the forest need their number, unless it is as it was before all of them.
      loadedForest = hasChangedForest ? forest : nil
      writer.hasChangedForest = hasChangedForest
      writer.newRegistered = newRegistered
      pendingError = nil
      mutationCount &+= 1
      if let extensionMarks { session?.restore(extensionMarks) }
      if let error = error as? ClosureError { throw error.error }
      throw wrap(error)
    }
  }

  private func savepointInCoder() -> DatabaseError {
    DatabaseError(
      .transactionFailed, "A savepoint was to begin while a row was being encoded. Begin it outside of coders.",
      path: database.path)
  }
}
