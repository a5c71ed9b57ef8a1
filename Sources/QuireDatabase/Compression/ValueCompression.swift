// How a value becomes the bytes that a row holds, and back.
//
//     byte 0      how the rest is stored: 0 plain, 1 LZ4, 2 LZ4 with a dictionary; others are errors
//     plain       the value itself
//     LZ4         the length of the value as a varint: 7 bits per byte, lowest first, bit 7 set in all but the last
//                 byte, no byte more than needed; then one LZ4 block, without frame or checksum
//     dictionary  the number of a dictionary of the collection as a varint, from 1; the length of the value as a
//                 varint, at most `Limits.dictionaryValueByteCount`; then one LZ4 block that refers to the dictionary
//
// An empty value is therefore the single byte 0. Values are under the checksum of their page; nothing here detects a
// flipped bit by itself, and nothing here trusts a byte.

/// The two directions between a value and its stored form.
///
/// Stateless; every call may be made from any thread.
package enum ValueCompression {
  /// Appends the stored form of `value` to `buffer`, compressed if `compression` says so and that makes it smaller.
  ///
  /// O(`value.byteCount`); grows `buffer` at most once, by 1 byte more than the value has. LZ4 takes 16 KiB meanwhile.
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

  /// Appends the stored form of `value`, compressed without a dictionary, or appends nothing and returns false, if that
  /// would not make it smaller.
  static func encode(compressing value: RawSpan, appendingTo buffer: inout [UInt8]) -> Bool {
    value.byteCount <= Limits.valueByteCount && appendCompressed(value, to: &buffer)
  }

  /// Appends the stored form of `value`, compressed with `dictionary`, or appends nothing and returns false, if that
  /// would not save an eighth of it: less is not worth the time that decoding takes.
  ///
  /// O(`value.byteCount`); grows `buffer` at most once. `value` is no longer than `Limits.dictionaryValueByteCount`.
  static func encode(
    _ value: RawSpan, _ dictionary: CompressionDictionary, _ stream: CompressionStream,
    appendingTo buffer: inout [UInt8]
  ) -> Bool {
    assert(value.byteCount <= Limits.dictionaryValueByteCount, "a value is too long for a dictionary")
    let (number, length) = (Varint(Int(dictionary.number)), Varint(value.byteCount))
    let capacity = value.byteCount - value.byteCount / 8 - number.byteCount - length.byteCount
    guard capacity > 0 else { return false }
    return unsafe appendBlock(Storage.dictionary, (number, length), capacity: capacity, to: &buffer) { target in
      unsafe value.withUnsafeBytes { unsafe dictionary.compress($0, into: target, stream) }
    }
  }

  /// Returns the value that `encoded` is the stored form of.
  ///
  /// O(length of the value); allocates once. Lengths are checked before memory is allocated for them: `encoded` may
  /// hold any bytes.
  ///
  /// - Parameter dictionary: returns the collection's dictionary of a number. Without it there is none.
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes, and what `dictionary` throws.
  package static func decode(
    _ encoded: RawSpan, dictionary: (UInt32) throws -> CompressionDictionary = noDictionary
  ) throws -> [UInt8] {
    let header = try StoredHeader(encoded)
    return try unsafe encoded.extracting(header.byteCount...).withUnsafeBytes { rest in
      guard let byteCount = header.decodedByteCount else { return unsafe Array(rest) }
      return unsafe try decompress(rest, byteCount, header.dictionary.map(dictionary))
    }
  }

  /// Stands in for the dictionaries of a collection that has none.
  package static func noDictionary(_ number: UInt32) throws -> CompressionDictionary {
    throw CompressionError.missingDictionary(number)
  }

  /// Whether `encode` would store `value` in the way in which `encoded`, its stored form, does: plain or compressed,
  /// and without a dictionary.
  ///
  /// A plain value that is long enough to be compressed is tried: it may not become smaller.
  ///
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes.
  package static func isStoredAsNow(
    _ encoded: RawSpan, _ value: RawSpan, _ compression: Compression
  ) throws(CompressionError) -> Bool {
    let header = try StoredHeader(encoded)
    if header.dictionary != nil { return false }
    let isCompressed = header.decodedByteCount != nil
    guard compression.compresses(value.byteCount) else { return !isCompressed }
    if isCompressed { return true }
    return try encode(value, compression).first == Storage.plain.rawValue
  }

  /// Calls `body` with the value that `encoded` is the stored form of, and returns what it returns.
  ///
  /// A plain value is lent where it stands, without a copy; a compressed one stands in `room`.
  ///
  /// - Throws: `CompressionError` if `encoded` is not what `encode` makes, and what `dictionary` and `body` throw.
  package static func withDecoded<Result>(
    _ encoded: RawSpan, _ room: DecodingRoom, dictionary: (UInt32) throws -> CompressionDictionary = noDictionary,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let header = try StoredHeader(encoded)
    return try unsafe encoded.extracting(header.byteCount...).withUnsafeBytes { rest in
      guard let byteCount = header.decodedByteCount else { return try unsafe body(rest) }
      return try unsafe room.withDecoded(rest, byteCount, header.dictionary.map(dictionary), body)
    }
  }
}

