// Strings as bytes: names and keys are the same if their bytes are.

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension String {
  /// The text of some bytes; nil if they are no UTF-8. Most keys are ASCII, which takes a fraction of what the standard
  /// library's look at bytes of any encoding does.
  init?(storedUTF8 bytes: UnsafeRawBufferPointer) {
    if unsafe bytes.isASCII {
      unsafe self.init(decoding: bytes, as: UTF8.self)
    } else {
      unsafe self.init(validating: bytes, as: UTF8.self)
    }
  }

  /// The two words that the value is made of, or zeros where it has fewer: a short text itself, or where a long one is.
  /// While both live, two strings with the same words that are not zeros have the same bytes.
  @inlinable @inline(__always) var words: (UInt64, UInt64) {
    guard MemoryLayout<Self>.size == MemoryLayout<(UInt64, UInt64)>.size else { return (0, 0) }
    return unsafe unsafeBitCast(self, to: (UInt64, UInt64).self)
  }

  /// Whether the bytes are the same, in about the time of comparing them; `==` asks what Unicode thinks of them.
  @inlinable @inline(__always)
  func hasSameBytes(as other: String) -> Bool {
    // Most names are compared with themselves.
    let words = words
    return words.1 != 0 && words == other.words || isEqualByteByByte(to: other)
  }

  @usableFromInline
  func isEqualByteByByte(to other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    let isSame = unsafe utf8.withContiguousStorageIfAvailable { bytes in
      unsafe other.utf8.withContiguousStorageIfAvailable { others in
        guard let left = bytes.baseAddress, let right = others.baseAddress else { return true }
        return unsafe memcmp(left, right, bytes.count) == 0
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are UTF-8.
  var isUTF8: Bool { unsafe isASCII || String(validating: self, as: UTF8.self) != nil }

  /// Whether no byte has the highest bit.
  fileprivate var isASCII: Bool {
    var (offset, bits) = (0, UInt64(0))
    while count &- offset >= 8 {
      bits |= unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    while offset < count {
      bits |= UInt64(unsafe self[offset])
      offset &+= 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
