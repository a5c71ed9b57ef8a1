// Texts that are compared as the database compares them.

/// A text that is the same as another if its bytes are: keys, names and groups are bytes everywhere, and two spellings
/// of one letter, which `String` takes for equal, are two of them. For sets and dictionaries of such texts, in
/// extensions above all.
@frozen
public struct ByteString: Hashable, Sendable {
  /// The text.
  public let string: String

  /// Wraps a text.
  @inlinable public init(_ string: String) { self.string = string }

  /// Whether the bytes are the same. Mostly as fast as comparing two words.
  @inlinable public static func == (left: Self, right: Self) -> Bool { left.string.hasSameBytes(as: right.string) }

  /// Hashes the bytes.
  @inlinable public func hash(into hasher: inout Hasher) {
    var string = string
    string.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xff as UInt8)
  }
}
