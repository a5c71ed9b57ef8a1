// Looking for an entry and inserting it in one walk.

extension WriteTransaction {
  /// Stores an entry unless there is one under its key already: then lends the value of that one until `endLoan`, and
  /// nothing has changed. The kind of the key has been checked.
  ///
  /// Touches one page per level, more when pages split; only a value that needs pages of its own is looked for in a
  /// walk of its own. Errors as `put`.
  package func insertOrFind(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) -> BorrowedValue? {
    defer { leave() }
    if context.limits.isLong(key, value), let found = try lend(key, in: tree) { return found }
    guard try context.put(key, value, mode: .insertIfAbsent, in: tree) == .kept else { return nil }
    let found = BorrowedValue(context.editor.foundCell)
    if lendsCopies { return BorrowedValue(copying: found) }
    context.slots.beginLoan(context.slot)
    return found
  }

  /// Whether an entry's value stands beside its key: then storing it either succeeds or leaves a transaction that can
  /// only be rolled back.
  package func standsBesideKey(_ key: SearchKey, _ value: UnsafeRawBufferPointer) -> Bool {
    !context.limits.isLong(key, value)
  }

  /// The id that `allocateRowIDs` returns next.
  package var nextRowID: Int64 { context.rowIDCounter }
}
