// The engine's units: one wrapper per idea, so that a page number cannot be added to a log position.

/// The index of a page in the data file; pages 0 and 1 are the two meta pages.
public struct PageNumber: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
  /// The index itself, from 0.
  public let rawValue: UInt64

  /// Wraps an index.
  @inlinable public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// Page 0, which is a meta page and therefore never a tree page: it stands for "no page".
  @inlinable public static var none: Self { Self(0) }

  @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { "page \(rawValue)" }
}

/// A commit sequence number: 1 for the first commit of a database, one more for each that follows.
public struct CSN: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself; 0 is the state before the first commit.
  public let rawValue: UInt64

  /// Wraps a number.
  @inlinable public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { "CSN \(rawValue)" }
}

/// As the number itself.
extension CSN: Codable {
  /// Reads a number.
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(UInt64.self)) }

  /// Writes the number.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// A log sequence number: a position in the write-ahead log, counted in bytes over all segments that ever were.
public struct LSN: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The position in bytes.
  public let rawValue: UInt64

  /// Wraps a position.
  @inlinable public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { "LSN \(rawValue)" }
}

/// The identity of a tree in one database; never given twice.
public struct TreeID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself, from 1.
  public let rawValue: UInt64

  /// Wraps a number.
  @inlinable public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { "tree \(rawValue)" }
}

/// What the keys of a tree are; stored with the tree and never changed.
public enum KeyKind: UInt8, Sendable {
  /// Byte strings in the order of their bytes.
  case bytes = 0
  /// Signed 64-bit integers in the order of their values.
  case int64 = 1
}

/// 128 random bits that identify one database; every page checksum depends on them.
public struct DatabaseID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes.
  public let high: UInt64
  /// The last eight bytes.
  public let low: UInt64

  /// Wraps two random words.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public var description: String { hexadecimal(high) + hexadecimal(low) }
}

/// `value` in sixteen hexadecimal digits.
package func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
