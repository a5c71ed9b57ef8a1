// Asking conditions about rows, with SQLite's logic of three values.

/// What a condition is asked about.
struct QueryRow {
  let rowID: Int64
  /// The values of the columns, in their order.
  let values: [QueryValue]

  /// For what depends on no row.
  static let none = QueryRow(rowID: 0, values: [])
}

extension QueryExpression {
  /// The value for a row. Names and parameters, which stand in no bound expression, are null.
  func value(_ row: QueryRow) -> QueryValue {
    switch self {
    case .value(let value): value
    case .column(let column): row.values[column]
    case .rowID: .integer(row.rowID)
    case .collated(let inner, _): inner.value(row)
    case .negative(let inner): Self.negative(inner.value(row))
    case .parameter, .name: .null
    case .comparison, .oneOf, .member, .like, .matching, .not, .all, .any: QueryValue(truth(row))
    }
  }

  private static func negative(_ value: QueryValue) -> QueryValue {
    switch value.numeric {
    case .integer(let integer): integer == .min ? .real(-Double(integer)) : .integer(-integer)
    case .real(let real): .real(-real)
    default: .null
    }
  }

  /// Whether it is true for a row; nil if that is unknown.
  func truth(_ row: QueryRow) -> Bool? {
    switch self {
    case .comparison(let comparison, let left, let right, let operands):
      return Self.truth(comparison, left.value(row), right.value(row), operands)
    case .oneOf(let value, let list, let operands):
      let value = value.value(row)
      var isUnknown = false
      for other in list {
        guard let isSame = Self.truth(.equal, value, other.value(row), operands) else {
          isUnknown = true
          continue
        }
        if isSame { return true }
      }
      return isUnknown ? nil : false
    case .member(let value, let members, let affinity):
      if members.isEmpty { return false }
      let value = affinity.compared(value.value(row))
      if value == .null { return nil }
      if members.values.contains(QueryKey(bytes: value.keyBytes)) { return true }
      return members.hasNull ? nil : false
    case .like(let value, let pattern, let escape):
      guard let text = value.value(row).textBytes, let pattern = pattern.value(row).textBytes else { return nil }
      guard let escape else { return LikePattern(pattern, escape: nil).matches(text) }
      return escape.value(row).textBytes.map { LikePattern(pattern, escape: $0).matches(text) }
    case .matching(let value, let pattern): return value.value(row).textBytes.map { pattern.matches($0) }
    case .not(let inner): return inner.truth(row).map { !$0 }
    case .all(let parts):
      var isUnknown = false
      for part in parts {
        guard let isTrue = part.truth(row) else {
          isUnknown = true
          continue
        }
        if !isTrue { return false }
      }
      return isUnknown ? nil : true
    case .any(let parts):
      var isUnknown = false
      for part in parts {
        guard let isTrue = part.truth(row) else {
          isUnknown = true
          continue
        }
        if isTrue { return true }
      }
      return isUnknown ? nil : false
    default: return value(row).truth
    }
  }

  private static func truth(
    _ comparison: QueryComparison, _ one: QueryValue, _ two: QueryValue, _ operands: QueryOperands
  ) -> Bool? {
    if one == .null || two == .null {
      switch comparison {
      case .same: return one == two
      case .notSame: return one != two
      default: return nil
      }
    }
    let (one, two) = (operands.affinity.compared(one), operands.affinity.compared(two))
    return comparison.holds(one.compared(to: two, operands.collation))
  }
}

/// A pattern of `LIKE`: `%` stands for any text, `_` for one character; ASCII letters match in either case.
struct LikePattern: Sendable {
  private enum Part: Equatable, Sendable {
    case byte(UInt8)
    /// One character.
    case one
    /// Any number of characters.
    case many
  }

  private let parts: [Part]
  /// Whether an escape stands at the end, with nothing behind it: no text is meant then.
  private let isBroken: Bool

  /// Takes a pattern apart.
  ///
  /// - Parameter escape: what takes the meaning from the sign behind it; only a single character does.
  init(_ pattern: [UInt8], escape: [UInt8]?) {
    let escape = escape.flatMap { String(decoding: $0, as: UTF8.self).unicodeScalars.count == 1 ? $0 : nil }
    var parts: [Part] = []
    var isEscaped = false
    var place = 0
    while place < pattern.count {
      if !isEscaped, let escape, pattern[place...].starts(with: escape) {
        isEscaped = true
        place += escape.count
        continue
      }
      switch pattern[place] {
      case UInt8(ascii: "%") where !isEscaped: parts.append(.many)
      case UInt8(ascii: "_") where !isEscaped: parts.append(.one)
      default: parts.append(.byte(pattern[place].lowercasedLetter))
      }
      isEscaped = false
      place += 1
    }
    self.parts = parts
    isBroken = isEscaped
  }

  /// The bytes that all matching texts begin with, letters in lower case.
  var prefix: [UInt8] {
    var prefix: [UInt8] = []
    for case .byte(let byte) in parts.prefix(while: { $0 != .one && $0 != .many }) { prefix.append(byte) }
    return prefix
  }

  /// Whether a text matches. O(text · parts) at the most.
  func matches(_ text: [UInt8]) -> Bool {
    if isBroken { return false }
    var (part, place) = (0, 0)
    // Where the last `%` stands, and how much of the text it has been given.
    var many: (part: Int, place: Int)?
    while place < text.count {
      if part < parts.count, parts[part] == .many {
        many = (part, place)
        part += 1
      } else if part < parts.count, parts[part] == .one {
        place = Self.next(text, place)
        part += 1
      } else if part < parts.count, parts[part] == .byte(text[place].lowercasedLetter) {
        part += 1
        place += 1
      } else if let last = many {
        many = (last.part, Self.next(text, last.place))
        (part, place) = (last.part + 1, Self.next(text, last.place))
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { $0 == .many }
  }

  /// Behind the character that stands at a byte.
  private static func next(_ text: [UInt8], _ place: Int) -> Int {
    var next = place + 1
    if text[place] >= 0xc0 { while next < text.count, text[next] & 0xc0 == 0x80 { next += 1 } }
    return next
  }
}
