// An entry on its way into a leaf.

/// An entry that bulk work measures and writes. Bytes are borrowed.
struct PackedEntry {
  /// What an old page's prefix held of the key; then come `headCount` bytes of `integer`, and `back` is the rest.
  var front: UnsafeRawPointer
  var back: UnsafeRawPointer
  /// What stands behind the key in the cell: the value, or the reference to its extent.
  var payload: UnsafeRawPointer
  /// An integer key, or the head of an entry of a uniform leaf.
  var integer: UInt64
  var frontCount: UInt16
  var backCount: UInt16
  /// The cell's own statement of the value's length, with the flag of an extent, copied as it is.
  var valueField: UInt16
  /// How many bytes of the key `integer` alone has: 4 or none.
  private var headCount: UInt8
  /// What stands in front of the key in the cell that the entry is in; `noCell` if it is in none.
  private var cellHeader: UInt8

  private static let noCell: UInt8 = .max

  /// A new entry, whose key is in one piece.
  @inline(__always) init(key: SearchKey, integer: UInt64, payload: UnsafeRawPointer, valueField: UInt16) {
    (front, back, self.payload, self.integer) = (key.base, key.base, payload, integer)
    (frontCount, backCount, self.valueField) = (0, UInt16(truncatingIfNeeded: key.count), valueField)
    (headCount, cellHeader) = (0, Self.noCell)
  }

  /// Entry `index` of a leaf, where it stands.
  @inline(__always) init(_ leaf: LeafReader, _ index: Int) {
    let cell = leaf.cell(index)
    (front, back, payload, integer) = (leaf.prefix, cell.key, cell.value, leaf.head(index))
    (frontCount, backCount) = (
      UInt16(truncatingIfNeeded: leaf.prefixCount), UInt16(truncatingIfNeeded: cell.keyCount)
    )
    valueField = cell.lengthField
    (headCount, cellHeader) = (
      UInt8(truncatingIfNeeded: leaf.keyCountInHead), UInt8(truncatingIfNeeded: leaf.cellHeader)
    )
  }

  /// Whether the payload is a reference to an extent.
  @inline(__always) var isExtent: Bool { valueField & LeafCell.extentBit != 0 }
  @inline(__always) var payloadCount: Int { Int(valueField & ~LeafCell.extentBit) }
  @inline(__always) var keyCount: Int { Int(frontCount) &+ Int(headCount) &+ Int(backCount) }

  /// Whether the entry stands in a cell such as a leaf has whose prefix is `prefix` bytes long, and whose cells have
  /// `header` bytes in front of the key.
  @inline(__always) func isCell(_ prefix: Int, _ header: Int) -> Bool {
    Int(frontCount) == prefix && Int(cellHeader) == header
  }
  /// Where that cell begins.
  @inline(__always) var cell: UnsafeRawPointer { back - Int(cellHeader) }

  /// Whether two entries may stand in one uniform leaf, if either may in any.
  @inline(__always) func hasLengths(of other: PackedEntry) -> Bool {
    keyCount == other.keyCount && valueField == other.valueField
  }

  /// Whether the entry may stand in a uniform leaf.
  @inline(__always) func suitsUniformLeaf(hasIntegerKeys: Bool) -> Bool {
    if isExtent { return false }
    return PageLayout.mayBeUniform(keyCount: keyCount, hasIntegerKeys: hasIntegerKeys)
  }

  /// The key as the parts of the tree that take pages apart know it.
  var splitKey: SplitKey { keyPrefix(keyCount) }

  /// The first `count` bytes of the key, borrowed as the key is.
  func keyPrefix(_ count: Int) -> SplitKey {
    let fromFront = min(count, Int(frontCount))
    let fromHead = min(count - fromFront, Int(headCount))
    var key = SplitKey(
      front: UnsafeRawBufferPointer(start: front, count: fromFront), head: UInt32(truncatingIfNeeded: integer),
      headCount: fromHead, back: UnsafeRawBufferPointer(start: back, count: count - fromFront - fromHead))
    key.integer = integer
    return key
  }

