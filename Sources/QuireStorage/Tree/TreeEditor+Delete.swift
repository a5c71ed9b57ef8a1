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
    removeLeafEntry(at: position.index, in: path[depth - 1].page)
    adjustCounts(&root, by: -1)
    try tidy(level: depth - 1, in: &root)
    return true
  }

  /// Takes an entry out of a private leaf.
  private func removeLeafEntry(at index: Int, in leaf: PageBytes) {
    let count = leaf.count
    let width = leaf.headWidth
    let offset = Int(leaf.leafSlots[index])
    let cell = leaf.leafCell(at: offset)
    if cell.isExtent { supersedeExtent(cell.extent) }
    let byteCount = cell.byteCount
    let arrays = leaf.base + PageLayout.headerByteCount
    let oldSlots = arrays + width * count
    memmoveBytes(arrays + width * index, arrays + width * (index + 1), width * (count - index - 1))
    let newSlots = arrays + width * (count - 1)
    memmoveBytes(newSlots, oldSlots, 2 * index)
    memmoveBytes(newSlots + 2 * index, oldSlots + 2 * (index + 1), 2 * (count - index - 1))
    leaf.count = count - 1
    if offset == leaf.cellStart {
      leaf.cellStart = offset + byteCount
    } else {
      leaf.garbage += byteCount
    }
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
        supersede(path[level].reference, page)
        try removeChild(at: path[level - 1].index, of: level - 1, in: root)
      } else if usedByteCount(page) * 4 < pageSize {
        guard try merge(level: level, in: root) else { return level < start }
      } else {
        return level < start
      }
      level -= 1
    }
    try tidyRoot(&root)
    return true
  }

  /// The bytes of a page that are in use.
  func usedByteCount(_ page: PageBytes) -> Int {
    let arraysEnd = page.kind == PageKind.leaf.rawValue ? page.leafArraysEnd : page.branchArraysEnd
    return arraysEnd + pageSize - page.cellStart - page.garbage
  }

  /// An empty root becomes an empty tree, and a root with one child gives way to it.
  func tidyRoot(_ root: inout TreeRoot) throws(StorageError) {
    var page = path[0].page
    if page.count == 0 {
      supersede(root.reference, page)
      root.reference = .none
      root.checksum = 0
      root.level = 0
      root.mayHaveExtents = false
      return
    }
    while root.level > 0, page.count == 1 {
      supersede(root.reference, page)
      root.checksum = page.checksums[0]
      root.reference = PageReference(rawValue: page.references[0])
      root.level -= 1
      page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    }
  }

  /// Writes the private branch `path[level]` anew without child `index`.
  func removeChild(at index: Int, of level: Int, in root: TreeRoot) throws(StorageError) {
    let branch = path[level].page
    let old = PageBytes(scratch)
    scratch.copyMemory(from: branch.base, byteCount: pageSize)
    branchEntries.removeAll(keepingCapacity: true)
    old.appendBranchEntries(to: &branchEntries)
    branchEntries.remove(at: index)
    initialize(branch, kind: .branch, level: root.level - level, keyKind: root.keyKind, treeID: root.id.rawValue)
    // Fewer separators never share a shorter prefix, so what fitted still fits.
    PageEncoder.encodeBranch(branchEntries[...], into: branch, pageSize: pageSize)
  }

  /// Merges `path[level]` with a neighbour under the same parent if the two fill at most nine tenths of a page.
  /// Returns whether the parent lost a child.
  func merge(level: Int, in root: TreeRoot) throws(StorageError) -> Bool {
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
    let least = usedByteCount(path[level].page) + usedByteCount(siblingPage) - PageLayout.headerByteCount - prefixes
    guard least <= limit else { return false }
    if !sibling.isDirty, siblingPage.checksum != parent.checksums[siblingIndex] { throw notTheVersion(sibling) }
    if siblingPage.isFromDisk {
      let bounds = bounds(ofChildAt: level - 1).child(siblingIndex, of: parent)
      let count = ChildCount.count(parent.counts[siblingIndex])
      try check(siblingPage, sibling, count: count, within: bounds, in: root)
    }
    let page = path[level].page
    let leftIndex = min(index, siblingIndex)
    let (left, right) = index < siblingIndex ? (page, siblingPage) : (siblingPage, page)
    let (leftCopy, rightCopy) = (PageBytes(scratch + pageSize), PageBytes(scratch + 2 * pageSize))
    // Without the checksums, which a checkpoint may be entering at this moment.
    (leftCopy.base + 8).copyMemory(from: left.base + 8, byteCount: pageSize - 8)
    (rightCopy.base + 8).copyMemory(from: right.base + 8, byteCount: pageSize - 8)
    // Copied into a page of this transaction, the neighbour's references must outlive the entries of frames written
    // since it was made.
    if needsTranslation(siblingPage, sibling) {
      translateFlippedChildren(index < siblingIndex ? rightCopy : leftCopy)
    }
    // The page at hand is private and takes everything; the neighbour is given up.
    if treeLevel == 0 {
      let packer = packer(root.keyKind)
      packer.removeAll()
      packer.append(leftCopy, 0..<leftCopy.count)
      packer.append(rightCopy, 0..<rightCopy.count)
      guard packer.leafByteCount(0..<packer.count) <= limit else { return false }
      initialize(page, kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
      packer.encode(0..<packer.count, into: page)
    } else {
      branchEntries.removeAll(keepingCapacity: true)
      leftCopy.appendBranchEntries(to: &branchEntries)
      let boundary = branchEntries.count
      rightCopy.appendBranchEntries(to: &branchEntries)
      // The right page's first child gets the separator that divided the two pages.
      branchEntries[boundary].separator = parent.branchKey(leftIndex + 1)
      guard PageEncoder.branchByteCount(branchEntries[...], keyKind: root.keyKind) <= limit else { return false }
      initialize(page, kind: .branch, level: treeLevel, keyKind: root.keyKind, treeID: root.id.rawValue)
      PageEncoder.encodeBranch(branchEntries[...], into: page, pageSize: pageSize)
    }
    supersede(sibling, siblingPage)
    parent.references[leftIndex] = path[level].reference.rawValue
    let (leftWord, rightWord) = (parent.counts[leftIndex], parent.counts[leftIndex + 1])
    parent.counts[leftIndex] = (leftWord &+ ChildCount.count(rightWord)) | (rightWord & ChildCount.extentBit)
    try removeChild(at: leftIndex + 1, of: level - 1, in: root)
    return true
  }
}
