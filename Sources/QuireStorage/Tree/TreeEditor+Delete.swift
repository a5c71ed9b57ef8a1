// Taking entries out of a tree. Pages merge with a neighbour when they fall below a quarter, and vanish when they are
// empty; shape is changed by the writer alone.

extension TreeEditor {
  /// Removes `key`; false if it was not there, and then nothing has changed. Touches one page per level, and a
  /// neighbour where pages merge.
  package func delete(_ key: SearchKey, in root: inout TreeRoot) throws(StorageError) -> Bool {
    if root.reference.isNone { return false }
    let position = try descend(key, in: root)
    guard position.isFound else { return false }
    try makePathPrivate(&root)
    let leaf = path[path.depth - 1].page
    let cell = leaf.leafCell(position.index)
    if cell.isExtent { pages.supersedeExtent(cell.extent) }
    assert(path.depth == root.level + 1, "the path does not end at a leaf")
    writer(leaf).remove(at: position.index)
    adjustCounts(&root, by: -1)
    try tidy(level: path.depth - 1, in: &root)
    return true
  }

  /// Merges or removes the page `path[level]` if it has become too small, and then its ancestors in turn. Returns
  /// whether it has done anything; the path may then lead astray.
  @discardableResult
  func tidy(level start: Int, in root: inout TreeRoot) throws(StorageError) -> Bool {
    var level = start
    forgetRightmostLeaf()
    while level > 0 {
      let page = path[level].page
      if page.count == 0 {
        pages.supersede(path[level].reference, page)
        try removeChild(at: path[level - 1].index, of: level - 1, in: root)
      } else if page.usedByteCount(pageSize: pageSize) * 4 < pageSize {
        guard try merge(level: level, in: root) else { return level < start }
      } else {
        return level < start
      }
      level -= 1
    }
    try tidyRoot(&root)
    return true
  }

  /// An empty root becomes an empty tree, and a root with one child gives way to it.
  func tidyRoot(_ root: inout TreeRoot) throws(StorageError) {
    var page = path[0].page
    if page.count == 0 {
      pages.supersede(root.reference, page)
      root.reference = .none
      root.checksum = 0
      root.level = 0
      root.mayHaveExtents = false
      return
    }
    while root.level > 0, page.count == 1 {
      pages.supersede(root.reference, page)
      root.checksum = page.checksums[0]
      root.reference = PageReference(rawValue: page.references[0])
      root.level -= 1
      page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    }
  }

  /// Writes the private branch `path[level]` anew without child `index`.
  func removeChild(at index: Int, of level: Int, in root: TreeRoot) throws(StorageError) {
    let branch = path[level].page
    takeApart(branch)
    assert(index < branches.entries.count, "a branch has fewer children")
    branches.entries.remove(at: index)
    // Fewer separators never share a shorter prefix, so what fitted still fits.
    rewrite(branch, level: root.level - level, of: root)
  }

  /// Merges `path[level]` with a neighbour under the same parent if the two fill at most nine tenths of a page.
  /// Returns whether the parent lost a child.
  func merge(level: Int, in root: TreeRoot) throws(StorageError) -> Bool {
    assert(level > 0, "the root has no neighbours")
    let index = path[level - 1].index
    // Both are asked: deletes in ascending order leave a small page on the left and a full one on the right.
    if index + 1 < path[level - 1].page.count, try merge(level: level, with: index + 1, in: root) { return true }
    if index > 0 { return try merge(level: level, with: index - 1, in: root) }
    return false
  }

  /// As above, with child `siblingIndex` of the parent.
  private func merge(level: Int, with siblingIndex: Int, in root: TreeRoot) throws(StorageError) -> Bool {
    let parent = path[level - 1].page
    let index = path[level - 1].index
    let sibling = PageReference(rawValue: parent.references[siblingIndex])
    let treeLevel = root.level - level
    let siblingPage = try reader.page(sibling, checksum: parent.checksums[siblingIndex], level: treeLevel)
    let limit = pageSize * 9 / 10
    // Together they share no more of a prefix than each does by itself, so they take at least this. (Two plain leaves
    // that make a uniform one would take less, and so would leaves whose prefix could be longer, as that of one which
    // was divided can; they wait until one of them is smaller.)
    let prefixes = path[level].page.prefixCount + siblingPage.prefixCount
    let least =
      path[level].page.usedByteCount(pageSize: pageSize) + siblingPage.usedByteCount(pageSize: pageSize)
      - PageLayout.headerByteCount - prefixes
    guard least <= limit else { return false }
    try checkFitness(ofChild: siblingIndex, siblingPage, below: level - 1, in: root)
    let page = path[level].page
    let leftIndex = min(index, siblingIndex)
    let (left, right) = index < siblingIndex ? (page, siblingPage) : (siblingPage, page)
    let (leftCopy, rightCopy) = (PageBytes(scratch + pageSize), PageBytes(scratch + 2 * pageSize))
    // Without the checksums, which a checkpoint may be entering at this moment.
    (leftCopy.base + 8).copyMemory(from: left.base + 8, byteCount: pageSize - 8)
    (rightCopy.base + 8).copyMemory(from: right.base + 8, byteCount: pageSize - 8)
    // Copied into a page of this transaction, the neighbour's references must outlive the entries of frames written
    // since it was made.
    if pages.needsTranslation(siblingPage, sibling) {
      pages.translateFlippedChildren(index < siblingIndex ? rightCopy : leftCopy)
    }
    assert(pages.isPrivate(path[level].reference, page), "a page that others see takes its neighbour's entries")
    // The page at hand is private and takes everything; the neighbour is given up.
    if treeLevel == 0 {
      let packer = packer(root.keyKind)
      packer.append(leftCopy, 0..<leftCopy.count)
      packer.append(rightCopy, 0..<rightCopy.count)
      guard packer.leafByteCount(0..<packer.count) <= limit else { return false }
      rewriter.write(packer, 0..<packer.count, over: page, of: root)
    } else {
      branches.take(leftCopy)
      let boundary = branches.entries.count
      branches.append(rightCopy)
      // The right page's first child gets the separator that divided the two pages.
      branches.entries[boundary].separator = parent.branchKey(leftIndex + 1)
      guard branches.fitsOne(root.keyKind, limit: limit) else { return false }
      rewrite(page, level: treeLevel, of: root)
    }
    pages.supersede(sibling, siblingPage)
    parent.references[leftIndex] = path[level].reference.rawValue
    let (leftWord, rightWord) = (parent.counts[leftIndex], parent.counts[leftIndex + 1])
    parent.counts[leftIndex] = (leftWord &+ ChildCount.count(rightWord)) | (rightWord & ChildCount.extentBit)
    try removeChild(at: leftIndex + 1, of: level - 1, in: root)
    return true
  }
}
