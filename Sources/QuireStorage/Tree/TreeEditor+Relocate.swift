// Moving pages to lower places: they are copied, unchanged, and the next checkpoint gives the copies new places.

extension TreeEditor {
  /// What a relocation has done.
  package struct Relocation {
    /// Where to go on, as the rank of an entry; nil at the end of the tree.
    package let nextRank: Int?
    /// How many pages were copied.
    package let copied: Int
  }

  /// Copies pages that stand at `limit` or above, and the way to them, from the entry of rank `rank` on.
  ///
  /// Leaves are read only if they are copied: the branch above says where they stand. Positions are ranks, so that the
  /// tree may change between two calls: at the worst a page is left where it is.
  ///
  /// - Parameter pageLimit: about how many pages may be copied; the call ends when they have been.
  /// - Throws: what reading and checking pages throws. The transaction must then be rolled back.
  package func relocate(
    _ root: inout TreeRoot, fromRank rank: Int, above limit: UInt64, pageLimit: Int
  ) throws(StorageError) -> Relocation {
    let before = born.count
    var rank = rank
    while rank < root.count {
      if born.count - before >= pageLimit { return Relocation(nextRank: rank, copied: born.count - before) }
      rank = try relocateBelowOneBranch(&root, fromRank: rank, limit)
    }
    return Relocation(nextRank: nil, copied: born.count - before)
  }

  /// The place of a page; nil if it has none yet.
  private func place(_ reference: PageReference) -> UInt64? {
    if !reference.isDirty { return reference.rawValue }
    let location = store.frames.location(reference.frame)
    return location.isPageNumber ? location.pageNumber.rawValue : nil
  }

  private func isAbove(_ limit: UInt64, _ reference: PageReference) -> Bool {
    place(reference).map { $0 >= limit } ?? false
  }

  /// Goes down to the branch above the leaf of `rank`, copies the way to it where it must go, and then its leaves that
  /// must. Returns the rank behind the branch's last leaf.
  private func relocateBelowOneBranch(
    _ root: inout TreeRoot, fromRank rank: Int, _ limit: UInt64
  ) throws(StorageError) -> Int {
    var rest = rank
    var reference = root.reference
    var page = try reader.page(reference, checksum: root.checksum, level: root.level)
    depth = 0
    var mustCopy = isAbove(limit, reference)
    while page.level > 1 {
      let index = child(of: page, holding: &rest)
      path[depth] = PathStep(page: page, reference: reference, index: index)
      depth += 1
      reference = PageReference(rawValue: page.references[index])
      mustCopy = mustCopy || isAbove(limit, reference)
      page = try reader.page(reference, checksum: page.checksums[index], level: root.level - depth)
    }
    guard page.level == 1 else {
      path[depth] = PathStep(page: page, reference: reference, index: 0)
      depth += 1
      if mustCopy { try makePathPrivate(&root) }
      return root.count
    }
    var index = child(of: page, holding: &rest)
    let branchDepth = depth
    path[depth] = PathStep(page: page, reference: reference, index: index)
    depth += 1
    if mustCopy { try makePathPrivate(&root) }
    var next = rank - rest
    while index < path[branchDepth].page.count {
      let branch = path[branchDepth].page
      let leaf = PageReference(rawValue: branch.references[index])
      next &+= Int(truncatingIfNeeded: ChildCount.count(branch.counts[index]))
      if isAbove(limit, leaf) {
        path[branchDepth].index = index
        let leafPage = try reader.page(leaf, checksum: branch.checksums[index], level: 0)
        path[branchDepth + 1] = PathStep(page: leafPage, reference: leaf, index: 0)
        depth = branchDepth + 2
        try makePathPrivate(&root)
      }
      index += 1
    }
    // Never twice the same branch, whatever its counts say.
    return max(min(next, root.count), rank + 1)
  }

  /// The child that holds the entry of rank `rest` in the page; `rest` becomes its rank in the child.
  private func child(of page: PageBytes, holding rest: inout Int) -> Int {
    var index = 0
    while index < page.count - 1, UInt64(rest) >= ChildCount.count(page.counts[index]) {
      rest -= Int(ChildCount.count(page.counts[index]))
      index += 1
    }
    return index
  }
}
