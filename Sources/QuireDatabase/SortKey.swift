// Values as bytes whose order is theirs.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A value that rows can be sorted and found by: it becomes bytes that are in order exactly as the values are, and none
/// of which begins another value's.
///
/// Conforming types are `String` (in the order of its UTF-8 bytes), `Bool`, all integers, `Double`, `Float`, `Decimal`,
/// `Date`, `UUID`, `Data`, `[UInt8]`, optionals of these (nil comes first), and `SortKeys`, which puts several one
/// behind the other. `Descending` turns an order around. An enumeration, or another type with a raw value, conforms by
/// saying so:
///
/// ```swift
/// extension Genre: SortKey {}
/// ```
public protocol SortKey: SendableMetatype {
  /// Appends the bytes.
  func append(to bytes: inout [UInt8])

  /// The bytes of values that are neither below, nor above, nor equal to any value, such as what is not a number; they
  /// come after all others. Nil, the default, if there are none.
  static var unorderedBytes: [UInt8]? { get }

  /// The value of such bytes, which is equal to the one that they were made of; nil if they are of none, or if the type
  /// does not come back from its bytes, as by default. What does is read from indexes, or out of stored rows, without
  /// the object; of values that are equal, such as 0.0 and -0.0, either may come then. No initializer, which would be
  /// one more answer to `UUID.init` and `Data.init` in apps.
  static func fromSortBytes(_ sortBytes: [UInt8]) -> Self?

  /// The bytes of the value that stands for none, which is neither below nor above a value that is there, and comes
  /// before all of these. Nil, the default, if there is none.
  static var absentBytes: [UInt8]? { get }
}

extension SortKey {
  public static var unorderedBytes: [UInt8]? { nil }
  public static var absentBytes: [UInt8]? { nil }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? { nil }

  /// The value's bytes. Allocates them.
  public var sortBytes: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }
}

extension SortKey where Self: RawRepresentable, RawValue: SortKey {
  public func append(to bytes: inout [UInt8]) { rawValue.append(to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let raw = RawValue.fromSortBytes(sortBytes) else { return nil }
    return Self(rawValue: raw)
  }
  public static var unorderedBytes: [UInt8]? { RawValue.unorderedBytes }
}

extension SortKey where Self: FixedWidthInteger {
  public func append(to bytes: inout [UInt8]) {
    // Two's complement with the sign turned over is in order, the most significant byte first.
    let sign = Self.isSigned ? (1 as Self) << (Self.bitWidth - 1) : 0
    unsafe withUnsafeBytes(of: (self ^ sign).bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let word = Self(bigEndianBytes: sortBytes) else { return nil }
    return word ^ (Self.isSigned ? (1 as Self) << (Self.bitWidth - 1) : 0)
  }
}

extension Int: SortKey {}
extension Int64: SortKey {}
extension Int32: SortKey {}
extension Int16: SortKey {}
extension UInt: SortKey {}
extension UInt64: SortKey {}
extension UInt32: SortKey {}
extension UInt16: SortKey {}

extension Int8: SortKey {
  public func append(to bytes: inout [UInt8]) { bytes.append(UInt8(bitPattern: self) ^ 0x80) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard sortBytes.count == 1 else { return nil }
    return Int8(bitPattern: sortBytes[0] ^ 0x80)
  }
}

extension UInt8: SortKey {
  public func append(to bytes: inout [UInt8]) { bytes.append(self) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard sortBytes.count == 1 else { return nil }
    return sortBytes[0]
  }
}

extension Bool: SortKey {
  public func append(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard sortBytes == [0] || sortBytes == [1] else { return nil }
    return sortBytes == [1]
  }
}

extension Double: SortKey {
  /// Negative zero is zero, and what is not a number comes last.
  public func append(to bytes: inout [UInt8]) {
    sortWord.append(to: &bytes)
  }

  /// The sort bytes as a number.
  @inline(__always) var sortWord: UInt64 {
    let pattern = isNaN ? UInt64.max >> 1 : (self == 0 ? 0 : bitPattern)
    // Positive numbers are in order by their bits; negative ones in the reverse, and below.
    return pattern >> 63 == 0 ? pattern | 1 << 63 : ~pattern
  }

  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let word = UInt64.fromSortBytes(sortBytes) else { return nil }
    let value = Self(bitPattern: word >> 63 == 1 ? word & ~(1 << 63) : ~word)
    return value.isNaN ? .nan : value
  }

