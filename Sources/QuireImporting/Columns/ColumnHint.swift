// What the declared type of a column says of values that SQLite has no storage class for.

import Foundation
import QuireDatabase

/// What a declared type says of values beyond their storage class.
enum ColumnHint {
  case bool
  case date
  case uuid
  /// Core Data's dates: seconds since 2001.
  case secondsSince2001
  /// Core Data's decimals, in the form that `Decimal` has in a row.
  case decimal
  /// The number of a row, which is its key as text.
  case key

  /// The hint of a type as people declare it; nil if it says nothing.
  init?(declared: String) {
    let name = declared.uppercased()
    if name.contains("BOOL") {
      self = .bool
    } else if name.contains("DATE") || name.contains("TIMESTAMP") {
      self = .date
    } else if name.contains("UUID") || name.contains("GUID") {
      self = .uuid
    } else {
      return nil
    }
  }

  /// What the report calls values that are made by it.
  var what: String {
    switch self {
    case .bool: "Booleans"
    case .date, .secondsSince2001: "dates"
    case .uuid: "UUIDs"
    case .decimal: "decimals"
    case .key: "keys of other rows"
    }
  }

  /// What a value becomes; nil if it stays as it is.
  func coerced(_ value: RowValue) -> RowValue? {
    switch (self, value) {
    case (.bool, .integer(0)), (.bool, .integer(1)): .bool(value == .integer(1))
    case (.uuid, .bytes(let bytes)) where bytes.count == 16:
      .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case (.uuid, .text(let text)): UUID(uuidString: text).map { .uuid($0) }
    case (.date, .text(let text)): Self.seconds(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case (.secondsSince2001, .integer(let number)): .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case (.secondsSince2001, .double(let number)): .date(Date(timeIntervalSinceReferenceDate: number))
    case (.decimal, .integer(let number)): Self.decimal(String(number))
    case (.decimal, .double(let number)): Self.decimal("\(number)")
    case (.decimal, .text(let text)): Self.decimal(text)
    case (.key, .integer(let number)): .text(String(number))
    default: nil
    }
  }

  /// The record that `Decimal` makes of itself; nil if the text is no decimal.
  static func decimal(_ text: String) -> RowValue? {
    // `Decimal(string:)` takes what a text begins with, and rounds what is too long.
    guard isDecimal(text.utf8), let value = Decimal(string: text), !value.isNaN else { return nil }
    guard let mantissa = UInt128("\(value.significand)") else { return nil }
    return decimal(mantissa, exponent: value.exponent, isNegative: value.isSignMinus)
  }

  /// The record that `Decimal` makes of itself, by its parts.
  static func decimal(_ mantissa: UInt128, exponent: Int, isNegative: Bool) -> RowValue {
    let words = (0..<8).map { UInt16(truncatingIfNeeded: mantissa >> UInt128(16 * $0)) }
    let length = (words.lastIndex { $0 != 0 } ?? -1) + 1
    return [
      "exponent": .integer(Int128(exponent)), "length": .integer(Int128(length)),
      "isNegative": .bool(isNegative && length > 0), "isCompact": false,
      "mantissa": .list(words.map { .integer(Int128($0)) }),
    ]
  }

  /// Whether a text is a number in full that a decimal has room for: a sign or none, digits with one point or none, at
  /// most 38 of them behind the zeros at the beginning, and an exponent or none.
  private static func isDecimal(_ text: String.UTF8View) -> Bool {
    guard text.count <= 200 else { return false }
    var rest = TextParts(text)
    _ = rest.take("+-")
    var digits = rest.takeDigits()
    var exponent = 0
    if rest.take(".") {
      let fraction = rest.takeDigits()
      digits += fraction
      exponent = -fraction.count
    }
    guard !digits.isEmpty, digits.drop(while: { $0 == 0x30 }).count <= 38 else { return false }
    if rest.take("eE") {
      let isNegative = rest.take("-")
      if !isNegative { _ = rest.take("+") }
      let power = rest.takeDigits()
      guard (1...4).contains(power.count) else { return false }
      let number = TextParts.number(power)
      exponent += isNegative ? -number : number
    }
    // What the exponent of a decimal has room for.
    return rest.isEmpty && (-128...127).contains(exponent)
  }

  /// The seconds from 2001 to a date such as `2026-11-28 02:55:00.125`, in UTC, as SQLite's functions and GRDB write
  /// it; nil if the text is none.
  static func seconds(_ text: String) -> Double? {
    var rest = TextParts(text.utf8)
    func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
      let part = rest.takeDigits(most: digits)
      let value = TextParts.number(part)
      return part.count == digits && range.contains(value) ? value : nil
    }
    guard let year = number(4, 0...9999), rest.take("-"), let month = number(2, 1...12), rest.take("-"),
      let day = number(2, 1...31), month == 12 || days(year, month, day) < days(year, month + 1, 1)
    else { return nil }
    var seconds = Double(days(year, month, day) * 86_400)
    if rest.isEmpty { return seconds }
    guard rest.take(" T"), let hour = number(2, 0...23), rest.take(":"), let minute = number(2, 0...59)
    else { return nil }
    seconds += Double(hour * 3600 + minute * 60)
    if rest.take(":") {
      guard let second = number(2, 0...60) else { return nil }
      seconds += Double(second)
      if rest.take(".") {
        let digits = rest.takeDigits()
        guard (1...9).contains(digits.count) else { return nil }
        let whole = TextParts.number(digits)
        seconds += Double(whole) / Double((0..<digits.count).reduce(1) { product, _ in product * 10 })
      }
    }
    _ = rest.take("Z")
    return rest.isEmpty ? seconds : nil
  }

  /// The days from the first of January 2001, in the Gregorian calendar.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // Years begin in March, so that the day that not all of them have is the last one.
    let shifted = month <= 2 ? year + 399 : year + 400
    let (era, yearOfEra) = (shifted / 400, shifted % 400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    // The days from the first of March of the year -400 to the first of January 2001.
    return era * 146_097 + dayOfEra - 876_888
  }
}

/// A text that is taken apart from its beginning on.
private struct TextParts {
  private var rest: ArraySlice<UInt8>

  init(_ text: String.UTF8View) { rest = Array(text)[...] }

  var isEmpty: Bool { rest.isEmpty }

  /// Takes one of these characters; false if the next one is another.
  mutating func take(_ characters: String) -> Bool {
    guard let first = rest.first, characters.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Takes the digits that come next.
  mutating func takeDigits(most: Int = .max) -> ArraySlice<UInt8> {
    let digits = rest.prefix(most).prefix { (0x30...0x39).contains($0) }
    rest = rest.dropFirst(digits.count)
    return digits
  }

  /// The number that digits are, of which there are few.
  static func number(_ digits: ArraySlice<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
}