// MARK: - Format

/// The first byte of a stored value.
///
/// These numbers are in files: never change one.
private enum Storage: UInt8 {
  case plain = 0
  case lz4 = 1
  case dictionary = 2
}

/// What stands before the bytes of a value, checked.
struct StoredHeader {
  /// How many bytes it takes.
  let byteCount: Int
  /// The length of the value if it is compressed; at least 1, at most the cap, and possible for its compressed bytes.
  let decodedByteCount: Int?
  /// The number of the dictionary that it is compressed with.
  let dictionary: UInt32?

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
      dictionary = nil
      guard encoded.byteCount - 1 <= Limits.valueByteCount else { throw .tooLong(byteCount: encoded.byteCount - 1) }
    case .lz4:
      let length = try Varint(encoded, at: 1)
      dictionary = nil
      byteCount = 1 + length.byteCount
      decodedByteCount = try Self.check(length, encoded.byteCount - byteCount, cap: Limits.valueByteCount)
    case .dictionary:
      let number = try Varint(encoded, at: 1)
      guard let narrow = UInt32(exactly: number.value), narrow > 0 else { throw .malformedLength }
      let length = try Varint(encoded, at: 1 + number.byteCount)
      dictionary = narrow
      byteCount = 1 + number.byteCount + length.byteCount
      decodedByteCount = try Self.check(length, encoded.byteCount - byteCount, cap: Limits.dictionaryValueByteCount)
    case nil:
      throw .unknownStorage(tag)
    }
  }

  /// The length of a value of `compressed` bytes, if that is possible.
  private static func check(_ length: Varint, _ compressed: Int, cap: Int) throws(CompressionError) -> Int {
    guard length.value > 0 else { throw .malformedLength }
    guard length.value <= UInt64(cap), compressed <= Limits.valueByteCount,
      length.value <= UInt64(compressed * mostBytesPerCompressedByte)
    else { throw .implausibleLength(declared: length.value, compressed: compressed) }
    return Int(length.value)
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
    return unsafe appendBlock(Storage.lz4, (length, nil), capacity: capacity, to: &buffer) { target in
      assert(target.count == capacity, "LZ4 is to give up where it would gain nothing")
      return unsafe value.withUnsafeBytes { unsafe BlockCodec.encode($0, into: target) }
    }
  }

  /// Appends a tag, numbers and the block that `compress` writes, whose length it returns; nothing if that is 0.
  @inline(__always)
  private static func appendBlock(
    _ tag: Storage, _ numbers: (Varint, Varint?), capacity: Int, to buffer: inout [UInt8],
    _ compress: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool {
    let start = buffer.count
    reserve(1 + numbers.0.byteCount + (numbers.1?.byteCount ?? 0) + capacity, in: &buffer)
    buffer.append(tag.rawValue)
    numbers.0.append(to: &buffer)
    numbers.1?.append(to: &buffer)
    let blockStart = buffer.count
    buffer.append(addingCapacity: capacity) { block in
      unsafe block.withUnsafeMutableBufferPointer { bytes, written in
        written = unsafe compress(UnsafeMutableRawBufferPointer(bytes))
      }
    }
    let isWritten = buffer.count > blockStart
    if !isWritten { buffer.removeLast(blockStart - start) }
    return isWritten
  }

  /// Decompresses `block` into exactly `byteCount` bytes, a number that `StoredHeader` has checked.
  static func decompress(
    _ block: UnsafeRawBufferPointer, _ byteCount: Int, _ dictionary: CompressionDictionary?
  ) throws(CompressionError) -> [UInt8] {
    var isDecoded = false
    let value = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
      let target = UnsafeMutableRawBufferPointer(target)
      isDecoded =
        if let dictionary { unsafe dictionary.decompress(block, into: target) } else {
          unsafe BlockCodec.decode(block, into: target)
        }
      count = isDecoded ? byteCount : 0
    }
    guard isDecoded else { throw .malformedBlock }
    return value
  }

  /// Makes room for `count` more bytes in one step, without losing the doubling that makes many appends cheap.
  private static func reserve(_ count: Int, in buffer: inout [UInt8]) {
    let needed = buffer.count + count
    if needed > buffer.capacity { buffer.reserveCapacity(max(needed, 2 * buffer.capacity)) }
  }
}
