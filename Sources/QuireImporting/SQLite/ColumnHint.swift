// What the declared type of a column says of values that SQLite has no storage class for.

import Foundation
import QuireDatabase

/// What a declared type says of values beyond their storage class.
enum ColumnHint {
  case none
  case bool
  case date
  case uuid

  init(declared: String) {
    let name = declared.uppercased()
    self =
      if name.contains("BOOL") {
        .bool
      } else if name.contains("DATE") || name.contains("TIMESTAMP") {
        .date
      } else if name.contains("UUID") || name.contains("GUID") {
        .uuid
      } else {
        .none
      }
  }

  /// What a value becomes, and the name of that; nil if it stays as it is.
  func coerced(_ value: RowValue) -> (value: RowValue, what: String)? {
    switch (self, value) {
    case (.bool, .integer(0)), (.bool, .integer(1)): return (.bool(value == .integer(1)), "Booleans")
    case (.uuid, .bytes(let bytes)) where bytes.count == 16:
      let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      return (.uuid(uuid), "UUIDs")
    case (.uuid, .text(let text)): return UUID(uuidString: text).map { (.uuid($0), "UUIDs") }
    case (.date, .text(let text)):
      return Self.seconds(text).map { (.date(Date(timeIntervalSinceReferenceDate: $0)), "dates") }
    default: return nil
    }
  }

  /// The seconds from 2001 to a date such as `2026-11-28 02:55:00.125`, in UTC, as SQLite's functions and GRDB write
  /// it; nil if the text is none.
  static func seconds(_ text: String) -> Double? {
    var rest = Array(text.utf8)[...]
    func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
      let part = rest.prefix(digits)
      guard part.count == digits, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      rest = rest.dropFirst(digits)
      let value = part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      return range.contains(value) ? value : nil
    }
    func take(_ bytes: String) -> Bool {
      guard let first = rest.first, bytes.utf8.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4, 0...9999), take("-"), let month = number(2, 1...12), take("-"),
      let day = number(2, 1...31), month == 12 || days(year, month, day) < days(year, month + 1, 1)
    else { return nil }
    var seconds = Double(days(year, month, day) * 86_400)
    if rest.isEmpty { return seconds }
    guard take(" T"), let hour = number(2, 0...23), take(":"), let minute = number(2, 0...59) else { return nil }
    seconds += Double(hour * 3600 + minute * 60)
    if take(":") {
      guard let second = number(2, 0...60) else { return nil }
      seconds += Double(second)
      if take(".") {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard (1...9).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        let whole = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        seconds += Double(whole) / Double((0..<digits.count).reduce(1) { product, _ in product * 10 })
      }
    }
    _ = take("Z")
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
