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

  /// How many puts wait.
  package var waitingPutCount: Int { pending.count }

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
    if pending.isFull { try applyPending() }
  }

  /// Brings all puts into the trees, before anything is read from them or done to them but another put.
  @inline(__always) func settle() throws(StorageError) {
    if putScore == 0 { return }
    putScore = 0
    if pending.count > 0 { try applyPending() }
  }

  /// Where a tree that has all its entries is in `trees`.
  @inline(__always) func settledIndex(of tree: Tree) throws(StorageError) -> Int {
    try settle()
    return try index(of: tree)
  }

  @inline(never) private func applyPending() throws(StorageError) {
    try pending.apply(kind: { [self] in trees[$0].keyKind }) {
      [self] (operations, index, applier) throws(StorageError) in
      try apply(operations, toTreeAt: index, applier)
    }
  }

  /// Forgets the puts that wait.
  func forgetPending() {
    putScore = 0
    pending.reset()
  }

  /// Merges sorted operations into a tree; nothing is noted in a record.
  func apply(
    _ operations: UnsafeBufferPointer<SortableOperation>, toTreeAt index: Int, _ applier: BatchApplier
  ) throws(StorageError) {
    mutations &+= 1
    var root = trees[index]
    do throws(StorageError) {
      try enter()
      try applier.apply(operations, in: &root, renewEpoch: { [self] in renewEpoch() }) {
        [self] (root, completed) throws(StorageError) in
        trees[index] = root
        try makeRoom(completed)
      }
    } catch {
      throw fail(error)
    }
    trees[index] = root
  }
}
