// Where puts go when the memory for them is used up: into the trees, or to disk.
//
// A batch of random keys touches nearly every leaf of a tree. As long as memory holds the dirty leaves that is no loss,
// but where it does not, each batch reads most of the tree and writes it home, for a few entries a page. Such batches
// are written as sorted runs instead, and the trees get all of them in one pass when somebody asks.

extension PendingPuts {
  /// A batch is merged at once if its leaves have no more than so many times its own bytes: a run is written and read
  /// for less than it takes to read more leaves than that and to write them home.
  private static let leavesPerRun = 2

  /// Brings the puts in memory into the trees or to disk, and then, if `isAll`, those on disk into the trees.
  ///
  /// - Throws: what reading and editing pages throws; `diskFull` and `inputOutput` from the temporary file. Puts have
  ///   been lost then, none waits any more, and the trees may be half changed.
  func apply(to context: WriteContext, isAll: Bool) throws(StorageError) {
    do throws(StorageError) {
      try drain(kind: { context.trees[$0].keyKind }) { (sorted, index) throws(StorageError) in
        // What comes behind a run must not be overtaken by it.
        let mustRun = hasRun(treeAt: index)
        let mayRun = !mustRun && !isAll
        if try mayRun ? outgrowsMemory(sorted, treeAt: index, context) : mustRun {
          try writeRun(sorted, treeAt: index, context)
        } else {
          try context.apply(sorted, toTreeAt: index, applier)
        }
      }
      try runs?.endBlock()
      if isAll { try mergeRuns(into: context) }
    } catch {
      reset()
      throw error
    }
  }

  /// Whether merging a batch would have pages written home, and many more of them than the batch has.
  private func outgrowsMemory(
    _ sorted: UnsafeBufferPointer<SortableOperation>, treeAt index: Int, _ context: WriteContext
  ) throws(StorageError) -> Bool {
    // A context on its own keeps all pages in memory.
    guard context.host != nil else { return false }
    let tree = context.trees[index]
    let byteCount = LeafReach.byteCount(of: sorted, tree.keyKind)
    // No operation dirties more than a leaf: nearly always that is enough to know.
    guard context.unspilledCount + sorted.count + byteCount / store.pageSize + 1 > store.hardDirtyLimit else {
      return false
    }
    let reach = try LeafReach(of: sorted, byteCount, in: tree, editor) { context.renewEpoch() }
    return context.unspilledCount + reach.dirtiedCount > store.hardDirtyLimit
      && reach.leafCount * store.pageSize > Self.leavesPerRun * reach.byteCount
  }

  private func writeRun(
    _ sorted: UnsafeBufferPointer<SortableOperation>, treeAt index: Int, _ context: WriteContext
  ) throws(StorageError) {
    try context.checkWritable()
    let runs = try makeRuns { (pages) throws(StorageError) in try context.makeRunFile(blockPages: pages) }
    try runs.append(sorted, context.trees[index].keyKind, treeAt: index)
    writtenRunCount += 1
  }

  /// Merges the runs of each tree into it, as much at a time as there is memory for puts.
  private func mergeRuns(into context: WriteContext) throws(StorageError) {
    guard let runs else { return }
    defer {
      dropRuns()
      context.setDirtyLimit(store.hardDirtyLimit)
    }
    store.charge(runs.mergeByteCount, to: .runs)
    context.setDirtyLimit(store.hardDirtyLimit)
    for index in runs.treeIndices {
      let kind = context.trees[index].keyKind
      let (entries, limit) = try runs.merged(treeAt: index, kind)
      func applyCollected() throws(StorageError) {
        try drain(kind: { _ in kind }) { (sorted, _) throws(StorageError) in
          try context.apply(sorted, of: limit, toTreeAt: index, applier)
        }
      }
      while let operation = try entries.next() {
        let key = operation.searchKey(kind)
        // Always the first list, so that no other one grows as long as a batch of all memory.
        try append(key, operation.valueBytes, kind, treeAt: 0) { context.renewEpoch() }
        if isFull { try applyCollected() }
      }
      try applyCollected()
    }
  }
}
