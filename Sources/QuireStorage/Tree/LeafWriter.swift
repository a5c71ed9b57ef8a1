// Editing a leaf in place: the one place besides `LeafPacker` that writes the bytes of leaves.

/// Edits a private leaf where its entries stand. What does not fit in place is for `LeafPacker`, which writes leaves
/// anew.
///
/// Invariants, before and after each call:
/// 1. Heads are those of the keys, and strictly ascending with them.
/// 2. The arrays end in front of `cellStart`; every cell lies behind it, and no two overlap.
/// 3. `garbage` counts the bytes behind `cellStart` that no cell, nor the prefix, takes.
struct LeafWriter {
  let leaf: PageBytes
  let pageSize: Int
  /// Room for a page, which nothing of what is being written lies in.
  let scratch: UnsafeMutableRawPointer

  @inline(__always) init(_ leaf: PageBytes, pageSize: Int, scratch: UnsafeMutableRawPointer) {
    (self.leaf, self.pageSize, self.scratch) = (leaf, pageSize, scratch)
    assert(leaf.level == 0, "what is edited as a leaf is a branch")
  }

  /// Inserts an entry; false if there is no room, or the key does not share the page's prefix, or the leaf is uniform
  /// and the entry is not like the others.
  @inline(__always) func insert(_ key: SearchKey, _ value: CellValue, at index: Int) -> Bool {
    assert(index >= 0 && index <= leaf.count, "an entry goes between others or behind them")
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
      compact()
    }
    // Heads move up to make room for one, slots by a head in front of the new one and by head and slot behind it.
    let count = leaf.count
    let arrays = leaf.base + PageLayout.headerByteCount
    let oldSlots = arrays + width &* count
    let newSlots = oldSlots + width
    memmoveBytes(newSlots + 2 &* (index &+ 1), oldSlots + 2 &* index, 2 &* (count &- index))
    memmoveBytes(newSlots, oldSlots, 2 &* index)
    memmoveBytes(arrays + width &* (index &+ 1), arrays + width &* index, width &* (count &- index))
    assert(leaf.cellStart - leaf.leafArraysEnd >= needed, "an entry is written without room")
    assert(keyCount >= 0, "an entry has less than the prefix of its leaf")
    let offset = leaf.cellStart &- cellByteCount
    writeCell(leaf.base + offset, header, key.base + known, keyCount, value)
    newSlots.storeBytes(of: UInt16(truncatingIfNeeded: offset), toByteOffset: 2 &* index, as: UInt16.self)
    if hasIntegerKeys {
      leaf.heads64[index] = key.integer
    } else {
      leaf.heads32[index] = KeyOrder.head(key.base + prefixCount, key.count &- prefixCount)
    }
    leaf.cellStart = offset
    leaf.count = count &+ 1
    assert(leaf.leafArraysEnd <= offset, "arrays and cells meet")
    return true
  }

  /// Writes a leaf cell; those of uniform leaves have no header.
  @inline(__always) private func writeCell(
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

  /// Gives the entry at `index` another value; false if there is no room, or the leaf is uniform and the value has not
  /// the length of the others.
  func replaceValue(at index: Int, by value: CellValue) -> Bool {
    assert(index < leaf.count, "there is such an entry")
    let cell = leaf.leafCell(index)
    if leaf.isUniform, value.lengthField != cell.lengthField { return false }
    if value.count <= cell.valueCount {
      // In place; what becomes free behind a shorter value is garbage until the page is compacted.
      setValueBytes(of: cell, value.bytes)
      if value.lengthField != cell.lengthField {
        UnsafeMutableRawPointer(mutating: cell.start)
          .storeBytes(of: value.lengthField, toByteOffset: 2, as: UInt16.self)
        leaf.garbage += cell.valueCount - value.count
      }
      return true
    }
    let cellByteCount = PageLayout.leafCellHeader + cell.keyCount + value.count
    guard leaf.cellStart - leaf.leafArraysEnd >= cellByteCount else { return false }
    assert(!leaf.isUniform, "entries of a uniform leaf have one length")
    let offset = leaf.cellStart - cellByteCount
    leaf.garbage += cell.byteCount
    writeCell(leaf.base + offset, PageLayout.leafCellHeader, cell.key, cell.keyCount, value)
    leaf.leafSlots[index] = UInt16(truncatingIfNeeded: offset)
    leaf.cellStart = offset
    return true
  }

  /// Overwrites the first bytes of a value where it stands.
  func setValueBytes(of cell: LeafCell, _ bytes: UnsafeRawBufferPointer) {
    assert(bytes.count <= cell.valueCount, "a value is overwritten by one that is no longer")
    guard bytes.count > 0, let base = bytes.baseAddress else { return }
    UnsafeMutableRawPointer(mutating: cell.value).copyMemory(from: base, byteCount: bytes.count)
  }

  /// Takes an entry out.
  func remove(at index: Int) {
    let count = leaf.count
    assert(index < count, "there is such an entry")
    assert(index >= 0, "entries are numbered from 0")
    let width = leaf.headWidth
    let offset = Int(leaf.leafSlots[index])
    let byteCount = leaf.leafCell(at: offset).byteCount
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

  /// Writes the leaf anew without its garbage.
  private func compact() {
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
    assert(top >= leaf.leafArraysEnd, "arrays and cells meet")
    assert(top >= old.cellStart, "a leaf takes more after it was compacted")
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
