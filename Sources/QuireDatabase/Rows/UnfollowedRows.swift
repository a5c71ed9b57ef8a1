// Removing rows together that no extension hears of but the one that removes them.

internal import QuireStorage

extension ExtensionStore {
  /// Removes rows that no other extension follows, without a call of any hook: the first ones of `rowIDs`, up to one
  /// that another extension follows. Costs less than as many removals: rows that are neighbours go together.
  ///
  /// - Parameter rowIDs: in the order in which the removals are noted.
  /// - Returns: how many of `rowIDs` are done with, and those of them that were there, whose ids ascend. None are done
  ///   with if the first one has to be removed by a call of its own: another extension follows its collection, or this
  ///   one does not, or somebody is still to hear of a change that was made before.
  /// - Throws: `transactionFailed` while trees are settled; `damagedRow` if no key leads to one of the rows;
  ///   `damagedPage`, `inputOutput`, `diskFull`. The transaction cannot be committed then if a row has been removed.
  public func removeUnfollowedRows(_ rowIDs: ArraySlice<RowID>) throws -> (doneCount: Int, removed: [RowID]) {
    try state.checkWriting()
    return try RowRemoval(state).removeUnfollowed(rowIDs, by: id)
  }

  /// Whether rows may still be changed in this transaction: trees are not being settled yet.
  public var mayChangeRows: Bool { get throws { try state.session()?.phase != .trees } }

  /// Whether there is a row of an id. Touches one page per level of the row tree.
  public func hasRow(_ rowID: RowID) throws -> Bool {
    // Who follows what is read is told when the row comes or goes.
    if state.recorder != nil { return try readTransaction.key(of: rowID) != nil }
    try state.check()
    return try state.wrapping { () throws(StorageError) in
      guard let value = try state.lend(SearchKey(rowID.rawValue), in: state.trees.rows) else { return false }
      state.endLoan(value)
      return true
    }
  }
}

extension RowRemoval {
  /// Rows of one collection that are to go, in the order of their ids.
  private struct Doomed {
    let collection: CollectionID
    /// The keys in the key index.
    var keys: ByteKeys
    var rowIDs: [RowID] = []
  }

  /// Removes the first of some rows, as long as they are of one collection and their ids ascend, unless somebody else
  /// than `owner` follows the collection.
  fileprivate func removeUnfollowed(
    _ rowIDs: ArraySlice<RowID>, by owner: ExtensionID
  ) throws -> (doneCount: Int, removed: [RowID]) {
    guard let first = rowIDs.first, let session = try transaction.session() else { return (0, []) }
    try session.checkRowsMayChange()
    guard session.rounds.allSatisfy(\.isFinished) else { return (0, []) }
    guard let id = try collection(of: first) else { return (1, []) }
    let collection = transaction.open(try transaction.name(of: id))
    try transaction.check()
    guard collection.id == id else { throw RowView.damaged() }
    let listeners = session.listeners(of: collection.name).entries
    guard listeners.count == 1, listeners[0].registered.id == owner else { return (0, []) }
    var doomed = Doomed(collection: id, keys: ByteKeys())
    do {
      let doneCount = try look(at: rowIDs, &doomed)
      try remove(&doomed, collection)
      return (doneCount, doomed.rowIDs)
    } catch {
      // Some are noted as removed that are there.
      let error = transaction.wrap(error)
      if !doomed.rowIDs.isEmpty { transaction.note(error) }
      throw error
    }
  }

  /// The collection of a row; nil if there is no such row.
  private func collection(of rowID: RowID) throws(DatabaseError) -> CollectionID? {
    do {
      return try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try unsafe RowView($0).collection }
      }
    } catch {
      throw transaction.wrap(error)
    }
  }

  /// Looks the rows up side by side, more at a time the longer it goes, up to one of another collection or with an id
  /// that is not above the one before. Returns how many there are up to that one.
  private func look(at rowIDs: ArraySlice<RowID>, _ doomed: inout Doomed) throws -> Int {
    var (start, stepCount, isStopped) = (rowIDs.startIndex, 4, false)
    while start < rowIDs.endIndex, !isStopped {
      var end = start + 1
      let limit = min(start + stepCount, rowIDs.endIndex)
      while end < limit, rowIDs[end - 1] < rowIDs[end] { end += 1 }
      let step = rowIDs[start..<end]
      isStopped = end < rowIDs.endIndex && rowIDs[end - 1] >= rowIDs[end]
      var isOther = false
      try transaction.withValues(
        count: step.count, in: transaction.trees.rows, { step[step.startIndex + $0].rawValue }
      ) { index, bytes in
        guard !isOther else { return }
        if let bytes {
          isOther = try unsafe !bytes.withUnsafeBytes { row in
            try unsafe add(RowView(row), step[step.startIndex + index], &doomed)
          }
          if isOther { return }
        }
        start += 1
      }
      isStopped = isStopped || isOther
      stepCount = min(stepCount * 4, Limits.removalBatchCount)
    }
    return start - rowIDs.startIndex
  }

  /// Notes a row as removed. Returns false if it is one of another collection.
  private func add(_ row: RowView, _ rowID: RowID, _ doomed: inout Doomed) throws -> Bool {
    guard row.collection == doomed.collection else { return false }
    guard let writer = transaction.writer else { throw transaction.notWriting() }
    assert(doomed.rowIDs.last.map { $0 < rowID } ?? true, "rows go in another order than that of their ids")
    doomed.rowIDs.append(rowID)
    doomed.keys.append { bytes in
      unsafe withUnsafeBytes(of: row.collection.rawValue.bigEndian) { unsafe bytes.append(contentsOf: $0) }
      unsafe bytes.append(contentsOf: row.key)
    }
    unsafe writer.changes.append(.removed, row.collection, rowID, row.key)
    return true
  }

  private func remove(_ doomed: inout Doomed, _ collection: CollectionState) throws {
    guard !doomed.rowIDs.isEmpty else { return }
    transaction.mutationCount &+= doomed.rowIDs.count
    collection.hasRemoved = true
    doomed.keys.sort()
    let count = try transaction.delete(doomed.keys, in: transaction.trees.keys)
    // A row that no key leads to is one that nobody could have removed.
    guard count == doomed.rowIDs.count else { throw RowView.damaged() }
    try deleteRows(doomed.rowIDs)
  }

  /// Deletes rows whose ids ascend from the row tree: runs of neighbours as one.
  private func deleteRows(_ rowIDs: [RowID]) throws {
    var first = 0
    while first < rowIDs.count {
      var end = first + 1
      while end < rowIDs.count, rowIDs[end].rawValue == rowIDs[end - 1].rawValue + 1 { end += 1 }
      if end - first >= Limits.rangeRemovalCount {
        let range = rowIDs[first].rawValue..<rowIDs[end - 1].rawValue + 1
        _ = try transaction.deleteRange(range, in: transaction.trees.rows)
      } else {
        for rowID in rowIDs[first..<end] {
          try transaction.delete(SearchKey(rowID.rawValue), in: transaction.trees.rows)
        }
      }
      first = end
    }
  }
}
