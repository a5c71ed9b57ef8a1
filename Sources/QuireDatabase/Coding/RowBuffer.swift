// The memory that an encoder writes to: raw, and kept from row to row.

/// Bytes that grow at their end.
///
/// Invariants: `0 <= count <= capacity`, and `count` bytes are written.
@safe struct RowBuffer: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int
  /// How many bytes were moved within since it was made, for tests to see that this is in proportion to what was
  /// written.
  private(set) var movedByteCount = 0

  /// Allocates `capacity` bytes.
  init(capacity: Int) {
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    self.capacity = capacity
  }

  deinit { unsafe base.deallocate() }

  /// What is written, until the next change.
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// Forgets what lies behind the first `newCount` bytes.
  @inline(__always) mutating func truncate(to newCount: Int) { count = min(newCount, count) }

  /// Forgets everything, and gives memory back that a rare large row has taken.
  mutating func removeAll(keeping capacityLimit: Int) {
    count = 0
    if capacity > capacityLimit { self = RowBuffer(capacity: capacityLimit) }
  }

  /// Makes room for `byteCount` more bytes.
  @inline(__always) private mutating func reserve(_ byteCount: Int) {
    if capacity &- count < byteCount { grow(byteCount) }
  }

  @inline(never) private mutating func grow(_ byteCount: Int) {
    let newCapacity = max(2 * capacity, count + byteCount)
    assert(byteCount >= 0 && count <= capacity, "more is written than there is room for")
    let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
    unsafe newBase.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe (base, capacity) = (newBase, newCapacity)
  }

  /// Appends one byte.
  @inline(__always) mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Appends the head of a value.
  @inline(__always) mutating func appendHead(_ kind: UInt8, _ argument: UInt64) {
    reserve(9)
    unsafe count &+= Self.storeHead(kind, argument, at: base + count)
  }

  /// Appends what a `Float` or `Double` and the like holds, after the head of simple value `code`.
  @inline(__always) mutating func appendSimple<Bits: FixedWidthInteger>(_ code: UInt64, _ bits: Bits) {
    reserve(1 + MemoryLayout<Bits>.size)
    unsafe base.storeBytes(
      of: ValueKind.simple << 5 | UInt8(truncatingIfNeeded: code), toByteOffset: count, as: UInt8.self)
    unsafe base.storeBytes(of: bits.littleEndian, toByteOffset: count &+ 1, as: Bits.self)
    count &+= 1 &+ MemoryLayout<Bits>.size
  }

  /// Appends `bytes` as a value of `kind`.
  @inline(__always) mutating func append(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer) {
    reserve(9 &+ bytes.count)
    unsafe count &+= Self.storeHead(kind, UInt64(bytes.count), at: base + count)
    unsafe append(unreserved: bytes)
  }

  /// Appends `bytes` as they are.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    unsafe append(unreserved: bytes)
  }

  @inline(__always) private mutating func append(unreserved bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Appends `value` in seven bits a byte, the lowest first, the top bit set on all but the last.
  @inline(__always) mutating func appendVarint(_ value: UInt32) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  /// Appends a head of `kind` whose argument is not known yet: two bytes, enough for up to 255.
  @inline(__always) mutating func appendOpenHead(_ kind: UInt8) {
    append(kind << 5 | 24)
    append(0)
  }

  /// Fills the head that `appendOpenHead` has written at `start` with the number of bytes behind it, which move if that
  /// number needs more than a byte.
  @inline(__always) mutating func closeHead(at start: Int) {
    let byteCount = count &- start &- 2
    assert(start >= 0 && byteCount >= 0, "a head is closed that was not written")
    if byteCount < 256 {
      unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: byteCount), toByteOffset: start &+ 1, as: UInt8.self)
    } else {
      closeLongHead(at: start, byteCount)
    }
  }

  @inline(never) private mutating func closeLongHead(at start: Int, _ byteCount: Int) {
    reserve(8)
    let kind = unsafe base.load(fromByteOffset: start, as: UInt8.self) >> 5
    var head: (UInt64, UInt64) = (0, 0)
    let length = unsafe withUnsafeMutableBytes(of: &head) { bytes in
      unsafe bytes.baseAddress.map { unsafe Self.storeHead(kind, UInt64(byteCount), at: $0) } ?? 0
    }
    unsafe (base + start + length).copyMemory(from: base + start + 2, byteCount: byteCount)
    unsafe withUnsafeBytes(of: head) { bytes in
      if let source = bytes.baseAddress { unsafe (base + start).copyMemory(from: source, byteCount: length) }
    }
    count += length - 2
  }

  // MARK: In the middle

  /// Moves the bytes of a range.
  private mutating func move(_ range: Range<Int>, to target: Int) {
    unsafe (base + target).copyMemory(from: base + range.lowerBound, byteCount: range.count)
    movedByteCount &+= range.count
  }

  /// Takes out the bytes of ranges, which ascend and do not overlap. Moves each byte behind once.
  mutating func remove(_ ranges: [Range<Int>]) {
    guard var end = ranges.first?.lowerBound else { return }
    assert(
      zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
        && ranges[ranges.count - 1].upperBound <= count,
      "bytes are taken out twice")
    for (index, range) in ranges.enumerated() {
      let rest = range.upperBound..<(index + 1 < ranges.count ? ranges[index + 1].lowerBound : count)
      move(rest, to: end)
      end += rest.count
    }
    count = end
  }

  /// Inserts pieces, `byteCount` bytes together, from the last one to the first: `nextPiece` tells where one belongs,
  /// not behind the one before, and its bytes. Moves each byte behind the first one once.
  mutating func insert(_ byteCount: Int, _ nextPiece: () -> (offset: Int, bytes: UnsafeRawBufferPointer)?) {
    reserve(byteCount)
    var (end, target) = (count, count + byteCount)
    count += byteCount
    while target > end, let (offset, bytes) = unsafe nextPiece() {
      let start = min(offset, end)
      target -= end - start
      move(start..<end, to: target)
      target -= bytes.count
      if let source = bytes.baseAddress {
        unsafe (base + target).copyMemory(from: source, byteCount: bytes.count)
      }
      end = start
    }
    assert(target == end && count <= capacity, "the pieces have another length than was said")
  }

  /// Stores a head at `target`, where nine bytes can be written, and returns how many of them it takes.
  @inline(__always)
  private static func storeHead(_ kind: UInt8, _ argument: UInt64, at target: UnsafeMutableRawPointer) -> Int {
    if argument < 24 {
      unsafe target.storeBytes(of: kind &<< 5 | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
      return 1
    }
    let byteCount = (71 &- argument.leadingZeroBitCount) &>> 3
    unsafe target.storeBytes(of: kind &<< 5 | UInt8(truncatingIfNeeded: 23 &+ byteCount), as: UInt8.self)
    unsafe target.storeBytes(of: argument.littleEndian, toByteOffset: 1, as: UInt64.self)
    return 1 &+ byteCount
  }
}
