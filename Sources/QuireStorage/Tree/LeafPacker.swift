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

  /// Whether the entry stands in a leaf's cell, with `prefix` bytes of its key in front. Only of such an entry are the
  /// pieces of the key in different places.
  @inline(__always) func isCell(_ prefix: Int) -> Bool {
    Int(frontCount) == prefix && front != back && back + Int(backCount) == payload
  }
  /// Where that cell begins.
  @inline(__always) var cell: UnsafeRawPointer { back - PageLayout.leafCellHeader }

  /// The key as the parts of the tree that take pages apart know it.
  var splitKey: SplitKey {
    var key = SplitKey(
      front: UnsafeRawBufferPointer(start: front, count: Int(frontCount)),
      back: UnsafeRawBufferPointer(start: back, count: Int(backCount)))
    key.integer = integer
    return key
  }

  /// The first `count` bytes of the key, borrowed as the key is.
  func keyPrefix(_ count: Int) -> SplitKey {
    let fromFront = min(count, Int(frontCount))
    var key = SplitKey(
      front: UnsafeRawBufferPointer(start: front, count: fromFront),
      back: UnsafeRawBufferPointer(start: back, count: count - fromFront))
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
  // Unchecked as in `TreeEditor`: every entry of a batch goes through here.
  @exclusivity(unchecked) private(set) var entries: UnsafeMutablePointer<PackedEntry>
  @exclusivity(unchecked) private var capacity = 64
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private(set) var byteCount = 0

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

  /// Takes the first `number` entries off.
  func removeFirst(_ number: Int) {
    for index in 0..<number { byteCount &-= cellByteCount(of: entries[index]) }
    count &-= number
    entries.update(from: entries + number, count: count)
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
    let entries = entries
    var start = 0
    var done = 0
    while start < count {
      var end = start + 1
      var sum = cellByteCount(of: entries[start])
      var placed = done + sum - shared
      while end < count, fills || placed < target * (ends.count + 1) {
        let next = cellByteCount(of: entries[end])
        let needed = PageLayout.headerByteCount + sum + next
        if needed > limit {
          // Only now: to compare keys costs more than all the rest.
          let prefix = hasIntegerKeys ? 0 : entries[start].commonPrefixCount(with: entries[end])
          if needed - (end - start) * prefix > limit { break }
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
    var place = range.lowerBound
    while place < range.upperBound {
      let count = cellRun(place..<range.upperBound, prefix)
      if count > 0 {
        top = encodeCells(place..<(place + count), at: place - range.lowerBound, below: top, into: page)
        place &+= count
      } else {
        top = encode(entries[place], at: place - range.lowerBound, below: top, prefix, into: page)
        place &+= 1
      }
    }
    page.cellStart = top
    page.garbage = 0
  }

  /// How many entries at the start of `range` stand in cells that a leaf with this prefix may have as they are, one
  /// directly below the other.
  @inline(__always) private func cellRun(_ range: Range<Int>, _ prefix: Int) -> Int {
    let entries = entries
    var place = range.lowerBound
    while place < range.upperBound {
      let entry = entries[place]
      guard entry.isCell(prefix), !hasIntegerKeys || entry.backCount == 0 else { break }
      if place > range.lowerBound, entry.payload + Int(entry.payloadCount) != entries[place &- 1].cell { break }
      place &+= 1
    }
    return place &- range.lowerBound
  }

  /// Copies the cells of the entries `range`, which lie one directly below the other, below `top`; returns where the
  /// last one begins.
  @inline(__always) private func encodeCells(
    _ range: Range<Int>, at index: Int, below top: Int, into page: PageBytes
  ) -> Int {
    let entries = entries
    let first = entries[range.lowerBound]
    let lowest = entries[range.upperBound &- 1].cell
    let byteCount = first.payload + Int(first.payloadCount) - lowest
    (page.base + (top &- byteCount)).copyMemory(from: lowest, byteCount: byteCount)
    let slots = page.leafSlots + index
    var offset = top
    for place in range {
      let entry = entries[place]
      offset &-= PageLayout.leafCellHeader &+ Int(entry.backCount) &+ Int(entry.payloadCount)
      let number = place &- range.lowerBound
      slots[number] = UInt16(truncatingIfNeeded: offset)
      if hasIntegerKeys {
        page.heads64[index &+ number] = entry.integer
      } else {
        let key = page.base + offset + PageLayout.leafCellHeader
        page.heads32[index &+ number] = KeyOrder.head(key, Int(entry.backCount))
      }
    }
    return offset
  }

  /// Writes an entry from wherever its pieces are; returns where its cell begins.
  @inline(__always) private func encode(
    _ entry: PackedEntry, at index: Int, below top: Int, _ prefix: Int, into page: PageBytes
  ) -> Int {
    let keyCount = hasIntegerKeys ? 0 : entry.keyCount &- prefix
    let payloadCount = Int(entry.payloadCount)
    let offset = top &- (PageLayout.leafCellHeader &+ keyCount &+ payloadCount)
    let cell = page.base + offset
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
    page.leafSlots[index] = UInt16(truncatingIfNeeded: offset)
    return offset
  }
}
