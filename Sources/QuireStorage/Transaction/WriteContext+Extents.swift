// Entries whose values do not fit into a page.

extension WriteContext {
  /// Stores an entry whose value goes to an extent; the lengths have been checked. If writing that fails, nothing has
  /// changed and the transaction goes on.
  ///
  /// A value of one page stays in memory, as the log has it, until the next checkpoint writes it home with others; one
  /// that is replaced before is never written. A longer one takes no memory, and is written now.
  @inline(never) func putLong(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, mode: PutMode, in tree: Tree, at index: Int
  ) throws(StorageError) -> PutOutcome {
    // Looked up first: a gigabyte that is not stored after all should not have been written.
    if mode == .insertIfAbsent, try hasEntry(key, at: index) { return .kept }
    // Written before the tree is touched: the bytes may be borrowed from a page that the put is about to change.
    let isKept = value.count <= editor.pageSize && !log.isGivenUp
    let extent = try writeExtent(value, isKept ? .kept : .now)
    hasGrown = true
    let before = log.position
    let key = log.putLong(tree.id, tree.keys, key, value)
    mutations &+= 1
    do throws(StorageError) {
      return try store(extent, under: key, mode: mode, at: index)
    } catch {
      log.truncate(to: before)
      throw fail(error)
    }
  }

  /// Gives a value that does not fit beside its key an extent, for an entry of the running transaction. It is written
  /// now instead of kept if its place may have no blocks yet.
  func writeExtent(
    _ value: UnsafeRawBufferPointer, _ writing: ExtentWriting = .now
  ) throws(StorageError) -> ExtentReference {
    let layout = ExtentLayout(valueByteCount: value.count, pageSize: editor.pageSize)
    let isBacked = try host?.reservePlaces(forExtent: layout.pageCount, isWrittenNow: writing != .kept) ?? false
    let isPossible = writing != .kept || isBacked
    return try editor.pages.writeExtent(value, isPossible ? writing : .now, checkWritable: checkWritable)
  }

  private func store(
    _ extent: ExtentReference, under key: SearchKey, mode: PutMode, at index: Int
  ) throws(StorageError) -> PutOutcome {
    try extent.withBytes { (bytes) throws(StorageError) in
      try editor.put(key, CellValue(bytes, isExtent: true), mode: mode, in: &trees[index])
    }
  }

  /// Writes the values that replay has put off until the whole log has been looked at.
  package func writeDeferredExtents() throws(StorageError) { try editor.pages.writeDeferredExtents() }

  /// Gives back the places of values that the transaction itself has replaced: before it is appended or frozen.
  package func discardDeadExtents() { editor.pages.discardDeadExtents() }
}
