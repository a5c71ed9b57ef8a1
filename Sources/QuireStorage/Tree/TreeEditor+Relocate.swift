// Moving pages to lower places: they are copied, unchanged, and the next checkpoint gives the copies new places.

extension TreeEditor {
  /// What a relocation has done.
  package struct Relocation {
    /// Where to go on.
    package let next: BranchPosition
    /// How many pages of the tree were copied.
    package let copied: Int
    /// How many pages of extents were copied.
    package let copiedExtentPages: Int
    /// The pages of an extent that was too long for what was left of the step; 0 if there was none.
    package let wanted: Int
  }

  /// Copies pages and extents that `plan` says are to move, and the way to them, from `position` on.
  ///
  /// Leaves are read only if they are copied, or if the branch above says that they may hold extents: it also says
  /// where they stand. Positions are keys, so that the tree may change between two calls: at the worst a page is left
  /// where it is. No count that the file has decides how long this takes.
  ///
  /// - Parameter checkWritable: throws if writing has stopped for good.
  /// - Throws: what reading and checking pages throws, and what copying values throws. The transaction must then be
  ///   rolled back.
  package func relocate(
    _ root: inout TreeRoot, from position: BranchPosition, _ plan: RelocationPlan,
    checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> Relocation {
    let before = born.count
    var position = root.reference.isNone ? .end : position
    var moves = ExtentMoves()
    while position != .end, moves.wanted == 0, born.count - before < plan.pageLimit,
      moves.pageCount < plan.extentPageLimit, moves.leafCount < plan.leafLimit
    {
      position = try relocateBelowOneBranch(&root, from: position, plan, &moves, checkWritable)
    }
    return Relocation(
      next: position, copied: born.count - before, copiedExtentPages: moves.pageCount, wanted: moves.wanted)
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

  /// Goes down to the branch above the leaf of `position`, copies the way to it where it must go, and then its leaves
  /// that must. Returns the position behind the branch, or that of a leaf for whose extents the step has no room.
  private func relocateBelowOneBranch(
    _ root: inout TreeRoot, from position: BranchPosition, _ plan: RelocationPlan, _ moves: inout ExtentMoves,
    _ checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> BranchPosition {
    let limit = plan.limit
    let key = position.key
    var reference = root.reference
    var page = try reader.page(reference, checksum: root.checksum, level: root.level)
    depth = 0
    var mustCopy = isAbove(limit, reference)
    while page.level > 1 {
      let index = childIndex(key, in: page, root.keyKind)
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
      guard root.mayHaveExtents else { return .end }
      return try relocateExtents(&root, plan, &moves, checkWritable: checkWritable) ? .end : position
    }
    var index = childIndex(key, in: page, root.keyKind)
    let branchDepth = depth
    path[depth] = PathStep(page: page, reference: reference, index: index)
    depth += 1
    if mustCopy { try makePathPrivate(&root) }
    let next = try keyBehindPath(key, in: root)
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
            return try self.position(ofLeaf: index, of: branchDepth, from: position, in: root)
          }
        }
      }
      index += 1
    }
    return next.map { .key($0) } ?? .end
  }

  /// The position that leads to leaf `index` of the branch `path[level]`, which a walk from `position` on has come to.
  private func position(
    ofLeaf index: Int, of level: Int, from position: BranchPosition, in root: TreeRoot
  ) throws(StorageError) -> BranchPosition {
    let branch = path[level].page
    // The leaf that the walk began with, if there is no other in front of this one.
    guard index > childIndex(position.key, in: branch, root.keyKind) else { return position }
    return .key(try ascending(from: position.key, to: branch.branchKey(index), in: root))
  }
}
