// Little-endian integers in and out of byte arrays, for the parts of the format that are not hot.

/// Fills a fixed number of bytes.
package struct ByteWriter {
  package private(set) var bytes: [UInt8]

  /// Starts with `byteCount` zeros.
  package init(byteCount: Int) { bytes = [UInt8](repeating: 0, count: byteCount) }

  /// Stores `value` at `offset`, little-endian.
  package mutating func put<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int) {
    precondition(offset >= 0 && offset + Integer.bitWidth / 8 <= bytes.count)
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self) }
  }
}

/// Reads from bytes of any origin; offsets are the caller's and must be inside.
package struct ByteReader {
  private let bytes: [UInt8]

  /// Reads from a copy of `bytes`.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The 64-bit integer at `offset`.
  package func word(at offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset + 8 <= bytes.count)
    return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }

  /// The 32-bit integer at `offset`.
  package func half(at offset: Int) -> UInt32 {
    precondition(offset >= 0 && offset + 4 <= bytes.count)
    return bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
  }
}

/// Integers of variable length: seven bits a byte, the lowest first, the top bit set on all but the last.
package enum Varint {
  /// The longest form of a 64-bit integer.
  package static let maximumByteCount = 10

  /// Writes `value` at `target`, which has room for ten bytes; returns how many it took.
  @inline(__always) package static func write(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
    var rest = value
    var count = 0
    while rest >= 0x80 {
      target.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
      rest &>>= 7
      count &+= 1
    }
    target.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
    return count &+ 1
  }

  /// Appends `value`.
  @inlinable @inline(__always) package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Reads an integer at `offset` and moves it behind; nil if the bytes end inside it or it exceeds 64 bits.
  @inline(__always) package static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while offset < bytes.count {
      let byte = bytes[offset]
      offset &+= 1
      if shift == 63, byte > 1 { return nil }
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 { return value }
      shift &+= 7
      if shift > 63 { return nil }
    }
    return nil
  }
}
