// The bytes of leaves are written here alone: an entry at a time in place, or all of an empty leaf.

/// Edits a private leaf where its entries stand. What does not fit in place is for `LeafRewriter`.
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
      guard leaf.leafRoom >= needed else { return false }
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
    if header != 0 { LeafCell.writeLengths(keyCount, value.lengthField, to: cell) }
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
        cell.setLengthField(value.lengthField)
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

/// Fills an empty leaf, cells from the end of the page down, entries in ascending order.
///
/// `page` must be private, its header cleared; what is copied to it must not lie in it. Of the invariants of
/// `LeafWriter`, all hold once `finish` has been called.
struct LeafEncoder {
  private let page: PageBytes
  /// The place of the prefix.
  let prefix: UnsafeMutableRawPointer
  private let slots: UnsafeMutablePointer<UInt16>
  private let heads32: UnsafeMutablePointer<UInt32>
  private let heads64: UnsafeMutablePointer<UInt64>
  private let hasIntegerKeys: Bool
  /// Where the lowest cell begins, so far.
  private var top: Int
  private var index = 0
  /// Bytes in front of the key in each cell.
  let cellHeader: Int
  /// How many bytes of each key stand in its head and not in its cell.
  let keyCountInHead: Int

  /// Starts a leaf of `count` entries, all of which are written before `finish`. The bytes of the prefix, if there is
  /// one, are for the caller to copy to `prefix`.
  ///
  /// - Parameter lengths: those of all entries of a uniform leaf; nil for a plain one.
  @inline(__always) init(_ page: PageBytes, pageSize: Int, count: Int, prefixCount: Int, lengths: UniformLengths?) {
    assert(page.level == 0, "what is written as a leaf is a branch")
    self.page = page
    hasIntegerKeys = page.hasIntegerKeys
    page.count = count
    page.prefixCount = prefixCount
    top = pageSize &- prefixCount
    page.prefixOffset = prefixCount > 0 ? top : 0
    prefix = page.base + top
    if let lengths { page.setUniform(lengths) }
    (slots, heads32, heads64) = (page.leafSlots, page.heads32, page.heads64)
    (cellHeader, keyCountInHead) = (page.cellHeader, page.headOnlyCount)
  }

  /// The place of the next cells, which take `byteCount`: the last of them lies lowest.
  @inline(__always) mutating func makeRoom(_ byteCount: Int) -> UnsafeMutableRawPointer {
    assert(byteCount >= 0 && byteCount <= top, "cells are longer than their page")
    top &-= byteCount
    return page.base + top
  }

  /// Enters the next entry: what its head holds, and where its cell begins.
  @inline(__always) mutating func enter(head: UInt64, cell: UnsafeMutableRawPointer) {
    assert(index < page.count, "a leaf gets more entries than were said")
    slots[index] = UInt16(truncatingIfNeeded: cell - page.base)
    if hasIntegerKeys {
      heads64[index] = head
    } else {
      heads32[index] = UInt32(truncatingIfNeeded: head)
    }
    index &+= 1
  }

  /// Completes the leaf.
  @inline(__always) func finish() {
    assert(index == page.count, "a leaf lacks entries")
    assert(page.leafArraysEnd <= top, "arrays and cells meet")
    page.cellStart = top
    page.garbage = 0
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
