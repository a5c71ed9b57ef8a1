// How a value becomes the bytes that a row holds, and back.
//
//     byte 0      how the rest is stored: 0 plain, 1 LZ4; others are errors
//     plain       the value itself
//     LZ4         the length of the value as a varint: 7 bits per byte, lowest first, bit 7 set in all but the last
//                 byte, no byte more than needed; then one LZ4 block, without frame or checksum
//
// An empty value is therefore the single byte 0. Values are under the checksum of their page; nothing here detects a
// flipped bit by itself, and nothing here trusts a byte.

internal import CLZ4

/// The two directions between a value and its stored form.
///
/// Stateless; every call may be made from any thread.
package enum ValueCompression {
  /// Appends the stored form of `value` to `buffer`, compressed if `compression` says so and that makes it smaller.
  ///
  /// O(`value.byteCount`); grows `buffer` at most once, by 1 byte more than the value has. LZ4 takes 16 KiB of stack.
  ///
  /// - Throws: `CompressionError.tooLong`; then `buffer` is as it was.
  package static func encode(
    _ value: RawSpan,
    _ compression: Compression,
    appendingTo buffer: inout [UInt8]
  ) throws(CompressionError) {
    let byteCount = value.byteCount
    guard byteCount <= Limits.valueByteCount else { throw .tooLong(byteCount: byteCount) }
    reserve(1 + byteCount, in: &buffer)
    if compression.compresses(byteCount), appendCompressed(value, to: &buffer) { return }
    buffer.append(Storage.plain.rawValue)
    unsafe value.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
  }

  /// Returns the stored form of `value`; allocates once.
  ///
  /// - Throws: `CompressionError.tooLong`.
  package static func encode(_ value: RawSpan, _ compression: Compression) throws(CompressionError) -> [UInt8] {
    var buffer: [UInt8] = []
    try encode(value, compression, appendingTo: &buffer)
    return buffer
  }

  /// Returns the value that `encoded` is the stored form of.
  ///
  /// O(length of the value); allocates once. Lengths are checked before memory is allocated for them: `encoded` may
  /// hold any bytes.
  ///
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes.
  package static func decode(_ encoded: RawSpan) throws(CompressionError) -> [UInt8] {
    let header = try Header(encoded)
    let rest = encoded.extracting(header.byteCount...)
    if let decodedByteCount = header.decodedByteCount { return try decompress(rest, decodedByteCount) }
    return unsafe rest.withUnsafeBytes { unsafe Array($0) }
  }

  /// Whether `encode` would store `value` in the way in which `encoded`, its stored form, does: plain or compressed.
  ///
  /// A plain value that is long enough to be compressed is tried: it may not become smaller.
  ///
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes.
  package static func isStoredAsNow(
    _ encoded: RawSpan, _ value: RawSpan, _ compression: Compression
  ) throws(CompressionError) -> Bool {
    let isCompressed = try Header(encoded).decodedByteCount != nil
    guard compression.compresses(value.byteCount) else { return !isCompressed }
    if isCompressed { return true }
    return try encode(value, compression).first == Storage.plain.rawValue
  }

  /// Calls `body` with the value that `encoded` is the stored form of, and returns what it returns.
  ///
  /// A plain value is lent where it stands, without a copy; a compressed one is allocated for the call.
  ///
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes, and what `body` throws.
  package static func withDecoded<Result>(
    _ encoded: RawSpan,
    _ body: (RawSpan) throws -> Result
  ) throws -> Result {
    let header = try Header(encoded)
    let rest = encoded.extracting(header.byteCount...)
    guard let decodedByteCount = header.decodedByteCount else { return try body(rest) }
    let value = try decompress(rest, decodedByteCount)
    // Bytes have no padding between them.
    return try unsafe body(value.span.bytes)
  }
}

// MARK: - Format

/// The first byte of a stored value.
///
/// These numbers are in files: never change one.
private enum Storage: UInt8 {
  case plain = 0
  case lz4 = 1
}

/// What stands before the bytes of a value, checked.
private struct Header {
  /// How many bytes it takes.
  let byteCount: Int
  /// The length of the value if it is compressed; at least 1, at most the cap, and possible for its compressed bytes.
  let decodedByteCount: Int?

  /// A byte of LZ4 stands for 255 bytes at most: one that continues a match length says 255, others less.
  private static let mostBytesPerCompressedByte = 255

