// Entries in ascending order: the last leaf of the tree is remembered, and what belongs behind its last key goes there
// without a descent. Row ids, sequence numbers and sorted input all come this way.

/// The way from the root to the last leaf of one tree, all of it private.
struct RightmostLeafHint {
  /// The tree, or `none`.
  var treeID: UInt64 = Self.none
  var path = TreePath()

  /// No tree has this id.
  static let none = UInt64.max
}

extension TreeEditor {
  /// Forgets the last leaf. Called when pages of any tree change their places: they split, merge or are written
  /// elsewhere, or those made so far may no longer be edited.
  @inline(__always) package func forgetRightmostLeaf() { rightmostLeaf.treeID = RightmostLeafHint.none }

  /// Remembers `path`, all of whose pages are private, if it leads to the last leaf of the tree.
  @inline(__always) func rememberRightmostLeaf(_ root: TreeRoot) {
    guard path.isRightmost(at: path.depth &- 1) else { return }
    assert(path.depth == root.level + 1, "the path does not end at a leaf")
    rightmostLeaf.treeID = root.id.rawValue
    rightmostLeaf.path.set(path)
  }

  /// Adds an entry whose key is above all keys of the tree to the remembered leaf; false if it is not above them, or if
  /// there is no room.
  func appendToRightmostLeaf(_ key: SearchKey, _ value: CellValue, in root: inout TreeRoot) -> Bool {
    let leaf = rightmostLeaf.path[rightmostLeaf.path.depth &- 1].page
    assert(rightmostLeaf.treeID == root.id.rawValue, "the last leaf of another tree is remembered")
    assert(leaf.step >= pages.step, "the last leaf that is remembered is seen by others")
    guard leaf.isBelow(key), writer(leaf).insert(key, value, at: leaf.count) else { return false }
    root.count &+= 1
    if value.isExtent { root.mayHaveExtents = true }
    let flag = value.isExtent ? ChildCount.extentBit : 0
    var index = 0
    while index < rightmostLeaf.path.depth &- 1 {
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
    let level = path.depth - 1
    let leaf = path[level].page
    let count = leaf.count
    guard count > 0, path.isRightmost(at: level) else { return false }
    let packer = packer(root.keyKind)
    if leaf.isUniform, !leaf.isUniform(with: key, value) {
      packer.append(leaf, 0..<count)
      packer.append(key, value)
      if packer.leafByteCount(0..<(count + 1)) <= pageSize { return false }
    } else {
      packer.append(leaf, 0..<1)
      packer.append(leaf, (count - 1)..<count)
      packer.append(key, value)
      if packer.hasRoom(inPlaceOf: leaf) { return false }
    }
    let new = packer.count - 1
    let pages = try rewriter.make(packer, from: new, ends: [new + 1], of: root)
    // The full leaf is not looked at: what its parent says of extents in it stays.
    let hadExtents =
      level > 0
      ? ChildCount.mayHaveExtents(path[level - 1].page.counts[path[level - 1].index]) : root.mayHaveExtents
    let firstCount = ChildCount.word(count, mayHaveExtents: hadExtents)
    try addToParent(of: level, firstCount: firstCount, pages, in: &root)
    return true
  }
}
