// Looking for an entry and inserting it in one walk.

extension WriteContext {
  /// Stores an entry unless there is one under its key already: then returns the value of that one, and nothing has
  /// changed. Touches one page per level, more when pages split; only a value that needs pages of its own is looked for
  /// in a walk of its own.
  ///
  /// The value is good until the transaction's next call.
  func insertOrFind(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) -> BorrowedValue? {
    if isLong(key, value) {
      breathe()
      if let found = try reader.value(key, in: trees[try settledIndex(of: tree)]) { return found }
    }
    guard try put(key, value, mode: .insertIfAbsent, in: tree) == .kept else { return nil }
    return BorrowedValue(editor.foundCell)
  }
}

extension WriteTransaction {
  /// Stores an entry unless there is one under its key already: then lends the value of that one until `endLoan`. The
  /// kind of the key has been checked. Cost and errors as `put`.
  package func insertOrFind(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) -> BorrowedValue? {
    defer { leave() }
    guard let found = try context.insertOrFind(key, value, in: tree) else { return nil }
    if lendsCopies { return BorrowedValue(copying: found) }
    context.slots.beginLoan(context.slot)
    return found
  }

  /// Whether an entry's value stands beside its key: then storing it either succeeds or leaves a transaction that can
  /// only be rolled back.
  package func standsBesideKey(_ key: SearchKey, _ value: UnsafeRawBufferPointer) -> Bool {
    !context.isLong(key, value)
  }

  /// The id that `allocateRowIDs` returns next.
  package var nextRowID: Int64 { context.rowIDCounter }
}
