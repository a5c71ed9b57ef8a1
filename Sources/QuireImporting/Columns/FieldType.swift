// What values become where somebody says that a column is of a type.

import Foundation
package import QuireDatabase

/// The type that somebody says a column has.
package enum FieldType: String, CaseIterable, Sendable {
  case text
  case integer
  case double
  case bool
  case date
  case uuid
  case bytes
  /// A number that `Decimal` is read from.
  case decimal
  case seconds1970 = "seconds since 1970"
  case milliseconds1970 = "milliseconds since 1970"
  case microseconds1970 = "microseconds since 1970"
  case nanoseconds1970 = "nanoseconds since 1970"
  case seconds2001 = "seconds since 2001"
  case nanoseconds2001 = "nanoseconds since 2001"
  case julianDay = "Julian day"

  /// The names of all types, for messages.
  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// What the report calls values that become it.
  var what: String { epoch == nil ? rawValue : FieldType.date.rawValue }

  /// Of a type that counts time: how long its unit is in seconds, and where it begins, in seconds from 2001.
  private var epoch: (unit: Double, start: Double)? {
    switch self {
    case .seconds1970: (1, -Date.timeIntervalBetween1970AndReferenceDate)
    case .milliseconds1970: (1e-3, -Date.timeIntervalBetween1970AndReferenceDate)
    case .microseconds1970: (1e-6, -Date.timeIntervalBetween1970AndReferenceDate)
    case .nanoseconds1970: (1e-9, -Date.timeIntervalBetween1970AndReferenceDate)
    case .seconds2001: (1, 0)
    case .nanoseconds2001: (1e-9, 0)
    // A Julian day begins at noon.
    case .julianDay: (86_400, -2_451_910.5 * 86_400)
    default: nil
    }
  }

  /// What a text becomes; nil if it is none of the type.
  ///
  /// Booleans are `true`, `t`, `1`, `false`, `f` or `0`; dates are in UTC, as in tables of SQLite; bytes are
  /// hexadecimal digits, behind `\x` or not.
  package func value(_ text: String) -> RowValue? {
    switch self {
    case .text: .text(text)
    case .integer: Int128(text).map { .integer($0) }
    case .double: Self.double(text).map { .double($0) }
    case .bool: Self.bool(text).map { .bool($0) }
    case .date: ColumnHint.seconds(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .bytes: Self.bytes(text.utf8).map { .bytes($0) }
    case .decimal: ColumnHint.decimal(text)
    default: Double(text).flatMap { date($0) }
    }
  }

  /// The date that a number is.
  private func date(_ number: Double) -> RowValue? {
    guard let epoch, number.isFinite else { return nil }
    // Divided, as the parts of a second are no numbers that a double has.
    let seconds = epoch.unit < 1 ? number / (1 / epoch.unit).rounded() : number * epoch.unit
    return .date(Date(timeIntervalSinceReferenceDate: seconds + epoch.start))
  }

  /// What a value of SQLite's becomes; nil if it is none of the type. Texts are taken as in a text.
  func value(of stored: RowValue) -> RowValue? {
    switch (self, stored) {
    case (_, .text(let text)): value(text)
    case (.text, .integer(let number)): .text(String(number))
    case (.text, .double(let number)): .text("\(number)")
    case (.integer, .integer), (.double, .double), (.bytes, .bytes): stored
    case (.integer, .double(let number)): Int128(exactly: number).map { .integer($0) }
    case (.double, .integer(let number)): Double(exactly: number).map { .double($0) }
    case (.bool, _): ColumnHint.bool.coerced(stored)
    case (.uuid, _): ColumnHint.uuid.coerced(stored)
    case (.decimal, _): ColumnHint.decimal.coerced(stored)
    case (_, .integer(let number)): date(Double(number))
    case (_, .double(let number)): date(number)
    default: nil
    }
  }

  /// A number that is too large for a double is none.
  private static func double(_ text: String) -> Double? {
    guard let value = Double(text) else { return nil }
    return value.isInfinite && text.contains(where: \.isNumber) ? nil : value
  }

  private static func bool(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "true", "t", "1": true
    case "false", "f", "0": false
    default: nil
    }
  }

  private static func bytes(_ text: String.UTF8View) -> [UInt8]? {
    text.starts(with: "\\x".utf8) ? hexadecimal(text.dropFirst(2)) : hexadecimal(text)
  }

  /// The bytes that pairs of hexadecimal digits stand for; nil if there is anything else.
  static func hexadecimal(_ digits: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      guard let half = half(digit) else { return nil }
      if let first = high {
        bytes.append(first << 4 | half)
        high = nil
      } else {
        high = half
      }
    }
    return high == nil ? bytes : nil
  }

  private static func half(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
