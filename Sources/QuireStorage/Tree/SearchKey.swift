// Keys on their way down a tree, and how they compare.

/// A key on its way down a tree: borrowed bytes, or an integer. Valid only as long as what it was made from.
public struct SearchKey {
  /// The first byte; for integer keys some valid address that nothing is read through.
  /// The length in bytes; 0 for integer keys.
  @usableFromInline package let base: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// Integer keys only: the key with its sign bit flipped, so that unsigned order is the keys' order.
  @usableFromInline package let integer: UInt64

  /// A byte-string key; the bytes must outlive the search.
  @inlinable public init(_ bytes: UnsafeRawBufferPointer) {
    // An empty buffer may have no address; any valid one serves, as nothing is read through it.
    base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    count = bytes.count
    integer = 0
  }

  /// A byte-string key at an address.
  @inline(__always) package init(base: UnsafeRawPointer, count: Int) {
    self.base = base
    self.count = count
    integer = 0
  }

  /// An integer key.
  @inlinable public init(_ key: Int64) { self.init(ordered: UInt64(bitPattern: key) ^ (1 << 63)) }

  /// An integer key in its ordered form.
  @inlinable package init(ordered: UInt64) {
    base = UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    count = 0
    integer = ordered
  }
}

/// The order of keys.
package enum KeyOrder {
  /// The unsigned number that orders as `key` does.
  @inline(__always) package static func ordered(_ key: Int64) -> UInt64 { UInt64(bitPattern: key) ^ (1 << 63) }

  /// The key whose ordered form this is.
  @inline(__always) package static func key(_ ordered: UInt64) -> Int64 { Int64(bitPattern: ordered ^ (1 << 63)) }

  /// The first four bytes as a big-endian number, padded with zeros.
  @inline(__always) package static func head(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt32 {
    if count >= 4 { return UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)) }
    var head: UInt32 = 0
    var index = 0
    while index < count {
      head |= UInt32(bytes.load(fromByteOffset: index, as: UInt8.self)) &<< UInt32(24 &- 8 &* index)
      index &+= 1
    }
    return head
  }

  /// Byte `index` of the four that a head holds.
  @inline(__always) static func byte(_ index: Int, ofHead head: UInt32) -> UInt8 {
    UInt8(truncatingIfNeeded: head &>> UInt32(truncatingIfNeeded: 24 &- 8 &* index))
  }

  /// Negative, zero or positive as the left bytes order before, with or after the right ones.
  @inline(__always) package static func compare(
    _ left: UnsafeRawPointer, _ leftCount: Int, _ right: UnsafeRawPointer, _ rightCount: Int
  ) -> Int {
    let order = comparePrefix(left, right, leftCount < rightCount ? leftCount : rightCount)
    return order != 0 ? order : leftCount &- rightCount
  }

  /// Compares the first `count` bytes, eight at a time.
  @inline(__always) package static func comparePrefix(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
  ) -> Int {
    var index = 0
    while index &+ 8 <= count {
      let a = left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let b = right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if a != b { return a.byteSwapped < b.byteSwapped ? -1 : 1 }
      index &+= 8
    }
    if index &+ 4 <= count {
      let a = left.loadUnaligned(fromByteOffset: index, as: UInt32.self)
      let b = right.loadUnaligned(fromByteOffset: index, as: UInt32.self)
      if a != b { return a.byteSwapped < b.byteSwapped ? -1 : 1 }
      index &+= 4
    }
    while index < count {
      let a = left.load(fromByteOffset: index, as: UInt8.self)
      let b = right.load(fromByteOffset: index, as: UInt8.self)
      if a != b { return a < b ? -1 : 1 }
      index &+= 1
    }
    return 0
  }
}

extension KeyOrder {
  /// The first eight bytes as a big-endian number, padded with zeros.
  @inline(__always) static func longHead(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
    var head: UInt64 = 0
    var index = 0
    while index < count {
      head |= UInt64(bytes.load(fromByteOffset: index, as: UInt8.self)) &<< UInt64(56 &- 8 &* index)
      index &+= 1
    }
    return head
  }
}
