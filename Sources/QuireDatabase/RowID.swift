// What identifies a row.

/// The number of a row: given when the row is inserted, kept as long as it lives, and never given again.
///
/// Extensions note these numbers in the place of collection and key.
public struct RowID: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  /// The number itself, from 1.
  public let rawValue: Int64

  /// Wraps a number.
  @inlinable public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// The number of a row as a file has it; nil for one that is given to no row.
  @inline(__always) init?(stored number: Int64) {
    guard number > 0, number < .max else { return nil }
    self.init(number)
  }

  @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { "row \(rawValue)" }
}

/// Where a row is: its collection and its key. Two are the same, and one comes before the other, by their bytes, as the
/// rows in the database are; not by the Unicode rules that `String` compares by.
public struct RowKey: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  /// The name of the collection.
  public let collection: String
  /// The key in the collection.
  public let key: String

  /// Puts the two together.
  public init(_ collection: String, _ key: String) {
    self.collection = collection
    self.key = key
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.collection.hasSameBytes(as: right.collection) && left.key.hasSameBytes(as: right.key)
  }

  public func hash(into hasher: inout Hasher) {
    ByteString(collection).hash(into: &hasher)
    ByteString(key).hash(into: &hasher)
  }

  public static func < (left: Self, right: Self) -> Bool {
    if left.collection.hasSameBytes(as: right.collection) {
      return left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
    }
    return left.collection.utf8.lexicographicallyPrecedes(right.collection.utf8)
  }

  public var description: String { "\(collection)/\(key)" }
}
