// Entries in ascending order: the last leaf of the tree is remembered, and what belongs behind its last key goes there
// without a descent. Row ids, sequence numbers and sorted input all come this way.

/// The way from the root to the last leaf of one tree, all of it private.
struct RightmostLeafHint {
  /// The tree, or `none`.
  var treeID: UInt64 = Self.none
  var depth = 0
  let path = UnsafeMutablePointer<PathStep>.allocate(capacity: Limits.treeLevels + 1)

  /// No tree has this id.
  static let none = UInt64.max
}

extension TreeEditor {
  /// Forgets the last leaf. Called when pages of any tree change their places: they split, merge or are written
  /// elsewhere, or those made so far may not be edited any more.
  @inline(__always) package func forgetRightmostLeaf() { rightmostLeaf.treeID = RightmostLeafHint.none }

  /// Remembers `path`, all of whose pages are private, if it leads to the last leaf of the tree.
  @inline(__always) func rememberTail(_ root: TreeRoot) {
    guard isRightmost(levelsBelow: depth &- 1) else { return }
    rightmostLeaf.treeID = root.id.rawValue
    rightmostLeaf.depth = depth
    for index in 0..<depth { rightmostLeaf.path[index] = path[index] }
  }

  /// Adds an entry whose key is above all keys of the tree to the remembered leaf; false if it is not above them, or if
  /// there is no room.
  func appendToTail(_ key: SearchKey, _ value: CellValue, in root: inout TreeRoot) -> Bool {
    let leaf = rightmostLeaf.path[rightmostLeaf.depth &- 1].page
    let count = leaf.count
    guard isAboveLastKey(key, of: leaf), insertInPlace(key, value, at: count, in: leaf) else { return false }
    root.count &+= 1
    if value.isExtent { root.mayHaveExtents = true }
    let flag = value.isExtent ? ChildCount.extentBit : 0
    var index = 0
    while index < rightmostLeaf.depth &- 1 {
      let page = rightmostLeaf.path[index].page
      page.counts[page.count &- 1] = (page.counts[page.count &- 1] &+ 1) | flag
      index &+= 1
    }
    return true
  }

  /// Makes a new last leaf for an entry behind all others, and leaves the full one before it as it is; false if the
  /// leaf at the end of `path` is not the last one, or if it has room for the entry once it is written anew.
  func startLeaf(
    with key: SearchKey, _ value: CellValue, in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    let leaf = path[depth - 1].page
    let count = leaf.count
    guard count > 0, isRightmost(levelsBelow: depth - 1) else { return false }
    let packer = packer(root.keyKind)
    packer.removeAll()
    if leaf.isUniform, !leaf.isUniform(with: key, value) {
      packer.append(leaf, 0..<count)
      packer.append(key, value)
      if packer.leafByteCount(0..<(count + 1)) <= pageSize { return false }
    } else {
      packer.append(leaf, 0..<1)
      packer.append(leaf, (count - 1)..<count)
      packer.append(key, value)
      if hasRoom(leaf, packer) { return false }
    }
    let new = packer.count - 1
    let pages = try makeLeaves(packer, from: new, ends: [new + 1], in: root)
    // The full leaf is not looked at: what its parent says of extents in it stays.
    let hadExtents =
      depth > 1
      ? ChildCount.mayHaveExtents(path[depth - 2].page.counts[path[depth - 2].index]) : root.mayHaveExtents
    let firstCount = ChildCount.word(count, mayHaveExtents: hadExtents)
    try addToParent(of: depth - 1, firstCount: firstCount, pages, in: &root)
    return true
  }

  /// Whether a leaf has room for an entry behind its last one if it is written anew, with a longer prefix and without
  /// garbage; `packer` holds its first, its last, and the new one.
  private func hasRoom(_ leaf: PageBytes, _ packer: LeafPacker) -> Bool {
    let entries = packer.entries
    var room = leaf.cellStart - leaf.leafArraysEnd + leaf.garbage
    var needed = leaf.cellHeader + leaf.headWidth + 2 + entries[2].payloadCount
    if !leaf.hasIntegerKeys {
      let keyCount = entries[2].keyCount - leaf.headOnlyCount
      let prefix = min(entries[0].commonPrefixCount(with: entries[2]), keyCount)
      needed += keyCount - prefix
      // The prefix of the new key as well, in front of each entry once less.
      room += (leaf.count - 1) * (prefix - leaf.prefixCount)
    }
    return needed <= room
  }

  /// Whether `key` is above the last key of a leaf that has entries.
  @inline(__always) private func isAboveLastKey(_ key: SearchKey, of leaf: PageBytes) -> Bool {
    let last = leaf.count &- 1
    if last < 0 { return false }
    if leaf.hasIntegerKeys { return leaf.heads64[last] < key.integer }
    let order = leaf.comparePrefix(with: key)
    if order != 0 { return order > 0 }
    let cell = leaf.leafCell(last)
    let prefixCount = leaf.prefixCount
    if leaf.isUniform {
      let head = KeyOrder.head(key.base + prefixCount, key.count &- prefixCount)
      if head != leaf.heads32[last] { return head > leaf.heads32[last] }
    }
    let known = prefixCount &+ leaf.headOnlyCount
    return KeyOrder.compare(key.base + known, key.count &- known, cell.key, cell.keyCount) > 0
  }
}
