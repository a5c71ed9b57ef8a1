// Moving pages to lower places: they are copied, unchanged, and the next checkpoint gives the copies new places.

/// Moves pages of one tree of the running transaction, and the extents that its leaves refer to.
package struct TreeRelocator {
  private let editor: TreeEditor
  private let plan: RelocationPlan
  /// Throws if writing has stopped for good.
  private let checkWritable: () throws(StorageError) -> Void
  private var moves = ExtentMoves()

  /// A relocator for the running transaction of `editor`.
  package init(
    _ editor: TreeEditor, _ plan: RelocationPlan, checkWritable: @escaping () throws(StorageError) -> Void = {}
  ) {
    (self.editor, self.plan, self.checkWritable) = (editor, plan, checkWritable)
  }

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
  /// - Throws: what reading and checking pages throws, and what copying values throws. The transaction must then be
  ///   rolled back.
  package mutating func relocate(
    _ root: inout TreeRoot, from position: BranchPosition
  ) throws(StorageError) -> Relocation {
    assert(plan.pageLimit > 0 && plan.leafLimit > 0, "a step moves a page at least")
    let before = editor.pages.born.count
    var position = root.reference.isNone ? .end : position
    moves = ExtentMoves()
    while position != .end, moves.wanted == 0, editor.pages.born.count - before < plan.pageLimit,
      moves.pageCount < plan.extentPageLimit, moves.leafCount < plan.leafLimit
    {
      position = try relocateBelowOneBranch(&root, from: position)
    }
    return Relocation(
      next: position, copied: editor.pages.born.count - before, copiedExtentPages: moves.pageCount, wanted: moves.wanted
    )
  }

  /// The place of a page; nil if it has none yet.
  private func place(_ reference: PageReference) -> UInt64? {
    if !reference.isDirty { return reference.rawValue }
    let location = editor.store.frames.location(reference.frame)
    return location.isPageNumber ? location.pageNumber.rawValue : nil
  }

  private func isAbove(_ limit: UInt64, _ reference: PageReference) -> Bool {
    place(reference).map { $0 >= limit } ?? false
  }

  /// Goes down to the branch above the leaf of `position`, copies the way to it where it must go, and then its leaves
  /// that must. Returns the position behind the branch, or that of a leaf for whose extents the step has no room.
  private mutating func relocateBelowOneBranch(
    _ root: inout TreeRoot, from position: BranchPosition
  ) throws(StorageError) -> BranchPosition {
    let limit = plan.limit
    let key = position.key
    var reference = root.reference
    var page = try editor.reader.page(reference, checksum: root.checksum, level: root.level)
    editor.path.depth = 0
    var mustCopy = isAbove(limit, reference)
    while page.level > 1 {
      let index = editor.childIndex(key, in: page, root.keyKind)
      editor.path.append(PathStep(page: page, reference: reference, index: index))
      reference = PageReference(rawValue: page.references[index])
      mustCopy = mustCopy || isAbove(limit, reference)
      page = try editor.reader.page(reference, checksum: page.checksums[index], level: root.level - editor.path.depth)
    }
    guard page.level == 1 else {
      editor.path.append(PathStep(page: page, reference: reference, index: 0))
      if mustCopy { try editor.makePathPrivate(&root) }
      guard root.mayHaveExtents else { return .end }
      return try relocateExtents(&root) ? .end : position
    }
    var index = editor.childIndex(key, in: page, root.keyKind)
    let branchDepth = editor.path.depth
    editor.path.append(PathStep(page: page, reference: reference, index: index))
    if mustCopy { try editor.makePathPrivate(&root) }
    let next = try editor.keyBehindPath(key, in: root)
    while index < editor.path[branchDepth].page.count {
      let branch = editor.path[branchDepth].page
      let leaf = PageReference(rawValue: branch.references[index])
      let word = branch.counts[index]
      let mustCopy = isAbove(limit, leaf)
      if mustCopy || ChildCount.mayHaveExtents(word) {
        editor.path[branchDepth].index = index
        let leafPage = try editor.reader.page(leaf, checksum: branch.checksums[index], level: 0)
        editor.path.depth = branchDepth + 1
        editor.path.append(PathStep(page: leafPage, reference: leaf, index: 0))
        if mustCopy { try editor.makePathPrivate(&root) }
        if ChildCount.mayHaveExtents(word) {
          moves.leafCount += 1
          guard try relocateExtents(&root) else {
            return try self.position(ofLeaf: index, of: branchDepth, from: position, in: root)
          }
        }
      }
      index += 1
    }
    return next.map { .key($0) } ?? .end
  }

  /// The position that leads to leaf `index` of the branch `editor.path[level]`, which a walk from `position` on has
  /// come to.
  private func position(
    ofLeaf index: Int, of level: Int, from position: BranchPosition, in root: TreeRoot
  ) throws(StorageError) -> BranchPosition {
    let branch = editor.path[level].page
    // The leaf that the walk began with, if there is no other in front of this one.
    guard index > editor.childIndex(position.key, in: branch, root.keyKind) else { return position }
    return .key(try editor.ascending(from: position.key, to: branch.branchKey(index), in: root))
  }

  // MARK: Extents

  /// Moves the extents of the leaf at the end of the path, which is made private when the first one has found a place.
  ///
  /// - Returns: false if the step has no room for the next extent; `moves.wanted` then says what it needs.
  /// - Throws: what reading and writing values throws. The transaction must then be rolled back.
  private mutating func relocateExtents(_ root: inout TreeRoot) throws(StorageError) -> Bool {
    var isPrivate = false
    for index in 0..<editor.path[editor.path.depth - 1].page.count {
      let cell = editor.path[editor.path.depth - 1].page.leafCell(index)
      guard cell.isExtent, plan.moves(cell.extent) else { continue }
      let extent = cell.extent
      let count = extent.layout(pageSize: editor.pageSize).pageCount
      guard moves.pageCount + count <= plan.extentPageLimit else {
        moves.wanted = count
        return false
      }
      guard let place = place(for: extent, count) else { continue }
      // From here on the place is given back by whatever gives up the transaction, or the copying of the value.
      let copy = try editor.pages.copyExtent(
        extent, of: editor.store, to: place, checkWritable: checkWritable)
      moves.pageCount += count
      if !isPrivate {
        try editor.makePathPrivate(&root)
        isPrivate = true
      }
      let leaf = editor.path[editor.path.depth - 1].page
      try copy.withBytes { (bytes) throws(StorageError) in
        editor.writer(leaf).setValueBytes(of: leaf.leafCell(index), bytes)
      }
      editor.pages.supersedeExtent(extent)
    }
    return true
  }

  private func place(for extent: ExtentReference, _ count: Int) -> PageNumber? {
    if plan.evacuates { return editor.pages.allocator?.allocateAtEnd(count) }
    return editor.pages.allocator?.allocateAhead(count, below: extent.first.rawValue)
  }
}
