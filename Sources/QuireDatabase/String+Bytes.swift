// Strings as bytes: names and keys are the same if their bytes are.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension String {
  /// The text of some bytes; nil if they are no UTF-8. Most keys are ASCII, which takes a fraction of what the standard
  /// library's look at bytes of any encoding does.
  init?(storedUTF8 bytes: UnsafeRawBufferPointer) {
    if bytes.count <= ShortText.byteCount, ShortText.isLaidOutAsKnown, var words = unsafe ShortText.words(bytes) {
      // Moved, and not cast, which would count a reference.
      self = unsafe withUnsafeMutablePointer(to: &words) { words in
        unsafe UnsafeMutableRawPointer(words).assumingMemoryBound(to: String.self).move()
      }
    } else if unsafe bytes.isASCII {
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

/// Texts that a string holds in itself, put together by hand: the standard library asks its runtime about each.
enum ShortText {
  /// The longest has so many bytes.
  static let byteCount = 15

  /// Whether the two words of a short ASCII string are its bytes, the first lowest, with the number of them and what
  /// says that it is one on top. So it is in the binary interface of the standard library; where it is not, strings are
  /// made by that alone.
  static let isLaidOutAsKnown: Bool =
    MemoryLayout<String>.size == MemoryLayout<(UInt64, UInt64)>.size
    && ["", "a", "bc", "d\0f", "\u{7f}hij", "klmno", "pqrstuv", "wxyzABCD", "EFGHIJKLM", "NOPQRSTUVWXYZ01"]
      .allSatisfy { text in
        let made = unsafe Array(text.utf8).withUnsafeBytes { unsafe words($0) }
        return made.map { $0 == String(decoding: Array(text.utf8), as: UTF8.self).words } ?? false
      }

  /// The words of a string of at most 15 bytes; nil if one has the highest bit.
  @inline(__always) static func words(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64)? {
    let count = bytes.count
    assert(count <= byteCount, "a text is too long for two words")
    var (low, high) = (UInt64(0), UInt64(0))
    // Loads that overlap put the bytes in place without a loop.
    if count >= 8 {
      low = unsafe load(bytes, 0, as: UInt64.self)
      if count > 8 {
        high = unsafe load(bytes, count &- 8, as: UInt64.self) &>> UInt64(truncatingIfNeeded: (16 &- count) &* 8)
      }
    } else if count >= 4 {
      low = unsafe load(bytes, 0, as: UInt32.self)
      low |= unsafe load(bytes, count &- 4, as: UInt32.self) &<< UInt64(truncatingIfNeeded: (count &- 4) &* 8)
    } else if count > 0 {
      for place in 0..<count { low |= unsafe load(bytes, place, as: UInt8.self) &<< UInt64(place &* 8) }
    }
    guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return nil }
    return (low, high | (0xe0 | UInt64(truncatingIfNeeded: count)) &<< 56)
  }

  @inline(__always)
  private static func load<Word: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, as type: Word.Type
  ) -> UInt64 {
    UInt64(truncatingIfNeeded: Word(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: type)))
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are the same.
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let left = baseAddress, let right = other.baseAddress else { return true }
    return unsafe memcmp(left, right, count) == 0
  }

  /// Whether the bytes are those of a text.
  func hasSameBytes(as text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe hasSameBytes(as: UnsafeRawBufferPointer($0)) }
  }

  /// Whether the bytes are UTF-8.
  var isUTF8: Bool { unsafe isASCII || String(validating: self, as: UTF8.self) != nil }

  /// Whether no byte has the highest bit.
  fileprivate var isASCII: Bool {
    var (offset, bits) = (0, UInt64(0))
    while count &- offset >= 8 {
      bits |= unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    // The last eight once more, where there are so many.
    if offset < count, count >= 8 {
      bits |= unsafe loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    } else {
      while offset < count {
        bits |= UInt64(unsafe self[offset])
        offset &+= 1
      }
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
