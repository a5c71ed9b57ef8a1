// Comparing and copying the bytes of terms.

/// The order of bytes, which is that of keys.
enum ByteOrder {
  /// The first eight bytes as a number that has their order, with zeros behind fewer.
  static func prefix(of bytes: [UInt8]) -> UInt64 {
    var prefix: UInt64 = 0
    for byte in bytes.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
    return bytes.isEmpty ? 0 : prefix << UInt64(8 * (8 - min(8, bytes.count)))
  }

  /// Negative, zero or positive as `left` is below, the same as, or above `right`.
  @inline(__always)
  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let count = min(left.count, right.count)
    var index = 0
    while index + 8 <= count {
      let leftWord = unsafe left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let rightWord = unsafe right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if leftWord != rightWord { return leftWord.bigEndian < rightWord.bigEndian ? -1 : 1 }
      index += 8
    }
    while index < count {
      let (leftByte, rightByte) = unsafe (left[index], right[index])
      if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
      index += 1
    }
    return left.count - right.count
  }

  /// Whether `left` is below `right`.
  @inline(__always)
  static func precedes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    unsafe compare(left, right) < 0
  }

  /// Whether the bytes are the same.
  @inline(__always)
  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    unsafe left.count == right.count && compare(left, right) == 0
  }
}

extension RawSpan {
  /// The bytes as an array.
  var copied: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }

  /// Puts the bytes in the place of what an array has.
  func copy(to array: inout [UInt8]) {
    array.removeAll(keepingCapacity: true)
    unsafe withUnsafeBytes { unsafe array.append(contentsOf: $0) }
  }

  /// Whether the first `count` bytes are these.
  func begins(with bytes: [UInt8], _ count: Int) -> Bool {
    count == bytes.count && begins(with: bytes)
  }

  /// Whether the first bytes are these.
  func begins(with bytes: [UInt8]) -> Bool {
    guard byteCount >= bytes.count else { return false }
    return unsafe withUnsafeBytes { own in
      unsafe bytes.withUnsafeBytes { unsafe ByteOrder.areEqual(UnsafeRawBufferPointer(rebasing: own[..<$0.count]), $0) }
    }
  }
}
