// Strings as bytes: names and keys are the same if their bytes are.

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension String {
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
