// Moving pages to lower places: they are copied, unchanged, and the next checkpoint gives the copies new places.

extension TreeEditor {
  /// What a relocation has done.
  package struct Relocation {
    /// Where to go on, as the rank of an entry; nil at the end of the tree.
    package let nextRank: Int?
    /// How many pages of the tree were copied.
    package let copied: Int
    /// How many pages of extents were copied.
    package let copiedExtentPages: Int
    /// The pages of an extent that was too long for what was left of the step; 0 if there was none.
    package let wanted: Int
  }

  /// Copies pages and extents that `plan` says are to move, and the way to them, from the entry of rank `rank` on.
  ///
  /// Leaves are read only if they are copied, or if the branch above says that they may hold extents: it also says
  /// where they stand. Positions are ranks, so that the tree may change between two calls: at the worst a page is left
  /// where it is.
  ///
  /// - Parameter checkWritable: throws if writing has stopped for good.
  /// - Throws: what reading and checking pages throws, and what copying values throws. The transaction must then be
  ///   rolled back.
  package func relocate(
    _ root: inout TreeRoot, fromRank rank: Int, _ plan: RelocationPlan,
    checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> Relocation {
    let before = born.count
    var rank = rank
    var moves = ExtentMoves()
    while rank < root.count, moves.wanted == 0, born.count - before < plan.pageLimit,
      moves.pageCount < plan.extentPageLimit, moves.leafCount < plan.leafLimit
    {
      rank = try relocateBelowOneBranch(&root, fromRank: rank, plan, &moves, checkWritable)
    }
    return Relocation(
      nextRank: rank < root.count ? rank : nil, copied: born.count - before, copiedExtentPages: moves.pageCount,
      wanted: moves.wanted)
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
  /// must. Returns the rank behind the branch's last leaf, or that of a leaf for whose extents the step has no room.
  private func relocateBelowOneBranch(
    _ root: inout TreeRoot, fromRank rank: Int, _ plan: RelocationPlan, _ moves: inout ExtentMoves,
    _ checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> Int {
    let limit = plan.limit
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
      guard root.mayHaveExtents else { return root.count }
      return try relocateExtents(&root, plan, &moves, checkWritable: checkWritable) ? root.count : rank
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
      let word = branch.counts[index]
      let mustCopy = isAbove(limit, leaf)
      if mustCopy || ChildCount.mayHaveExtents(word) {
        path[branchDepth].index = index
        let leafPage = try reader.page(leaf, checksum: branch.checksums[index], level: 0)
        path[branchDepth + 1] = PathStep(page: leafPage, reference: leaf, index: 0)
        depth = branchDepth + 2
        if mustCopy { try makePathPrivate(&root) }
        if ChildCount.mayHaveExtents(word) {
          moves.leafCount += 1
          guard try relocateExtents(&root, plan, &moves, checkWritable: checkWritable) else {
            return max(min(next, root.count - 1), rank)
          }
        }
      }
      next &+= Int(truncatingIfNeeded: ChildCount.count(word))
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
