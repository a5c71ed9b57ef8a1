// Rows by their numbers, as hooks are told of them.

internal import QuireStorage

extension TransactionExtensions {
  /// A row as hooks are told of it; nil if it is gone.
  func rowChange(_ kind: RowChange.Kind, _ rowID: RowID) throws(DatabaseError) -> RowChange? {
    try transaction.check()
    let bytes = try transaction.wrapping { () throws(StorageError) in
      try transaction.value(rowID.rawValue, in: transaction.database.trees.rows)
    }
    guard let bytes else {
      transaction.recorder?.noteAllRows()
      return nil
    }
    let change = try rowChange(kind, rowID, bytes)
    transaction.recorder?.note(change.key, in: change.collection, [.object, .metadata])
    return change
  }

  /// A row whose bytes were read, as hooks are told of it.
  func rowChange(_ kind: RowChange.Kind, _ rowID: RowID, _ bytes: [UInt8]) throws(DatabaseError) -> RowChange {
    let found = unsafe bytes.withUnsafeBytes { row -> (collection: CollectionID, key: String)? in
      guard let frame = unsafe RowFrame(row), frame.objectOffset <= row.count,
        let key = unsafe String(storedUTF8: .init(rebasing: row[frame.keyOffset..<frame.metadataOffset]))
      else { return nil }
      return (frame.collection, key)
    }
    guard let found else { throw RowView.damaged() }
    return RowChange(
      kind, rowID, found.key, try transaction.name(of: found.collection), transaction, .bytes(bytes),
      before: kind == .remove ? RowBefore() : nil)
  }

  /// The rows of these ids, as `rowChange` has one, looked up side by side.
  ///
  /// - Throws: `damagedRow` if one is not there.
  func rowChanges(_ rowIDs: [RowID]) throws(DatabaseError) -> [RowChange] {
    try transaction.check()
    var copies: [[UInt8]] = []
    copies.reserveCapacity(rowIDs.count)
    do {
      try transaction.withValues(count: rowIDs.count, in: transaction.trees.rows, { rowIDs[$0].rawValue }) { _, bytes in
        guard let bytes else {
          transaction.recorder?.noteAllRows()
          throw RowView.damaged()
        }
        copies.append(unsafe bytes.withUnsafeBytes { unsafe Array($0) })
      }
    } catch {
      throw transaction.wrap(error)
    }
    var changes: [RowChange] = []
    changes.reserveCapacity(rowIDs.count)
    for (rowID, bytes) in zip(rowIDs, copies) {
      let change = try rowChange(.insert, rowID, bytes)
      transaction.recorder?.note(change.key, in: change.collection, [.object, .metadata])
      changes.append(change)
    }
    return changes
  }
}
