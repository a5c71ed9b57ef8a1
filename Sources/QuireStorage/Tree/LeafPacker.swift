// Packing entries into leaves: the one place where bulk work measures and writes them.

/// An entry on its way into a leaf. Bytes are borrowed.
struct PackedEntry {
  /// What an old page's prefix held of the key; `back` is the rest. Integer keys are in `integer` alone.
  var front: UnsafeRawPointer
  var back: UnsafeRawPointer
  /// What stands behind the key in the cell: the value, or the reference to its extent.
  var payload: UnsafeRawPointer
  var integer: UInt64
  var frontCount: UInt16
  var backCount: UInt16
  var payloadCount: UInt16
  /// The cell's own statement of the value's length, with the flag of an extent, copied as it is.
  var valueField: UInt16

  /// Whether the payload is a reference to an extent.
  @inline(__always) var isExtent: Bool { valueField & LeafCell.extentBit != 0 }
  @inline(__always) var keyCount: Int { Int(frontCount) &+ Int(backCount) }

  /// The key as the parts of the tree that take pages apart know it.
  var splitKey: SplitKey {
    var key = SplitKey(
      front: UnsafeRawBufferPointer(start: front, count: Int(frontCount)),
      back: UnsafeRawBufferPointer(start: back, count: Int(backCount)))
    key.integer = integer
    return key
  }

  /// The bytes of the key from `index` on that lie in one piece.
  @inline(__always) private func piece(at index: Int) -> (start: UnsafeRawPointer, count: Int) {
    let frontCount = Int(frontCount)
    if index < frontCount { return (front + index, frontCount &- index) }
    return (back + (index &- frontCount), Int(backCount) &- (index &- frontCount))
  }

  /// How many bytes the keys of two entries have in common at their start.
  func commonPrefixCount(with other: PackedEntry) -> Int {
    let limit = min(keyCount, other.keyCount)
    var index = 0
    while index < limit {
      let (left, right) = (piece(at: index), other.piece(at: index))
      let count = min(left.count, right.count)
      let common = left.start == right.start ? count : PackedEntry.commonCount(left.start, right.start, count)
      index &+= common
      if common < count { break }
    }
    return min(index, limit)
  }

