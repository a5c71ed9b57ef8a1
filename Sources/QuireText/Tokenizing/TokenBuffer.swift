// Where tokens are put together.

/// Memory for one token at a time.
///
/// Invariant: `count` is `limit` at most where a token is lent.
@safe struct TokenBuffer {
  /// A longer token is cut here, between two scalars.
  static let limit = 1024
  /// A character of a run of pairs is cut here.
  static let characterLimit = limit / 2
  /// There is room for what one scalar is folded to behind the limit, and for a character that waits.
  private static let room = limit + FoldTable.mostBytes

  private let base: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  /// The number of bytes of the character that waits.
  private(set) var waitingCount = 0

  private init(_ base: UnsafeMutablePointer<UInt8>) { unsafe self.base = unsafe base }

  /// Calls `body` with a buffer that is good until it returns.
  static func withBuffer(_ body: (TokenBuffer) throws -> Void) throws {
    let size = room + characterLimit
    try unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { memory in
      guard let base = memory.baseAddress else { return }
      try unsafe body(TokenBuffer(base))
    }
  }

  @inline(__always) mutating func removeAll() { count = 0 }

  /// Appends a byte; the token has not reached its limit.
  @inline(__always) mutating func append(_ byte: UInt8) {
    assert(count < Self.room, "a token is longer than its memory")
    unsafe base[count] = byte
    count += 1
  }

  /// Appends bytes of the text from an index on as a table of 256 has them, up to the first of which it has 0 or 255,
  /// or to the limit. Returns where that is.
  @inline(__always)
  mutating func append(_ text: ByteView, from start: Int, by table: UnsafeBufferPointer<UInt8>) -> Int {
    assert(table.count == 256, "the table has not all bytes")
    guard let table = table.baseAddress else { return start }
    let end = min(text.count, start + max(0, Self.limit - count))
    var (index, next) = (start, count)
    while index < end {
      let folded = unsafe table[Int(text[index])]
      if folded &- 1 >= 254 { break }
      unsafe base[next] = folded
      (index, next) = (index &+ 1, next &+ 1)
    }
    count = next
    return index
  }

  /// Appends bytes of the text: one scalar.
  @inline(__always) mutating func append(_ text: ByteView, _ range: Range<Int>) {
    assert(count + range.count <= Self.room, "a token is longer than its memory")
    unsafe text.copy(range, to: base + count)
    count += range.count
  }

  /// Appends what a scalar is folded to.
  @inline(__always) mutating func append(_ folding: FoldTable, at place: Int) {
    assert(count + folding.byteCount(at: place) <= Self.room, "a token is longer than its memory")
    unsafe folding.copy(at: place, to: base + count)
    count += folding.byteCount(at: place)
  }

  mutating func append(scalar: UInt32) { forEachByte(of: scalar) { append($0) } }

  /// The token as a short word; nil if it is longer, or empty.
  @inline(__always) var shortWord: StemCache.Word? {
    guard count &- 1 < StemCache.Word.limit, count > 0 else { return nil }
    // There is room for more bytes than these; what stands behind the token is none of it.
    let bytes = unsafe UnsafeRawPointer(base)
    let (low, high) = unsafe (
      UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
    let bits = UInt64(truncatingIfNeeded: 8 &* (16 &- count))
    let mask = UInt64.max &>> (bits & 63)
    return count > 8
      ? StemCache.Word(low: low, high: high & mask, count: UInt8(truncatingIfNeeded: count))
      : StemCache.Word(low: low & mask, high: 0, count: UInt8(truncatingIfNeeded: count))
  }

  /// Puts a short word in the place of the token.
  @inline(__always) mutating func replace(by word: StemCache.Word) {
    let bytes = unsafe UnsafeMutableRawPointer(base)
    unsafe bytes.storeBytes(of: word.low.littleEndian, as: UInt64.self)
    unsafe bytes.storeBytes(of: word.high.littleEndian, toByteOffset: 8, as: UInt64.self)
    count = Int(word.count)
  }

  @inline(__always) subscript(index: Int) -> UInt8 {
    assert(index >= 0 && index < count, "a byte outside of the token")
    return unsafe base[index]
  }

  /// Cuts the token at the end of a scalar, so that it has `limit` bytes at most.
  @inline(__always) mutating func cut(to limit: Int) { if count > limit { cutScalar(to: limit) } }

  private mutating func cutScalar(to limit: Int) {
    count = limit
    while count > 0, unsafe base[count] & 0xc0 == 0x80 { count -= 1 }
  }

  /// Takes the first bytes away.
  mutating func removeFirst(_ removed: Int) {
    assert(removed >= 0 && removed <= count, "more bytes are taken than there are")
    unsafe base.update(from: base + removed, count: count - removed)
    count -= removed
  }

  /// Calls `body` with the first bytes of the token.
  @inline(__always) func lend(_ body: (RawSpan) throws -> Void) rethrows {
    assert(count <= Self.limit, "a token is longer than its limit")
    try unsafe body(UnsafeRawBufferPointer(start: base, count: count).bytes)
  }

  /// Keeps the token, a character at most, while others are put together.
  mutating func keepWaiting() {
    assert(count <= Self.characterLimit, "more than a character is to wait")
    unsafe (base + Self.room).update(from: base, count: count)
    waitingCount = count
  }

  /// Calls `body` with what has waited, which waits no longer.
  mutating func lendWaiting(_ body: (RawSpan) throws -> Void) rethrows {
    let bytes = unsafe UnsafeRawBufferPointer(start: base + Self.room, count: waitingCount)
    waitingCount = 0
    try unsafe body(bytes.bytes)
  }

  mutating func dropWaiting() { waitingCount = 0 }

  /// Calls `body` with the bytes from an offset on, as a text.
  func withView(from offset: Int, _ body: (ByteView) -> Void) {
    assert(offset <= count, "bytes behind the token")
    if let view = unsafe ByteView(UnsafeRawBufferPointer(start: base + offset, count: count - offset)) { body(view) }
  }

  /// Takes all bytes from an offset on away.
  mutating func removeAll(from offset: Int) {
    assert(offset <= count, "bytes behind the token")
    count = offset
  }
}
