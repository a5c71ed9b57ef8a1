// What a program can say about compression, and what can be wrong with a compressed value.

/// How a collection stores its values.
///
/// The choice concerns new values only: each stored value says by itself how it is stored, so that a collection may
/// change its compression at any time and reads what it wrote before.
///
/// ```swift
/// let songs = RowCollection<Song, NoMetadata>("songs", compression: .lz4(above: 256))
/// ```
public enum Compression: Hashable, Sendable {
  /// Values are stored as the coder made them.
  case none

  /// Values of more than `above` bytes are compressed with LZ4, and stored compressed if that makes them smaller.
  ///
  /// Compressing takes about 1 µs per KiB, decompressing about a fifth of that. Values of a few hundred bytes seldom
  /// become smaller, and then the attempt was for nothing.
  case lz4(above: Int)

  /// The length above which values are compressed.
  @inlinable @inline(__always) var threshold: Int {
    switch self {
    case .none: .max
    case .lz4(let above): above
    }
  }

  /// Whether a value of `byteCount` bytes is worth an attempt.
  func compresses(_ byteCount: Int) -> Bool {
    switch self {
    case .none: false
    case .lz4(let above): byteCount > above
    }
  }
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
  /// The decoded length is cut off, has more bytes than it needs, or is 0.
  case malformedLength
  /// The decoded length is above `Limits.valueByteCount`, or more than so few compressed bytes can become.
  case implausibleLength(declared: UInt64, compressed: Int)
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
      "The length of a compressed value is malformed. Verify the database."
    case .implausibleLength(let declared, let compressed):
      "A compressed value of \(compressed) bytes claims to become \(declared) bytes. Verify the database."
    case .malformedBlock:
      "A compressed value does not decompress to its length. Verify the database."
    }
  }
}