  public static var unorderedBytes: [UInt8]? { Double.nan.sortBytes }
}

extension Float: SortKey {
  public func append(to bytes: inout [UInt8]) { Double(self).append(to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let wide = Double.fromSortBytes(sortBytes) else { return nil }
    return Self(wide)
  }
  public static var unorderedBytes: [UInt8]? { Double.unorderedBytes }
}

extension String: SortKey {
  public func append(to bytes: inout [UInt8]) { appendDelimited(utf8, to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let bytes = undelimited(sortBytes), let text = String(validating: bytes, as: UTF8.self) else { return nil }
    return text
  }
}

extension [UInt8]: SortKey {
  public func append(to bytes: inout [UInt8]) { appendDelimited(self, to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let bytes = undelimited(sortBytes) else { return nil }
    return bytes
  }
}

/// The bytes that `appendDelimited` was given; nil if it has not made these.
func undelimited(_ bytes: [UInt8]) -> [UInt8]? {
  guard bytes.count >= 2, bytes.suffix(2) == [0, 0] else { return nil }
  var source: [UInt8] = []
  source.reserveCapacity(bytes.count - 2)
  var index = 0
  while index < bytes.count - 2 {
    source.append(bytes[index])
    if bytes[index] == 0 {
      guard bytes[index + 1] == 0xff else { return nil }
      index += 1
    }
    index += 1
  }
  return source
}

/// Appends bytes and an end that is below every continuation: a zero byte within gets a companion, and two zero bytes
/// end it.
func appendDelimited(_ source: some Sequence<UInt8>, to bytes: inout [UInt8]) {
  let isAppended: Void? = source.withContiguousStorageIfAvailable { source in
    // Nearly no text has a zero byte.
    guard let base = source.baseAddress else { return }
    if unsafe memchr(base, 0, source.count) == nil {
      unsafe bytes.append(contentsOf: source)
    } else {
      unsafe appendEscaped(source, to: &bytes)
    }
  }
  if isAppended == nil { appendEscaped(source, to: &bytes) }
  bytes.append(0)
  bytes.append(0)
}

/// Appends bytes, and a companion behind each zero byte.
private func appendEscaped(_ source: some Sequence<UInt8>, to bytes: inout [UInt8]) {
  for byte in source {
    bytes.append(byte)
    if byte == 0 { bytes.append(0xff) }
  }
}

extension Optional: SortKey where Wrapped: SortKey {
  public func append(to bytes: inout [UInt8]) {
    guard let self else { return bytes.append(0) }
    bytes.append(1)
    self.append(to: &bytes)
  }

  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    if sortBytes == [0] { return .some(.none) }
    guard sortBytes.first == 1, let value = Wrapped.fromSortBytes(Array(sortBytes.dropFirst())) else { return nil }
    return .some(.some(value))
  }

  public static var unorderedBytes: [UInt8]? { Wrapped.unorderedBytes.map { [1] + $0 } }
  public static var absentBytes: [UInt8]? { [0] }
}

/// A key whose order is turned around: the greatest comes first.
public struct Descending<Key: SortKey>: SortKey {
  private let key: Key

  /// Turns the order of `key` around.
  public init(_ key: Key) { self.key = key }

  public func append(to bytes: inout [UInt8]) {
    let start = bytes.count
    key.append(to: &bytes)
    // No key begins another one, so that turning each byte over turns the order of the whole around.
    for index in start..<bytes.count { bytes[index] = ~bytes[index] }
  }
}

extension Descending: Sendable where Key: Sendable {}

/// Several keys, of which the first that differs decides.
public struct SortKeys<each Key: SortKey>: SortKey {
  private let keys: (repeat each Key)

  /// Puts keys one behind the other.
  public init(_ keys: repeat each Key) { self.keys = (repeat each keys) }

  public func append(to bytes: inout [UInt8]) {
    for key in repeat each keys { key.append(to: &bytes) }
  }
}