  /// Byte `index` of the key.
  @inline(__always) private func byte(_ index: Int) -> UInt8 {
    let rest = index &- Int(frontCount)
    if rest < 0 { return front.load(fromByteOffset: index, as: UInt8.self) }
    if rest < Int(headCount) { return KeyOrder.byte(rest, ofHead: UInt32(truncatingIfNeeded: integer)) }
    return back.load(fromByteOffset: rest &- Int(headCount), as: UInt8.self)
  }

  /// The four bytes of the key from `offset` on as a big-endian number; there must be as many.
  @inline(__always) func head(at offset: Int) -> UInt32 {
    let rest = offset &- Int(frontCount)
    if headCount == 0, rest >= 0 { return KeyOrder.head(back + rest, 4) }
    if headCount == 4, rest == 0 { return UInt32(truncatingIfNeeded: integer) }
    var head: UInt32 = 0
    for index in 0..<4 { head = head &<< 8 | UInt32(byte(offset &+ index)) }
    return head
  }

  /// The bytes of the key from `index` on that lie in one piece, if the head has none of them.
  @inline(__always) private func piece(at index: Int) -> (start: UnsafeRawPointer, count: Int) {
    let frontCount = Int(frontCount)
    if index < frontCount { return (front + index, frontCount &- index) }
    return (back + (index &- frontCount), Int(backCount) &- (index &- frontCount))
  }

  /// How many bytes the keys of two entries have in common at their start.
  func commonPrefixCount(with other: PackedEntry) -> Int {
    let limit = min(keyCount, other.keyCount)
    if headCount | other.headCount != 0 { return commonPrefixCount(with: other, limit) }
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

  /// The same where a part of a key stands in a head: what a page's prefix holds is mostly the same for both.
  private func commonPrefixCount(with other: PackedEntry, _ limit: Int) -> Int {
    let shared = min(Int(frontCount), Int(other.frontCount))
    var index = front == other.front ? shared : PackedEntry.commonCount(front, other.front, shared)
    if index < shared { return index }
    let (known, otherKnown) = (Int(frontCount) &+ Int(headCount), Int(other.frontCount) &+ Int(other.headCount))
    if frontCount == other.frontCount, headCount == other.headCount {
      let difference = UInt32(truncatingIfNeeded: integer ^ other.integer)
      if difference != 0 { return shared &+ difference.leadingZeroBitCount &>> 3 }
      index = known
    } else {
      // A few bytes: as far as one of them has a prefix or a head and the other does not.
      let end = min(limit, max(known, otherKnown))
      while index < end, byte(index) == other.byte(index) { index &+= 1 }
      if index < end { return index }
    }
    if index >= limit { return limit }
    return index
      &+ PackedEntry.commonCount(back + (index &- known), other.back + (index &- otherKnown), limit &- index)
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

  /// Copies the key without its first `skipped` bytes, and the payload behind it.
  @inline(__always) func copy(skipping skipped: Int, to target: UnsafeMutableRawPointer) {
    let known = Int(frontCount) &+ Int(headCount)
    if skipped >= known {
      let restCount = Int(backCount) &- (skipped &- known)
      // In the cell of a leaf the value stands directly behind the key.
      if back + Int(backCount) == payload {
        target.copyMemory(from: payload - restCount, byteCount: restCount &+ payloadCount)
      } else {
        target.copyMemory(from: back + (skipped &- known), byteCount: restCount)
        (target + restCount).copyMemory(from: payload, byteCount: payloadCount)
      }
      return
    }
    var count = 0
    var fromHead = skipped &- Int(frontCount)
    if fromHead < 0 {
      count = 0 &- fromHead
      target.copyMemory(from: front + skipped, byteCount: count)
      fromHead = 0
    }
    while fromHead < Int(headCount) {
      target.storeBytes(
        of: KeyOrder.byte(fromHead, ofHead: UInt32(truncatingIfNeeded: integer)), toByteOffset: count, as: UInt8.self)
      count &+= 1
      fromHead &+= 1
    }
    if back + Int(backCount) == payload {
      (target + count).copyMemory(from: back, byteCount: Int(backCount) &+ payloadCount)
    } else {
      (target + count).copyMemory(from: back, byteCount: Int(backCount))
      (target + (count &+ Int(backCount))).copyMemory(from: payload, byteCount: payloadCount)
    }
  }
}