  @inline(__always) private static func commonCount(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
  ) -> Int {
    var index = 0
    while index &+ 8 <= count {
      let difference =
        left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        ^ right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if difference != 0 { return index &+ difference.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < count,
      left.load(fromByteOffset: index, as: UInt8.self) == right.load(fromByteOffset: index, as: UInt8.self)
    {
      index &+= 1
    }
    return index
  }

  /// Copies the key without its first `skipped` bytes.
  @inline(__always) func copyKey(skipping skipped: Int, to target: UnsafeMutableRawPointer) {
    let frontCount = Int(frontCount)
    if skipped >= frontCount {
      let rest = skipped &- frontCount
      target.copyMemory(from: back + rest, byteCount: Int(backCount) &- rest)
      return
    }
    target.copyMemory(from: front + skipped, byteCount: frontCount &- skipped)
    (target + (frontCount &- skipped)).copyMemory(from: back, byteCount: Int(backCount))
  }
}

/// A list of entries in ascending order, and the leaves that they fill.
///
/// Invariant: `byteCount` is what the entries take in a leaf without a prefix, header not counted.
final class LeafPacker {
  let pageSize: Int
  let hasIntegerKeys: Bool
  private(set) var entries: UnsafeMutablePointer<PackedEntry>
  private var capacity = 64
  private(set) var count = 0
  private(set) var byteCount = 0

  init(pageSize: Int, keyKind: KeyKind) {
    self.pageSize = pageSize
    hasIntegerKeys = keyKind == .int64
    entries = UnsafeMutablePointer.allocate(capacity: capacity)
  }

  deinit { entries.deallocate() }

  /// What an entry takes beside key and value.
  @inline(__always) private var overhead: Int { (hasIntegerKeys ? 10 : 6) &+ PageLayout.leafCellHeader }

  /// What an entry takes in a leaf without a prefix.
  @inline(__always) func cellByteCount(of entry: PackedEntry) -> Int {
    overhead &+ entry.keyCount &+ Int(entry.payloadCount)
  }

  func removeAll() {
    count = 0
    byteCount = 0
  }

  /// Adds an entry behind the others.
  @inline(__always) func append(_ entry: PackedEntry) {
    if count == capacity { grow() }
    (entries + count).initialize(to: entry)
    count &+= 1
    byteCount &+= cellByteCount(of: entry)
  }

  @inline(never) private func grow() {
    let larger = UnsafeMutablePointer<PackedEntry>.allocate(capacity: 2 * capacity)
    larger.update(from: entries, count: count)
    entries.deallocate()
    entries = larger
    capacity *= 2
  }

  /// Adds the entries `range` of a leaf, which must stay as it is while they are used.
  @inline(__always) func append(_ leaf: PageBytes, _ range: Range<Int>) {
    let (prefix, prefixCount) = (leaf.prefix, UInt16(truncatingIfNeeded: leaf.prefixCount))
    let slots = leaf.leafSlots
    for index in range {
      let cell = UnsafeRawPointer(leaf.base + Int(slots[index]))
      let whole = leaf.leafCell(at: Int(slots[index]))
      let payload = whole.key + whole.keyCount
      append(
        PackedEntry(
          front: prefix, back: whole.key, payload: payload, integer: hasIntegerKeys ? leaf.heads64[index] : 0,
          frontCount: hasIntegerKeys ? 0 : prefixCount, backCount: UInt16(truncatingIfNeeded: whole.keyCount),
          payloadCount: UInt16(
            truncatingIfNeeded: whole.byteCount &- PageLayout.leafCellHeader &- whole.keyCount),
          valueField: cell.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }

  /// Adds a new entry.
  func append(_ key: SearchKey, _ value: CellValue) {
    append(
      PackedEntry(
        front: key.base, back: key.base, payload: value.bytes.baseAddress ?? key.base, integer: key.integer,
        frontCount: 0, backCount: UInt16(truncatingIfNeeded: key.count),
        payloadCount: UInt16(truncatingIfNeeded: value.count), valueField: value.lengthField))
  }

  /// What the parent of a leaf of the entries `range` counts for it: a word of `ChildCount`.
  func childCount(_ range: Range<Int>) -> UInt64 {
    ChildCount.word(range.count, mayHaveExtents: range.contains { entries[$0].isExtent })
  }

  // MARK: Measuring

  /// The prefix that a leaf of the entries `range` has. A single entry keeps its key whole: as a prefix it would make
  /// the next insert rebuild the page.
  private func prefixCount(_ range: Range<Int>) -> Int {
    guard !hasIntegerKeys, range.count > 1 else { return 0 }
    return entries[range.lowerBound].commonPrefixCount(with: entries[range.upperBound - 1])
  }

  /// The bytes that a leaf of the entries `range` needs, header included.
  func leafByteCount(_ range: Range<Int>) -> Int {
    let prefix = prefixCount(range)
    var sum = byteCount
    if range.count != count {
      sum = 0
      for index in range { sum += cellByteCount(of: entries[index]) }
    }
    return PageLayout.headerByteCount + sum - range.count * prefix + prefix
  }

  /// Where to cut the entries into leaves: the end of each leaf, in order.
  ///
  /// - Parameters:
  ///   - limit: the most bytes that a leaf may take, if it has more than one entry.
  ///   - fills: whether leaves are filled to the limit, for ascending keys; otherwise all get about as much.
  func cuts(limit: Int, fills: Bool, into ends: inout [Int]) {
    ends.removeAll(keepingCapacity: true)
    guard count > 0 else { return }
    if leafByteCount(0..<count) <= limit {
      ends.append(count)
      return
    }
    let shared = prefixCount(0..<count)
    let total = byteCount - count * shared
    let room = limit - PageLayout.headerByteCount - shared
    // Room for one entry is kept aside: leaves are never cut inside one.
    let pieces = (total + room - 1) / max(1, room - total / count)
    let target = fills ? Int.max : (total + pieces - 1) / max(1, pieces)
    var start = 0
    var done = 0
    while start < count {
      var end = start + 1
      var sum = cellByteCount(of: entries[start])
      var placed = done + sum - shared
      while end < count, fills || placed < target * (ends.count + 1) {
        let next = cellByteCount(of: entries[end])
        let whole = PageLayout.headerByteCount + sum + next
        // What fits without a prefix fits with one.
        if whole > limit {
          let prefix = hasIntegerKeys ? 0 : entries[start].commonPrefixCount(with: entries[end])
          if whole - (end - start) * prefix > limit { break }
        }
        sum += next
        placed += next - shared
        end += 1
      }
      done = placed
      ends.append(end)
      start = end
    }
  }

  // MARK: Writing

  /// Fills `page`, whose header has been initialized, with the entries `range`, which must fit and must not lie in it.
  func encode(_ range: Range<Int>, into page: PageBytes) {
    let prefix = prefixCount(range)
    let first = entries[range.lowerBound]
    var top = pageSize
    page.prefixCount = prefix
    page.prefixOffset = 0
    if prefix > 0 {
      top -= prefix
      page.prefixOffset = top
      let fromFront = min(prefix, Int(first.frontCount))
      (page.base + top).copyMemory(from: first.front, byteCount: fromFront)
      (page.base + top + fromFront).copyMemory(from: first.back, byteCount: prefix - fromFront)
    }
    page.count = range.count
    let slots = page.leafSlots
    var index = 0
    for place in range {
      let entry = entries[place]
      let keyCount = hasIntegerKeys ? 0 : entry.keyCount &- prefix
      let payloadCount = Int(entry.payloadCount)
      top &-= PageLayout.leafCellHeader &+ keyCount &+ payloadCount
      let cell = page.base + top
      cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
      cell.storeBytes(of: entry.valueField, toByteOffset: 2, as: UInt16.self)
      let key = cell + PageLayout.leafCellHeader
      if hasIntegerKeys {
        page.heads64[index] = entry.integer
        key.copyMemory(from: entry.payload, byteCount: payloadCount)
      } else {
        // In the cell of another leaf the value stands directly behind the key.
        if prefix >= Int(entry.frontCount), entry.back + Int(entry.backCount) == entry.payload {
          key.copyMemory(from: entry.payload - keyCount, byteCount: keyCount &+ payloadCount)
        } else {
          entry.copyKey(skipping: prefix, to: key)
          (key + keyCount).copyMemory(from: entry.payload, byteCount: payloadCount)
        }
        page.heads32[index] = KeyOrder.head(key, keyCount)
      }
      slots[index] = UInt16(truncatingIfNeeded: top)
      index &+= 1
    }
    page.cellStart = top
    page.garbage = 0
  }
}
