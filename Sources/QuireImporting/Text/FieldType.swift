// What texts become where somebody says that a column is of a type.

import Foundation
package import QuireDatabase

/// The type of a column of texts.
package enum FieldType: String, CaseIterable, Sendable {
  case text
  case integer
  case double
  case bool
  case date
  case uuid
  case bytes

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
    }
  }

  /// What a value of SQLite's becomes; nil if it is none of the type. Texts are taken as in a text.
  func value(of stored: RowValue) -> RowValue? {
    switch (self, stored) {
    case (_, .text(let text)): value(text)
    case (.text, .integer(let number)): .text(String(number))
    case (.text, .double(let number)): .text("\(number)")
    case (.integer, .integer), (.double, .double), (.bytes, .bytes): stored
    case (.integer, .double(let number)): Int128(exactly: number).map { .integer($0) }
    case (.double, .integer(let number)): .double(Double(number))
    case (.bool, _): ColumnHint.bool.coerced(stored)
    case (.uuid, _): ColumnHint.uuid.coerced(stored)
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
