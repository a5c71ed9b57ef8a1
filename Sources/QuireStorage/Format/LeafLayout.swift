// What a leaf looks like inside: its arrays, its cells, and what entries take in it. `PageLayout.swift` has the table.

internal import CQuirePlatform

extension PageLayout {
  /// Bytes in front of the key in a cell of a leaf that is not uniform.
  package static let leafCellHeader = 4
  /// The most bytes that a key of a uniform leaf may have beside its head.
  package static let uniformKeyLimit = 254
  /// How many bytes of a byte string its head holds.
  static let headByteCount = 4
  /// What an entry costs beside key and value, at the most: an 8-byte head, a cell offset, the cell's header.
  package static let entryOverhead = 8 + 2 + leafCellHeader

  /// What an entry takes beside key and value in a plain leaf without a prefix.
  @inline(__always) static func plainOverhead(hasIntegerKeys: Bool) -> Int {
    (hasIntegerKeys ? 10 : 6) &+ leafCellHeader
  }
  /// What an entry takes less in a uniform leaf: the lengths, and the bytes of its head.
  @inline(__always) static func uniformSaving(hasIntegerKeys: Bool) -> Int {
    leafCellHeader &+ (hasIntegerKeys ? 0 : headByteCount)
  }
  /// Whether entries whose keys have `keyCount` bytes may stand in a uniform leaf.
  @inline(__always) static func mayBeUniform(keyCount: Int, hasIntegerKeys: Bool) -> Bool {
    hasIntegerKeys || (keyCount >= headByteCount && keyCount <= uniformKeyLimit &+ headByteCount)
  }
}

/// The lengths that all entries of a uniform leaf have.
struct UniformLengths {
  /// How many bytes of each key the cells have.
  let cellKeyCount: Int
  let valueCount: Int

  @inline(__always) init(cellKeyCount: Int, valueCount: Int) {
    (self.cellKeyCount, self.valueCount) = (cellKeyCount, valueCount)
  }

  /// The lengths for keys that have `keyCount` bytes behind the prefix.
  @inline(__always) init(keyCount: Int, valueCount: Int, hasIntegerKeys: Bool) {
    self.init(cellKeyCount: hasIntegerKeys ? 0 : keyCount &- PageLayout.headByteCount, valueCount: valueCount)
  }
}

extension PageBytes {
  /// The offsets of a leaf's cells.
  @inline(__always) package var leafSlots: UnsafeMutablePointer<UInt16> {
    (base + PageLayout.headerByteCount + headWidth &* count).assumingMemoryBound(to: UInt16.self)
  }
  /// The first byte behind a leaf's arrays.
  @inline(__always) package var leafArraysEnd: Int { PageLayout.headerByteCount &+ (headWidth &+ 2) &* count }

  /// The header's byte for uniform leaves.
  @inline(__always) private var uniformByte: Int {
    Int(base.load(fromByteOffset: PageLayout.uniformKeyOffset, as: UInt8.self))
  }
  /// Whether a leaf is uniform: keys of one length, values of another, both in the header.
  @inline(__always) package var isUniform: Bool { uniformByte != 0 }
  /// How many bytes of each key the cells of a uniform leaf have.
  @inline(__always) package var uniformKeyCount: Int { uniformByte &- 1 }
  /// The length of each value of a uniform leaf.
  @inline(__always) package var uniformValueCount: Int { load16(PageLayout.uniformValueOffset) }
  /// The lengths that a uniform leaf has in its header; nil for a plain leaf.
  @inline(__always) var uniformLengths: UniformLengths? {
    isUniform ? UniformLengths(cellKeyCount: uniformKeyCount, valueCount: uniformValueCount) : nil
  }
  /// Makes an empty leaf uniform.
  @inline(__always) func setUniform(_ lengths: UniformLengths) {
    base.storeBytes(
      of: UInt8(truncatingIfNeeded: lengths.cellKeyCount &+ 1), toByteOffset: PageLayout.uniformKeyOffset,
      as: UInt8.self)
    store16(lengths.valueCount, PageLayout.uniformValueOffset)
  }
  /// How many bytes of each key stand in its head and not in its cell.
  @inline(__always) package var headOnlyCount: Int { isUniform && !hasIntegerKeys ? 4 : 0 }
  /// Bytes in front of the key in a cell.
  @inline(__always) package var cellHeader: Int { isUniform ? 0 : PageLayout.leafCellHeader }

  /// The cell at `offset`: address and length of what it has of the key, and of the value.
  @inline(__always) package func leafCell(at offset: Int) -> LeafCell {
    let cell = UnsafeRawPointer(base + offset)
    let uniform = uniformByte
    if uniform != 0 {
      let field = base.load(fromByteOffset: PageLayout.uniformValueOffset, as: UInt16.self)
      return LeafCell(start: cell, key: cell, keyCount: uniform &- 1, lengthField: field)
    }
    let keyCount = Int(cell.loadUnaligned(as: UInt16.self))
    let lengthField = cell.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
    return LeafCell(start: cell, key: cell + PageLayout.leafCellHeader, keyCount: keyCount, lengthField: lengthField)
  }
  /// The cell of entry `index`.
  @inline(__always) package func leafCell(_ index: Int) -> LeafCell { leafCell(at: Int(leafSlots[index])) }

