// Dividing a full uniform leaf, the split that random keys bring: nothing is measured, and no key is put together.

/// The entries of a uniform leaf and a new one among them, in two halves. `leaf` is looked at until they are written.
///
/// Both halves keep the old leaf's prefix, and with it the cells as they are.
struct LeafDivision {
  private let leaf: PageBytes
  private let key: SearchKey
  private let value: CellValue
  /// The place of the new entry.
  private let index: Int
  /// The head of its key; byte-string keys only.
  private let newHead: UInt32
  private let cellByteCount: Int
  let left: Range<Int>
  let right: Range<Int>

  init(_ leaf: PageBytes, _ key: SearchKey, _ value: CellValue, at index: Int) {
    (self.leaf, self.key, self.value, self.index) = (leaf, key, value, index)
    newHead =
      leaf.hasIntegerKeys ? 0 : KeyOrder.head(key.base + leaf.prefixCount, key.count &- leaf.prefixCount)
    cellByteCount = leaf.uniformCellByteCount
    assert(leaf.isUniform, "what is divided is uniform")
    assert(index >= 0 && index <= leaf.count, "an entry goes between others or behind them")
    let count = leaf.count + 1
    left = 0..<(count + 1) / 2
    right = left.upperBound..<count
  }

  /// Whether neither half could have a prefix longer by two bytes, or is a single entry, which has none. What a prefix
  /// gains the cells lose: four bytes of each key stay for the head.
  var mayKeepPrefix: Bool {
    if right.count < 2 { return false }
    return leaf.hasIntegerKeys || leaf.uniformKeyCount < 2 || (differs(left) && differs(right))
  }

  private func differs(_ half: Range<Int>) -> Bool {
    (head(half.lowerBound) ^ head(half.upperBound - 1)) >> 16 != 0
  }

  private func head(_ place: Int) -> UInt32 {
    if place == index { return newHead }
    return leaf.heads32[place < index ? place : place - 1]
  }

  /// Whether a page takes the larger half: always so unless the leaf comes from a forged file, where cells overlap.
  func fit(_ pageSize: Int) -> Bool {
    let entryByteCount = cellByteCount + leaf.headWidth + 2
    return PageLayout.headerByteCount + left.count * entryByteCount + leaf.prefixCount <= pageSize
  }

  /// Writes the entries `half` of all, the old ones from `source`, into `target`, whose header has been cleared.
  func write(_ half: Range<Int>, of source: PageBytes, into target: PageBytes, _ pageSize: Int) {
    assert(source.base != target.base, "a half is written over what it is copied from")
    let prefixCount = source.prefixCount
    var top = pageSize &- prefixCount
    if prefixCount > 0 {
      (target.base + top).copyMemory(from: source.prefix, byteCount: prefixCount)
      target.prefixCount = prefixCount
      target.prefixOffset = top
    }
    target.count = half.count
    target.setUniform(keyCount: source.uniformKeyCount, valueCount: source.uniformValueCount)
    let (oldSlots, slots) = (source.leafSlots, target.leafSlots)
    for place in half {
      top &-= cellByteCount
      let number = place &- half.lowerBound
      slots[number] = UInt16(truncatingIfNeeded: top)
      if place == index {
        writeNew(to: target.base + top, at: number, of: target)
        continue
      }
      let old = place < index ? place : place &- 1
      (target.base + top).copyMemory(from: source.base + Int(oldSlots[old]), byteCount: cellByteCount)
      if source.hasIntegerKeys {
        target.heads64[number] = source.heads64[old]
      } else {
        target.heads32[number] = source.heads32[old]
      }
    }
    target.cellStart = top
  }

  private func writeNew(to cell: UnsafeMutableRawPointer, at number: Int, of target: PageBytes) {
    var keyCount = 0
    if target.hasIntegerKeys {
      target.heads64[number] = key.integer
    } else {
      target.heads32[number] = newHead
      keyCount = target.uniformKeyCount
      if keyCount > 0 { cell.copyMemory(from: key.base + (key.count &- keyCount), byteCount: keyCount) }
    }
    if value.count > 0, let base = value.bytes.baseAddress {
      (cell + keyCount).copyMemory(from: base, byteCount: value.count)
    }
  }
}

extension PageBytes {
  /// What each entry of a uniform leaf takes beside head and offset.
  @inline(__always) var uniformCellByteCount: Int { uniformKeyCount &+ uniformValueCount }

  /// Whether an entry more would fit into a uniform leaf, if need be after its cells have been moved together.
  @inline(__always) var hasRoomForUniformCell: Bool {
    cellStart &- leafArraysEnd &+ garbage >= uniformCellByteCount &+ headWidth &+ 2
  }
}
