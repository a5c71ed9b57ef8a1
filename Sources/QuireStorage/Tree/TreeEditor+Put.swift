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
    if root.id.rawValue == rightmostLeaf.treeID, appendToTail(key, value, in: &root) { return .inserted }
    let position = try descend(key, in: root)
    prefetchLeaf()
    return try put(key, value, mode: mode, at: position, in: &root)
  }

  /// The same where `path` leads to the leaf of `key`, and its place there is known.
  @inline(__always) func put(
    _ key: SearchKey, _ value: CellValue, mode: PutMode, at position: LeafPosition, in root: inout TreeRoot
  ) throws(StorageError) -> PutOutcome {
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
    let leaf = path[depth - 1].page
    if !insertInPlace(key, value, at: position.index, in: leaf) {
      try rebuildLeaf(inserting: key, value, at: position.index, replacing: false, in: &root)
      root.count += 1
    } else {
      adjustCounts(&root, by: 1)
      if position.index == leaf.count &- 1 { rememberTail(root) }
    }
    return .inserted
  }

  /// The entry that a put with `insertIfAbsent` has found in its way; good until the next operation.
  var foundCell: LeafCell { path[depth &- 1].page.leafCell(path[depth &- 1].index) }

  /// Has the processor fetch the cells of the leaf at the end of `path`, which is about to be copied, while the pages
  /// above it are: those are in its cache, and the leaf of a random key is not. Only at a transaction's first put into
  /// the tree: later the pages above are private, and there is nothing to do meanwhile.
  @inline(__always) private func prefetchLeaf() {
    guard depth > 1, !isPrivate(path[0].reference, path[0].page) else { return }
    let leaf = path[depth &- 1].page
    leaf.prefetchLines(from: leaf.cellStart, through: reader.access.lastLine)
  }

  /// Makes the first leaf of a tree.
  private func plant(
    _ key: SearchKey, _ value: CellValue, in root: inout TreeRoot
  ) throws(StorageError) {
    let (page, reference) = try makePage(kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
    let packer = packer(root.keyKind)
    packer.removeAll()
    packer.append(key, value)
    packer.encode(0..<1, into: page)
    root.reference = reference
    root.checksum = 0
    root.level = 0
    root.count = 1
    root.mayHaveExtents = value.isExtent
  }

  /// Inserts an entry into a private leaf; false if there is no room, or the key does not share the page's prefix, or
  /// the leaf is uniform and the entry is not like the others.
  @inline(__always) func insertInPlace(
    _ key: SearchKey, _ value: CellValue, at index: Int, in leaf: PageBytes
  ) -> Bool {
    let hasIntegerKeys = leaf.hasIntegerKeys
    let prefixCount = leaf.prefixCount
    if !hasIntegerKeys, prefixCount > 0, leaf.comparePrefix(with: key) != 0 { return false }
    let header = leaf.cellHeader
    if header == 0, !leaf.isUniform(with: key, value) { return false }
    let known = prefixCount &+ leaf.headOnlyCount
    let keyCount = hasIntegerKeys ? 0 : key.count &- known
    let width = hasIntegerKeys ? 8 : 4
    let cellByteCount = header &+ keyCount &+ value.count
    let needed = cellByteCount &+ width &+ 2
    if leaf.cellStart &- leaf.leafArraysEnd < needed {
      guard leaf.cellStart &- leaf.leafArraysEnd &+ leaf.garbage >= needed else { return false }
      compactLeaf(leaf)
    }
    // Heads move up to make room for one, slots by a head in front of the new one and by head and slot behind it.
    let count = leaf.count
    let arrays = leaf.base + PageLayout.headerByteCount
    let oldSlots = arrays + width &* count
    let newSlots = oldSlots + width
    memmoveBytes(newSlots + 2 &* (index &+ 1), oldSlots + 2 &* index, 2 &* (count &- index))
    memmoveBytes(newSlots, oldSlots, 2 &* index)
    memmoveBytes(arrays + width &* (index &+ 1), arrays + width &* index, width &* (count &- index))
    let offset = leaf.cellStart &- cellByteCount
    writeLeafCell(leaf.base + offset, header, key.base + known, keyCount, value)
    newSlots.storeBytes(of: UInt16(truncatingIfNeeded: offset), toByteOffset: 2 &* index, as: UInt16.self)
    if hasIntegerKeys {
      leaf.heads64[index] = key.integer
    } else {
      leaf.heads32[index] = KeyOrder.head(key.base + prefixCount, key.count &- prefixCount)
    }
    leaf.cellStart = offset
    leaf.count = count &+ 1
    return true
  }

  /// Writes a leaf cell; those of uniform leaves have no header.
  @inline(__always) private func writeLeafCell(
    _ cell: UnsafeMutableRawPointer, _ header: Int, _ key: UnsafeRawPointer, _ keyCount: Int, _ value: CellValue
  ) {
    if header != 0 {
      cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
      cell.storeBytes(of: value.lengthField, toByteOffset: 2, as: UInt16.self)
    }
    let body = cell + header
    if keyCount > 0 { body.copyMemory(from: key, byteCount: keyCount) }
    if value.count > 0, let base = value.bytes.baseAddress {
      (body + keyCount).copyMemory(from: base, byteCount: value.count)
    }
  }

  /// Gives the entry at `index` of the private leaf another value.
  private func replaceValue(
    _ value: CellValue, at index: Int, _ key: SearchKey, in root: inout TreeRoot
  ) throws(StorageError) {
    let leaf = path[depth - 1].page
    let cell = leaf.leafCell(index)
    if cell.isExtent { supersedeExtent(cell.extent) }
    if leaf.isUniform, value.lengthField != cell.lengthField {
      return try rebuildLeaf(inserting: key, value, at: index, replacing: true, in: &root)
    }
    if value.count <= cell.valueCount {
      // In place; what becomes free behind a shorter value is garbage until the page is compacted.
      if value.count > 0, let base = value.bytes.baseAddress {
        UnsafeMutableRawPointer(mutating: cell.value).copyMemory(from: base, byteCount: value.count)
      }
      if value.lengthField != cell.lengthField {
        UnsafeMutableRawPointer(mutating: cell.start)
          .storeBytes(of: value.lengthField, toByteOffset: 2, as: UInt16.self)
        leaf.garbage += cell.valueCount - value.count
      }
      return
    }
    let cellByteCount = PageLayout.leafCellHeader + cell.keyCount + value.count
    if leaf.cellStart - leaf.leafArraysEnd >= cellByteCount {
      let offset = leaf.cellStart - cellByteCount
      leaf.garbage += cell.byteCount
      writeLeafCell(leaf.base + offset, PageLayout.leafCellHeader, cell.key, cell.keyCount, value)
      leaf.leafSlots[index] = UInt16(truncatingIfNeeded: offset)
      leaf.cellStart = offset
      return
    }
    try rebuildLeaf(inserting: key, value, at: index, replacing: true, in: &root)
  }

  /// Writes a leaf anew without its garbage.
  func compactLeaf(_ leaf: PageBytes) {
    let old = PageBytes(scratch)
    scratch.copyMemory(from: leaf.base, byteCount: pageSize)
    var top = pageSize
    let prefixCount = old.prefixCount
    if prefixCount > 0 {
      top -= prefixCount
      (leaf.base + top).copyMemory(from: old.prefix, byteCount: prefixCount)
      leaf.prefixOffset = top
    }
    let (oldSlots, slots) = (old.leafSlots, leaf.leafSlots)
    for index in 0..<old.count {
      let cell = old.leafCell(at: Int(oldSlots[index]))
      top -= cell.byteCount
      (leaf.base + top).copyMemory(from: cell.start, byteCount: cell.byteCount)
      slots[index] = UInt16(truncatingIfNeeded: top)
    }
    leaf.cellStart = top
    leaf.garbage = 0
  }
}

extension PageBytes {
  /// Whether a uniform leaf stays uniform with an entry more.
  @inline(__always) func isUniform(with key: SearchKey, _ value: CellValue) -> Bool {
    Int(value.lengthField) == uniformValueCount
      && (hasIntegerKeys || key.count == prefixCount &+ 4 &+ uniformKeyCount)
  }
}

/// Moves bytes between ranges that may overlap.
@inline(__always) func memmoveBytes(_ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, _ count: Int) {
  target.copyMemory(from: source, byteCount: count)
}
