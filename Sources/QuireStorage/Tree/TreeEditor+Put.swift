// Putting entries into a tree: in place where there is room, by splitting where there is not.

/// What to do when the key is there already.
package enum PutMode {
  case insertOrReplace
  case insertIfAbsent
}

/// What a put did.
@usableFromInline package enum PutOutcome: Sendable {
  case inserted
  case replaced
  /// The key was there, and the mode was `insertIfAbsent`: nothing has changed.
  case kept
}

extension TreeEditor {
  /// Stores `value` under `key`. Touches one page per level, more when pages split; the caller has checked the lengths.
  @inline(__always) package func put(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, mode: PutMode, in root: inout TreeRoot
  ) throws(StorageError) -> PutOutcome {
    try put(key, CellValue(value), mode: mode, in: &root)
  }

  /// As above; an extent's pages must be the transaction's own, and go with the entry from now on.
  package func put(
    _ key: SearchKey, _ value: CellValue, mode: PutMode, in root: inout TreeRoot
  ) throws(StorageError) -> PutOutcome {
    if root.reference.isNone {
      try plant(key, value, in: &root)
      return .inserted
    }
    if root.id.rawValue == rightmostLeaf.treeID, appendToRightmostLeaf(key, value, in: &root) { return .inserted }
    let position = try descend(key, in: root)
    prefetchLeaf()
    return try put(key, value, mode: mode, at: position, in: &root)
  }

  /// The same where `path` leads to the leaf of `key`, and its place there is known.
  @inline(__always) func put(
    _ key: SearchKey, _ value: CellValue, mode: PutMode, at position: LeafPosition, in root: inout TreeRoot
  ) throws(StorageError) -> PutOutcome {
    assert(path.depth == root.level + 1, "the path does not end at a leaf")
    if position.isFound {
      if mode == .insertIfAbsent { return .kept }
      try makePathPrivate(&root)
      if value.isExtent { notePathHasExtents(&root) }
      try replaceValue(value, at: position.index, key, in: &root)
      return .replaced
    }
    if try divideLeaf(inserting: key, value, at: position.index, in: &root) { return .inserted }
    try makePathPrivate(&root)
    if value.isExtent { notePathHasExtents(&root) }
    let leaf = path[path.depth - 1].page
    if !writer(leaf).insert(key, value, at: position.index) {
      try rebuildLeaf(inserting: key, value, at: position.index, replacing: false, in: &root)
      root.count += 1
    } else {
      adjustCounts(&root, by: 1)
      if position.index == leaf.count &- 1 { rememberRightmostLeaf(root) }
    }
    return .inserted
  }

  /// The entry that a put with `insertIfAbsent` has found in its way; good until the next operation.
  var foundCell: LeafCell { path[path.depth &- 1].page.leafCell(path[path.depth &- 1].index) }

  /// Makes the processor fetch the cells of the leaf at the end of `path`, which is about to be copied, while the pages
  /// above it are: those are in its cache, and the leaf of a random key is not. Only at a transaction's first put into
  /// the tree: later the pages above are private, and there is nothing to do meanwhile.
  @inline(__always) private func prefetchLeaf() {
    guard path.depth > 1, !pages.isPrivate(path[0].reference, path[0].page) else { return }
    let leaf = path[path.depth &- 1].page
    leaf.prefetchCells(through: reader.access.lastLine)
  }

  /// Makes the first leaf of a tree.
  private func plant(
    _ key: SearchKey, _ value: CellValue, in root: inout TreeRoot
  ) throws(StorageError) {
    assert(root.reference.isNone, "an entry is planted in a tree that has some")
    let packer = packer(root.keyKind)
    packer.append(key, value)
    root.reference = try rewriter.make(packer, 0..<1, of: root).reference
    root.checksum = 0
    root.level = 0
    root.count = 1
    root.mayHaveExtents = value.isExtent
  }

  /// Gives the entry at `index` of the private leaf another value.
  private func replaceValue(
    _ value: CellValue, at index: Int, _ key: SearchKey, in root: inout TreeRoot
  ) throws(StorageError) {
    let leaf = path[path.depth - 1].page
    assert(pages.isPrivate(path[path.depth - 1].reference, leaf), "a page that others see is changed")
    let cell = leaf.leafCell(index)
    if cell.isExtent { pages.supersedeExtent(cell.extent) }
    if writer(leaf).replaceValue(at: index, by: value) { return }
    try rebuildLeaf(inserting: key, value, at: index, replacing: true, in: &root)
  }
}
