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
  /// What its head holds.
  private let newHead: UInt64
  private let cellByteCount: Int
  /// How many bytes of each key the cells have.
  private let cellKeyCount: Int
  let left: Range<Int>
  let right: Range<Int>

  init(_ leaf: PageBytes, _ key: SearchKey, _ value: CellValue, at index: Int) {
    (self.leaf, self.key, self.value, self.index) = (leaf, key, value, index)
    assert(leaf.isUniform && leaf.count > 0, "what is divided is uniform")
    newHead =
      leaf.hasIntegerKeys
      ? key.integer : UInt64(KeyOrder.head(key.base + leaf.prefixCount, key.count &- leaf.prefixCount))
    let cell = leaf.leafCell(0)
    (cellByteCount, cellKeyCount) = (cell.byteCount, cell.keyCount)
    assert(index >= 0 && index <= leaf.count, "an entry goes between others or behind them")
    let count = leaf.count + 1
    left = 0..<(count + 1) / 2
    right = left.upperBound..<count
  }

  /// Whether neither half could have a prefix longer by two bytes, or is a single entry, which has none. What a prefix
  /// gains the cells lose: four bytes of each key stay for the head.
  var mayKeepPrefix: Bool {
    if right.count < 2 { return false }
    return leaf.hasIntegerKeys || cellKeyCount < 2 || (differs(left) && differs(right))
  }

  private func differs(_ half: Range<Int>) -> Bool {
    (head(half.lowerBound) ^ head(half.upperBound - 1)) >> 16 != 0
  }

  private func head(_ place: Int) -> UInt64 {
    place == index ? newHead : LeafReader(leaf).head(place < index ? place : place - 1)
  }

  /// Whether a page takes the larger half: always so unless the leaf comes from a forged file, where cells overlap.
  func fit(_ pageSize: Int) -> Bool {
    PageLayout.headerByteCount + left.count * leaf.uniformEntryByteCount + leaf.prefixCount <= pageSize
  }

  /// Writes the entries `half` of all, the old ones from `source`, into `target`, whose header has been cleared.
  func write(_ half: Range<Int>, of source: PageBytes, into target: PageBytes, _ pageSize: Int) {
    assert(source.base != target.base, "a half is written over what it is copied from")
    let reader = LeafReader(source)
    var encoder = LeafEncoder(
      target, pageSize: pageSize, count: half.count, prefixCount: reader.prefixCount, lengths: source.uniformLengths)
    if reader.prefixCount > 0 { encoder.prefix.copyMemory(from: reader.prefix, byteCount: reader.prefixCount) }
    for place in half {
      let cell = encoder.makeRoom(cellByteCount)
      if place == index {
        writeNew(to: cell)
        encoder.enter(head: newHead, cell: cell)
      } else {
        let old = place < index ? place : place &- 1
        cell.copyMemory(from: reader.cell(old).start, byteCount: cellByteCount)
        encoder.enter(head: reader.head(old), cell: cell)
      }
    }
    encoder.finish()
  }

  private func writeNew(to cell: UnsafeMutableRawPointer) {
    if cellKeyCount > 0 { cell.copyMemory(from: key.base + (key.count &- cellKeyCount), byteCount: cellKeyCount) }
    if value.count > 0, let base = value.bytes.baseAddress {
      (cell + cellKeyCount).copyMemory(from: base, byteCount: value.count)
    }
  }
}