  /// Reads the header of `encoded`; constant time, no allocation.
  init(_ encoded: RawSpan) throws(CompressionError) {
    guard encoded.byteCount > 0 else { throw .empty }
    let tag = encoded.byte(at: 0)
    switch Storage(rawValue: tag) {
    case .plain:
      byteCount = 1
      decodedByteCount = nil
      guard encoded.byteCount - 1 <= Limits.valueByteCount else { throw .tooLong(byteCount: encoded.byteCount - 1) }
    case .lz4:
      let length = try Varint(encoded, at: 1)
      byteCount = 1 + length.byteCount
      let compressed = encoded.byteCount - byteCount
      guard length.value > 0 else { throw .malformedLength }
      guard
        length.value <= UInt64(Limits.valueByteCount),
        compressed <= Limits.valueByteCount,
        length.value <= UInt64(compressed * Self.mostBytesPerCompressedByte)
      else { throw .implausibleLength(declared: length.value, compressed: compressed) }
      decodedByteCount = Int(length.value)
    case nil:
      throw .unknownStorage(tag)
    }
  }
}

/// A length in as few bytes of 7 bits as it needs, lowest first.
private struct Varint {
  let value: UInt64

  /// 35 bits: more than any length below the cap, and few enough that no shift loses a bit.
  private static let mostBytes = 5

  /// Wraps a length, which must not be negative.
  init(_ value: Int) { self.value = UInt64(value) }

  /// Reads the varint at `offset`, which may be the end of `bytes`.
  init(_ bytes: RawSpan, at offset: Int) throws(CompressionError) {
    var value: UInt64 = 0
    for index in 0..<Self.mostBytes {
      guard offset + index < bytes.byteCount else { throw .malformedLength }
      let byte = bytes.byte(at: offset + index)
      value |= UInt64(byte & 0x7f) << UInt64(7 * index)
      guard byte & 0x80 == 0 else { continue }
      // One length, one form: a last byte of 0 adds nothing.
      guard byte != 0 || index == 0 else { throw .malformedLength }
      self.value = value
      return
    }
    throw .malformedLength
  }

  /// How many bytes the varint takes.
  var byteCount: Int { value == 0 ? 1 : (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7 }

  /// Appends the bytes to `buffer`.
  func append(to buffer: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    buffer.append(UInt8(truncatingIfNeeded: rest))
  }
}

extension RawSpan {
  /// The byte at `offset`; traps outside the span.
  fileprivate func byte(at offset: Int) -> UInt8 {
    // A byte may hold any bits, and the offset is checked by the span.
    unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }
}

// MARK: - LZ4

extension ValueCompression {
  /// Appends tag, length and block to `buffer` and returns true, or leaves it alone and returns false where that would
  /// not be shorter than tag and value.
  private static func appendCompressed(_ value: RawSpan, to buffer: inout [UInt8]) -> Bool {
    let length = Varint(value.byteCount)
    // With no more room than this, LZ4 gives up by itself as soon as there is nothing to gain.
    let capacity = value.byteCount - length.byteCount - 1
    guard capacity > 0 else { return false }
    let start = buffer.count
    buffer.append(Storage.lz4.rawValue)
    length.append(to: &buffer)
    let blockStart = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: capacity))
    let written = unsafe value.withUnsafeBytes { source in
      unsafe buffer.withUnsafeMutableBytes { target in
        // The cap on values keeps both counts far below the range of Int32, and neither buffer is empty.
        unsafe Int(
          LZ4_compress_default(
            source.baseAddress?.assumingMemoryBound(to: CChar.self),
            target.baseAddress?.advanced(by: blockStart).assumingMemoryBound(to: CChar.self),
            Int32(source.count),
            Int32(capacity)
          )
        )
      }
    }
    guard written > 0 else {
      buffer.removeLast(buffer.count - start)
      return false
    }
    buffer.removeLast(capacity - written)
    return true
  }

  /// Decompresses `block` into exactly `byteCount` bytes, a number that `Header` has checked.
  private static func decompress(_ block: RawSpan, _ byteCount: Int) throws(CompressionError) -> [UInt8] {
    let value = unsafe block.withUnsafeBytes { source in
      unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
        // LZ4 reads and writes within the two counts whatever the bytes are, and returns less than 0 for bad ones.
        let written = unsafe LZ4_decompress_safe(
          source.baseAddress?.assumingMemoryBound(to: CChar.self),
          UnsafeMutableRawPointer(target.baseAddress)?.assumingMemoryBound(to: CChar.self),
          Int32(source.count),
          Int32(byteCount)
        )
        count = max(0, Int(written))
      }
    }
    guard value.count == byteCount else { throw .malformedBlock }
    return value
  }

  /// Makes room for `count` more bytes in one step, without losing the doubling that makes many appends cheap.
  private static func reserve(_ count: Int, in buffer: inout [UInt8]) {
    let needed = buffer.count + count
    if needed > buffer.capacity { buffer.reserveCapacity(max(needed, 2 * buffer.capacity)) }
  }
}
