// Puts of the running transaction that wait until somebody asks for what they have put.

extension WriteContext {
  /// `putScore` decides whether puts are collected: one that walked down from the root adds `strayScore`, one that went
  /// to the end of its tree takes `tailScore` off, since ascending keys are put faster than they can be collected.
  private static var strayScore: Int { 4 }
  private static var tailScore: Int { 2 }
  /// Puts into a large tree wait sooner: a leaf that is not in the processor's cache costs more than the second copy of
  /// what is put there. One in small trees is found there, and edited for half the instructions of a merge.
  private static var strayCountForLargeTree: Int { 32 }
  private static var largeTreeEntryCount: Int { 100_000 }

  /// How many puts wait, in memory and in runs on disk; of a key that was put several times, several.
  package var waitingPutCount: Int { pending.count }

  /// How many runs of puts have gone to disk since the engine was opened.
  package var writtenRunCount: Int { pending.writtenRunCount }

  /// Sets after how many puts in a row the next ones wait.
  package func setDeferral(after count: Int) {
    let (score, isTooLarge) = count.multipliedReportingOverflow(by: Self.strayScore)
    assert(count >= 0, "puts wait after a number of puts")
    fullDeferralScore = isTooLarge ? .max : max(1, score)
    deferralScore = min(fullDeferralScore, Self.strayCountForLargeTree * Self.strayScore)
  }

  /// Stores an entry, at once or later: after some puts with no question between them, the following ones
  /// are collected and merged into the trees when there are many, or when the transaction is asked for anything.
  ///
  /// What is wrong with key, value or tree is said at once. An error of the trees comes out of whatever had the puts
  /// applied; the transaction can then only be rolled back, as if a put had failed.
  package func set(_ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree) throws(StorageError) {
    let isAtTail = editor.rightmostLeaf.treeID == tree.id.rawValue
    if putScore >= deferralScore {
      let index = try index(of: tree)
      if limits.isLong(key, value) {
        try settle()
      } else if pending.has(treeAt: index) || (!isAtTail && mayWait(treeAt: index)) {
        return try deferPut(key, value, in: tree, at: index)
      }
      // Never lowered from here on: puts may wait.
      if !isAtTail { putScore &+= Self.strayScore }
    } else if isAtTail {
      putScore = max(0, putScore &- Self.tailScore)
    } else {
      putScore &+= Self.strayScore
    }
    _ = try putNow(key, value, mode: .insertOrReplace, in: tree)
  }

  private func mayWait(treeAt index: Int) -> Bool {
    putScore >= fullDeferralScore || trees[index].count >= Self.largeTreeEntryCount
  }

  @inline(never) private func deferPut(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree, at index: Int
  ) throws(StorageError) {
    try checkUsable()
    try limits.check(key, value)
    let copy = log.put(tree.id, tree.keys, key, value)
    hasGrown = true
    noteMutation()
    do throws(StorageError) {
      try pending.append(copy.key, copy.value, tree.keys, treeAt: index) { [self] in renewEpoch() }
    } catch {
      throw fail(error)
    }
    // Only now: what was put may be on loan from a page that changes.
    if pending.isFull { try applyPending(isAll: false) }
  }

  /// Brings all puts into the trees, before anything is read from them or done to them but another put.
  @inline(__always) func settle() throws(StorageError) {
    if putScore == 0 { return }
    putScore = 0
    if !pending.isEmpty { try applyPending(isAll: true) }
  }

  /// Where a tree that has all its entries is in `trees`.
  @inline(__always) func settledIndex(of tree: Tree) throws(StorageError) -> Int {
    try settle()
    return try index(of: tree)
  }

  /// - Parameter isAll: whether the trees are to have all puts; if not, memory is to have room for more.
  @inline(never) private func applyPending(isAll: Bool) throws(StorageError) {
    do throws(StorageError) { try pending.apply(to: self, isAll: isAll) } catch { throw fail(error) }
  }

  /// Forgets the puts that wait.
  func forgetPending() {
    putScore = 0
    pending.reset()
  }

  /// Merges sorted operations into a tree; nothing is noted in a record.
  ///
  /// - Parameter total: how many there are, if these are only some of them in a row.
  func apply(
    _ operations: UnsafeBufferPointer<SortableOperation>, of total: Int = 0, toTreeAt index: Int,
    _ applier: BatchApplier
  ) throws(StorageError) {
    mutations &+= 1
    var root = trees[index]
    do throws(StorageError) {
      try enter()
      try applier.apply(
        operations, of: max(total, operations.count), in: &root, renewEpoch: { [self] in renewEpoch() }
      ) { [self] (root, completed) throws(StorageError) in
        trees[index] = root
        try makeRoom(completed)
      }
    } catch {
      throw fail(error)
    }
    trees[index] = root
  }
}
