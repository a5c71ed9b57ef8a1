// What a field may be that has a column of its own.

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// A type whose values have a column of a table.
  public protocol PostgresValue: Sendable {
    /// The type of the column, as SQL has it, such as `bigint`.
    static var postgresType: String { get }
    /// The value as a text that PostgreSQL reads as that type; nil for null. What it refuses sets the row aside.
    var postgresText: String? { get }
  }

  extension PostgresValue where Self: BinaryInteger {
    /// `bigint`; a larger value sets the row aside.
    public static var postgresType: String { "bigint" }
    /// The digits.
    public var postgresText: String? { "\(self)" }
  }

  extension Int: PostgresValue {}
  extension Int8: PostgresValue {}
  extension Int16: PostgresValue {}
  extension Int32: PostgresValue {}
  extension Int64: PostgresValue {}
  extension UInt: PostgresValue {}
  extension UInt8: PostgresValue {}
  extension UInt16: PostgresValue {}
  extension UInt32: PostgresValue {}
  extension UInt64: PostgresValue {}

  extension Int128: PostgresValue {
    /// `numeric`, which has all digits.
    public static var postgresType: String { "numeric" }
  }

  extension UInt128: PostgresValue {
    /// `numeric`, which has all digits.
    public static var postgresType: String { "numeric" }
  }

  extension PostgresValue where Self: BinaryFloatingPoint & LosslessStringConvertible {
    /// The shortest digits that lead back to it, or `NaN`, `Infinity`, `-Infinity`.
    public var postgresText: String? {
      if isNaN { return "NaN" }
      return isInfinite ? (self < 0 ? "-Infinity" : "Infinity") : description
    }
  }

  extension Double: PostgresValue {
    /// `double precision`.
    public static var postgresType: String { "double precision" }
  }

  extension Float: PostgresValue {
    /// `real`.
    public static var postgresType: String { "real" }
  }

  extension Bool: PostgresValue {
    /// `boolean`.
    public static var postgresType: String { "boolean" }
    /// `true` or `false`.
    public var postgresText: String? { self ? "true" : "false" }
  }

  extension String: PostgresValue {
    /// `text`; one with U+0000 sets the row aside.
    public static var postgresType: String { "text" }
    /// The text.
    public var postgresText: String? { self }
  }

  extension UUID: PostgresValue {
    /// `uuid`.
    public static var postgresType: String { "uuid" }
    /// The digits.
    public var postgresText: String? { uuidString }
  }

  extension Date: PostgresValue {
    /// `timestamptz`, which has microseconds.
    public static var postgresType: String { "timestamptz" }
    /// The time in UTC.
    public var postgresText: String? { PostgresTime.text(timeIntervalSince1970) }
  }

  extension Data: PostgresValue {
    /// `bytea`.
    public static var postgresType: String { "bytea" }
    /// The bytes in hexadecimal digits.
    public var postgresText: String? { "\\x" + Hexadecimal.text(self) }
  }

  extension Array: PostgresValue where Element == UInt8 {
    /// `bytea`.
    public static var postgresType: String { "bytea" }
    /// The bytes in hexadecimal digits.
    public var postgresText: String? { "\\x" + Hexadecimal.text(self) }
  }

  extension Optional: PostgresValue where Wrapped: PostgresValue {
    /// That of the value.
    public static var postgresType: String { Wrapped.postgresType }
    /// That of the value; nil without one.
    public var postgresText: String? { flatMap(\.postgresText) }
  }

  extension PostgresValue where Self: RawRepresentable, RawValue: PostgresValue {
    /// That of the raw value.
    public static var postgresType: String { RawValue.postgresType }
    /// That of the raw value.
    public var postgresText: String? { rawValue.postgresText }
  }
#endif
