// What a program can say about compression, and what can be wrong with a compressed value.

/// How a collection stores its values.
///
/// The choice concerns new values only: each stored value says by itself how it is stored, so that a collection may
/// change its compression at any time and reads what it wrote before.
///
/// ```swift
/// let songs = RowCollection<Song, NoMetadata>("songs", compression: .lz4(above: 256))
/// ```
///
/// The guide is <doc:Compression>.
public enum Compression: Hashable, Sendable {
  /// Values are stored as the coder made them.
  case none

  /// Values of more than `above` bytes are compressed with LZ4, and stored compressed if that makes them smaller.
  ///
  /// Compressing takes about 1 µs per KiB, decompressing about a fifth of that. Values of a few hundred bytes seldom
  /// become smaller, and then the attempt was for nothing.
  case lz4(above: Int)

  /// Values of more than `above` bytes are compressed with LZ4 and a dictionary of what the collection's values have in
  /// common, which saves about half of values of a hundred to a thousand bytes, where LZ4 alone saves next to nothing.
  ///
  /// The dictionary is trained by itself once the collection has 1,000 rows, inside the write transaction that stores
  /// them, and again each time it has eight times as many; it is kept if it saves at least a fifth of what values take
  /// without it. Values that were stored before stay as they are until they are stored again. Until there is a
  /// dictionary, and for values above 32 KiB, this is as `lz4(above: 256)`.
  ///
  /// A value that would not become an eighth smaller is stored as it is. Where 16 values in a row did not, only one in
  /// 16 is tried, until one does: values that cannot be compressed cost next to nothing.
  ///
  /// Compressing takes about 2.5 µs per KiB, decompressing about a tenth of that.
  case dictionary(above: Int)

  /// The same for values that no dictionary may be made of.
  var withoutDictionary: Compression {
    guard case .dictionary(let above) = self else { return self }
    return .lz4(above: max(above, Self.leastWithoutDictionary))
  }

  /// What tells one choice from another in one comparison.
  @inlinable @inline(__always) var word: Int {
    switch self {
    case .none: .max
    case .lz4(let above): max(-1, min(above, 1 << 40)) &<< 1
    case .dictionary(let above): max(-1, min(above, 1 << 40)) &<< 1 | 1
    }
  }

  /// Whether a value of `byteCount` bytes is worth an attempt without a dictionary.
  func compresses(_ byteCount: Int) -> Bool {
    switch self {
    case .none: false
    case .lz4(let above): byteCount > above
    case .dictionary(let above): byteCount > max(above, Self.leastWithoutDictionary)
    }
  }

  /// Values up to this length seldom become smaller by themselves.
  private static let leastWithoutDictionary = 256
}

/// What can be wrong with a value that is to be stored, or with the bytes of a stored one.
///
/// All but `tooLong` mean damage, or a newer format: the bytes come from disk and were not made by this version.
package enum CompressionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The value has more bytes than `Limits.valueByteCount`.
  case tooLong(byteCount: Int)
  /// There is not even the byte that says how the value is stored.
  case empty
  /// The first byte is none that this version knows.
  case unknownStorage(UInt8)
  /// A number in front of the value is cut off, has more bytes than it needs, or is 0.
  case malformedLength
  /// The decoded length is above `Limits.valueByteCount`, or more than so few compressed bytes can become.
  case implausibleLength(declared: UInt64, compressed: Int)
  /// The value was compressed with a dictionary that is not there.
  case missingDictionary(UInt32)
  /// What is stored as a dictionary has no bytes, or too many.
  case malformedDictionary(byteCount: Int)
  /// The compressed bytes are not LZ4, or become another length than declared.
  case malformedBlock

  /// What is wrong, and what helps.
  package var description: String {
    switch self {
    case .tooLong(let byteCount):
      "The value has \(byteCount) bytes; at most \(Limits.valueByteCount) can be stored. Store it in parts."
    case .empty:
      "The stored value has no bytes at all. Verify the database."
    case .unknownStorage(let tag):
      "The value is stored in way \(tag), which this version does not know. Use a newer one, or verify the database."
    case .malformedLength:
      "A number in front of a compressed value is malformed. Verify the database."
    case .implausibleLength(let declared, let compressed):
      "A compressed value of \(compressed) bytes claims to become \(declared) bytes. Verify the database."
    case .missingDictionary(let number):
      "A value was compressed with dictionary \(number), which the collection does not have. Verify the database, and "
        + "restore it from a backup."
    case .malformedDictionary(let byteCount):
      "A dictionary has \(byteCount) bytes; 1 to \(Limits.dictionaryByteCount) are possible. Verify the database, and "
        + "restore it from a backup."
    case .malformedBlock:
      "A compressed value does not decompress to its length. Verify the database."
    }
  }
}