  // MARK: Measures

  /// The bytes that more entries may take, if need be after the cells have been moved together.
  @inline(__always) var leafRoom: Int { cellStart &- leafArraysEnd &+ garbage }

  /// What an entry takes whose key has `keyCount` bytes behind the prefix: head, offset and cell.
  @inline(__always) func leafEntryByteCount(keyCount: Int, valueCount: Int) -> Int {
    let inCell = hasIntegerKeys ? 0 : keyCount &- headOnlyCount
    return cellHeader &+ headWidth &+ 2 &+ inCell &+ valueCount
  }

  /// What each entry of a uniform leaf takes.
  @inline(__always) var uniformEntryByteCount: Int { uniformKeyCount &+ uniformValueCount &+ headWidth &+ 2 }

  /// Whether an entry more would fit into a uniform leaf, if need be after its cells have been moved together.
  @inline(__always) var hasRoomForUniformCell: Bool { leafRoom >= uniformEntryByteCount }

  /// The longest prefix that a key of `keyCount` bytes may have in such a leaf: a uniform one leaves it a whole head.
  @inline(__always) func prefixLimit(keyCount: Int) -> Int { keyCount &- headOnlyCount }

  // MARK: Prefetching

  /// Asks for the cache lines from that of `offset` on; `lastLine` is where the last line of a page begins.
  @inline(__always) package func prefetchLines(from offset: Int, through lastLine: Int) {
    var line = offset & ~63
    while line <= lastLine {
      quire_prefetch(base + line)
      line &+= 64
    }
  }

  /// Asks for the cache lines of all cells.
  @inline(__always) package func prefetchCells(through lastLine: Int) {
    prefetchLines(from: cellStart, through: lastLine)
  }

  /// Asks for the first `lines` cache lines of an entry's cell in a leaf.
  @inline(__always) package func prefetchCell(_ index: Int, lines: Int) {
    // Without a look at the cell.
    let cell = base + Int(leafSlots[index])
    var line = 0
    while line < lines {
      quire_prefetch(cell + 64 &* line)
      line &+= 1
    }
  }
}

/// The entries of a leaf, which stays as it is: what the header says of all of them is looked up once.
struct LeafReader {
  private let leaf: PageBytes
  private let slots: UnsafeMutablePointer<UInt16>
  private let heads32: UnsafeMutablePointer<UInt32>
  private let heads64: UnsafeMutablePointer<UInt64>
  let hasIntegerKeys: Bool
  let prefix: UnsafeRawPointer
  let prefixCount: Int
  /// How many bytes of each key stand in its head and not in its cell.
  let keyCountInHead: Int
  /// Bytes in front of the key in each cell.
  let cellHeader: Int

  @inline(__always) init(_ leaf: PageBytes) {
    self.leaf = leaf
    (slots, heads32, heads64, hasIntegerKeys) = (leaf.leafSlots, leaf.heads32, leaf.heads64, leaf.hasIntegerKeys)
    (prefix, prefixCount) = (leaf.prefix, leaf.prefixCount)
    (keyCountInHead, cellHeader) = (leaf.headOnlyCount, leaf.cellHeader)
  }

  /// The cell of entry `index`.
  @inline(__always) func cell(_ index: Int) -> LeafCell { leaf.leafCell(at: Int(slots[index])) }

  /// What its head holds: an integer key, or four bytes of a byte string.
  @inline(__always) func head(_ index: Int) -> UInt64 { hasIntegerKeys ? heads64[index] : UInt64(heads32[index]) }
}

/// One entry of a leaf, as it lies in the page.
package struct LeafCell {
  /// The first byte of the cell.
  package let start: UnsafeRawPointer
  /// What the cell has of the key: all after the page's prefix, in a uniform leaf all after prefix and head.
  package let key: UnsafeRawPointer
  package let keyCount: Int
  /// The length of the value's bytes in the cell, and the flag.
  let lengthField: UInt16

  /// In `lengthField`: the bytes are a reference to an extent. Pages are short enough to leave the bit free.
  static let extentBit: UInt16 = 1 << 15

  /// How many bytes of the cell are the value, or the reference to it.
  @inline(__always) package var valueCount: Int { Int(lengthField & ~Self.extentBit) }
  /// Whether the value stands in an extent, and the cell has a reference.
  @inline(__always) package var isExtent: Bool { lengthField & Self.extentBit != 0 }
  /// The reference; only if the cell has one.
  package var extent: ExtentReference { ExtentReference(at: value) }
  /// The value's first byte.
  @inline(__always) package var value: UnsafeRawPointer { key + keyCount }
  /// What the cell takes in the page.
  @inline(__always) package var byteCount: Int { (key - start) &+ keyCount &+ valueCount }

  /// Writes the lengths in front of the key of a cell in a plain leaf.
  @inline(__always) static func writeLengths(_ keyCount: Int, _ lengthField: UInt16, to cell: UnsafeMutableRawPointer) {
    cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
    cell.storeBytes(of: lengthField, toByteOffset: 2, as: UInt16.self)
  }
  /// Changes the length of the value in a plain leaf.
  @inline(__always) func setLengthField(_ field: UInt16) {
    UnsafeMutableRawPointer(mutating: start).storeBytes(of: field, toByteOffset: 2, as: UInt16.self)
  }
}
