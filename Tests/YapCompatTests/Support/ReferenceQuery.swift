// A second reading of SQLite's rules, by tables and on trees of its own: what queries of secondary indexes are held
// against. It makes conditions at random, writes them down, and says what they are worth.

import Foundation
import QuireTesting

/// A value of SQLite's.
enum ReferenceValue: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  static func == (one: Self, two: Self) -> Bool { one.description == two.description }
  func hash(into hasher: inout Hasher) { hasher.combine(description) }

  var description: String {
    switch self {
    case .null: "null"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)r"
    case .text(let text): "'\(text)'\(Array(text.utf8))"
    case .blob(let bytes): "\(bytes)"
    }
  }

  /// As a handler or a parameter has it.
  var object: Any {
    switch self {
    case .null: NSNull()
    case .integer(let integer): Int(integer)
    case .real(let real): real
    case .text(let text): text
    case .blob(let bytes): Data(bytes)
    }
  }

  /// A value as queries give it; nil for what none gives.
  init?(_ object: Any?) {
    switch object {
    case let integer as Int: self = .integer(Int64(integer))
    case let real as Double: self = .real(real)
    case let text as String: self = .text(text)
    case let data as Data: self = .blob(Array(data))
    default: return nil
    }
  }

  /// As a literal of a query.
  var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): "'\(text.replacingOccurrences(of: "'", with: "''"))'"
    case .blob(let bytes): "x'" + bytes.map { String(format: "%02x", $0) }.joined() + "'"
    }
  }

  // MARK: Tables

  /// The texts that are numbers, with these.
  static let numbers: [String: ReferenceValue] = [
    "5": .integer(5), "5.0": .real(5), " 2 ": .integer(2), "1e2": .real(100), "-1.5": .real(-1.5), "+3": .integer(3),
    "9007199254740993": .integer(9_007_199_254_740_993), ".5": .real(0.5),
  ]
  /// Texts that are none.
  static let words = ["", "a", "B", "b", "abc", "ABC", "aB%c", "a_c", "Äb", "ä", "z", "it's", "7up", "nul\0byte", "x"]
  /// Texts that begin with a number other than 0.
  static let truths: Set<String> = ["5", "5.0", " 2 ", "1e2", "-1.5", "+3", "9007199254740993", ".5", "7up"]
  /// Reals and their texts.
  static let reals: KeyValuePairs<Double, String> = [
    0.5: "0.5", 2: "2.0", -1.5: "-1.5", 5: "5.0", 100: "100.0", 9_007_199_254_740_992: "9.00719925474099e+15",
    1e20: "1.0e+20", -1e20: "-1.0e+20", 0: "0.0", 0x1p63: "9.22337203685478e+18",
  ]
  static let integers: [Int64] = [-3, -1, 0, 1, 2, 3, 4, 5, 100, 9_007_199_254_740_993, 9_007_199_254_740_992, .max]
  static let blobs: [[UInt8]] = [[], [0], [0, 1], [0x61], [0x61, 0x62, 0x63], [0xff]]

  /// The number that a text is: also one that a column of text has made of a number.
  static func number(_ text: String) -> ReferenceValue? { numbers[text] ?? made[text] }

  private static let made: [String: ReferenceValue] = {
    var made: [String: ReferenceValue] = [:]
    for integer in integers { made["\(integer)"] = .integer(integer) }
    for (_, text) in reals { made[text] = Double(text).map { .real($0) } }
    return made
  }()

  static func random(_ random: inout SeededRandom) -> ReferenceValue {
    switch Int.random(in: 0..<12, using: &random) {
    case 0: .null
    case 1...4: .integer(integers.randomElement(using: &random) ?? 0)
    case 5...6: .real(reals.map(\.key).randomElement(using: &random) ?? 0)
    case 7: .text(numbers.keys.sorted().randomElement(using: &random) ?? "")
    case 8...10: .text(words.randomElement(using: &random) ?? "")
    default: .blob(blobs.randomElement(using: &random) ?? [])
    }
  }

  // MARK: Rules

  var bytes: [UInt8]? {
    switch self {
    case .null: nil
    case .integer(let integer): Array("\(integer)".utf8)
    case .real(let real): Array((Self.reals.first { $0.key == real }?.value ?? "\(Int(real)).0").utf8)
    case .text(let text): Array(text.utf8)
    case .blob(let bytes): bytes
    }
  }

  var truth: Bool? {
    switch self {
    case .null: nil
    case .integer(let integer): integer != 0
    case .real(let real): real != 0
    case .text(let text): Self.truths.contains(text) || Self.made[text]?.truth == true
    case .blob: false
    }
  }

  private var kind: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// Whether the value comes before another one.
  func precedes(_ other: ReferenceValue, ignoringCase: Bool = false) -> Bool {
    guard kind == other.kind else { return kind < other.kind }
    switch (self, other) {
    case (.integer(let one), .integer(let two)): return one < two
    case (.integer(let one), .real(let two)):
      if abs(two) >= 0x1p63 { return two > 0 }
      return Int64(exactly: two).map { one < $0 } ?? (Double(one) < two)
    case (.real(let one), .integer(let two)):
      if abs(one) >= 0x1p63 { return one < 0 }
      return Int64(exactly: one).map { $0 < two } ?? (one < Double(two))
    case (.real(let one), .real(let two)): return one < two
    case (.text(let one), .text(let two)):
      func form(_ text: String) -> [UInt8] {
        guard ignoringCase else { return Array(text.utf8) }
        return text.utf8.map { (0x41...0x5a).contains($0) ? $0 + 32 : $0 }
      }
      return form(one).lexicographicallyPrecedes(form(two))
    case (.blob(let one), .blob(let two)): return one.lexicographicallyPrecedes(two)
    default: return false
    }
  }
}

/// What columns make of values.
enum ReferenceAffinity: String, CaseIterable {
  case integer, real, numeric, text, blob

  var isNumeric: Bool { self != .text && self != .blob }

  func compared(_ value: ReferenceValue) -> ReferenceValue {
    switch value {
    case .text(let text) where isNumeric: ReferenceValue.number(text) ?? value
    case .integer where self == .text, .real where self == .text:
      .text(String(decoding: value.bytes ?? [], as: UTF8.self))
    default: value
    }
  }

  func stored(_ value: ReferenceValue) -> ReferenceValue {
    switch compared(value) {
    case .integer(let integer) where self == .real: return .real(Double(integer))
    case .real(let real) where self == .integer || self == .numeric:
      return Int64(exactly: real).map { .integer($0) } ?? .real(real)
    case let other: return other
    }
  }
}

/// A row: its number, and the values of the columns, which are called as their affinities are.
struct ReferenceRow {
  var number: Int64
  var values: [ReferenceAffinity: ReferenceValue]
}

/// A condition, or a part of one.
indirect enum ReferenceExpression {
  case value(ReferenceValue, isParameter: Bool)
  case column(ReferenceAffinity)
  case number
  case comparison(String, ReferenceExpression, ReferenceExpression, ignoresCase: Bool)
  case between(ReferenceExpression, ReferenceExpression, ReferenceExpression, isNegated: Bool)
  case oneOf(ReferenceExpression, [ReferenceExpression], isNegated: Bool)
  case list(ReferenceExpression, [ReferenceValue])
  case like(ReferenceExpression, String, isNegated: Bool)
  case isNull(ReferenceExpression, isNegated: Bool)
  case not(ReferenceExpression)
  case both(ReferenceExpression, ReferenceExpression)
  case either(ReferenceExpression, ReferenceExpression)

  // MARK: Writing

  /// The text; parameters are added to `parameters` in their order.
  func text(_ parameters: inout [Any]) -> String {
    switch self {
    case .value(let value, let isParameter):
      guard isParameter else { return value.literal }
      parameters.append(value.object)
      return "?"
    case .column(let column): return column.rawValue
    case .number: return "rowid"
    case .comparison(let sign, let one, let two, let ignoresCase):
      return "\(one.text(&parameters))\(ignoresCase ? " COLLATE NOCASE" : "") \(sign) \(two.text(&parameters))"
    case .between(let value, let lower, let upper, let isNegated):
      let word = isNegated ? "NOT BETWEEN" : "BETWEEN"
      return "\(value.text(&parameters)) \(word) \(lower.text(&parameters)) AND \(upper.text(&parameters))"
    case .oneOf(let value, let list, let isNegated):
      let start = "\(value.text(&parameters)) \(isNegated ? "NOT IN" : "IN") ("
      return start + list.map { $0.text(&parameters) }.joined(separator: ", ") + ")"
    case .list(let value, let list):
      let start = value.text(&parameters)
      parameters.append(list.map(\.object))
      return "\(start) in (?)"
    case .like(let value, let pattern, let isNegated):
      return "\(value.text(&parameters)) \(isNegated ? "NOT LIKE" : "LIKE") \(ReferenceValue.text(pattern).literal)"
    case .isNull(let value, let isNegated): return "\(value.text(&parameters)) IS \(isNegated ? "NOT NULL" : "NULL")"
    case .not(let inner): return "NOT (\(inner.text(&parameters)))"
    case .both(let one, let two): return "(\(one.text(&parameters))) AND (\(two.text(&parameters)))"
    case .either(let one, let two): return "((\(one.text(&parameters))) or (\(two.text(&parameters))))"
    }
  }

  // MARK: Meaning

  private var affinity: ReferenceAffinity? {
    switch self {
    case .column(let column): column
    case .number: .integer
    default: nil
    }
  }

  private func value(_ row: ReferenceRow) -> ReferenceValue {
    switch self {
    case .value(let value, _): value
    case .column(let column): row.values[column] ?? .null
    case .number: .integer(row.number)
    default: truth(row).map { .integer($0 ? 1 : 0) } ?? .null
    }
  }

  private static func compare(
    _ sign: String, _ one: ReferenceExpression, _ two: ReferenceExpression, _ row: ReferenceRow, ignoresCase: Bool
  ) -> Bool? {
    var (left, right) = (one.value(row), two.value(row))
    if sign == "IS", left == .null || right == .null { return left == right }
    if left == .null || right == .null { return nil }
    let common: ReferenceAffinity
    switch (one.affinity, two.affinity) {
    case (let first?, let second?): common = first.isNumeric || second.isNumeric ? .numeric : .blob
    case (let only?, nil), (nil, let only?): common = only
    case (nil, nil): common = .blob
    }
    (left, right) = (common.compared(left), common.compared(right))
    let isLess = left.precedes(right, ignoringCase: ignoresCase)
    let isMore = right.precedes(left, ignoringCase: ignoresCase)
    switch sign {
    case "=", "==", "IS": return !isLess && !isMore
    case "!=", "<>": return isLess || isMore
    case "<": return isLess
    case "<=": return !isMore
    case ">": return isMore
    default: return !isLess
    }
  }

  private static func both(_ one: Bool?, _ two: Bool?) -> Bool? {
    if one == false || two == false { return false }
    return one == nil || two == nil ? nil : true
  }

  private static func any(_ value: ReferenceExpression, _ list: [ReferenceExpression], _ row: ReferenceRow) -> Bool? {
    // What stands in the list is taken as the left side is, and has no affinity of its own.
    let truths = list.map { member in
      compare("=", value, .value(member.value(row), isParameter: false), row, ignoresCase: false)
    }
    if truths.contains(true) { return true }
    return truths.contains(nil) ? nil : false
  }

  /// Whether it is true for a row; nil if unknown.
  func truth(_ row: ReferenceRow) -> Bool? {
    switch self {
    case .value, .column, .number: return value(row).truth
    case .comparison(let sign, let one, let two, let ignoresCase):
      return Self.compare(sign, one, two, row, ignoresCase: ignoresCase)
    case .between(let value, let lower, let upper, let isNegated):
      let isInside = Self.both(
        Self.compare(">=", value, lower, row, ignoresCase: false),
        Self.compare("<=", value, upper, row, ignoresCase: false))
      return isNegated ? isInside.map { !$0 } : isInside
    case .oneOf(let value, let list, let isNegated):
      let isThere = Self.any(value, list, row)
      return isNegated ? isThere.map { !$0 } : isThere
    case .list(let value, let list):
      let members = list.isEmpty ? [.null] : list
      return Self.any(value, members.map { .value($0, isParameter: true) }, row)
    case .like(let value, let pattern, let isNegated):
      guard let text = value.value(row).bytes else { return nil }
      return Self.matches(Self.characters(text)[...], Self.characters(Array(pattern.utf8))[...]) != isNegated
    case .isNull(let value, let isNegated): return (value.value(row) == .null) != isNegated
    case .not(let inner): return inner.truth(row).map { !$0 }
    case .both(let one, let two): return Self.both(one.truth(row), two.truth(row))
    case .either(let one, let two): return Self.both(one.truth(row).map { !$0 }, two.truth(row).map { !$0 }).map { !$0 }
    }
  }

  /// Characters with ASCII letters in lower case; a byte that begins none stands alone.
  private static func characters(_ bytes: [UInt8]) -> [[UInt8]] {
    var characters: [[UInt8]] = []
    for byte in bytes {
      if byte & 0xc0 == 0x80, let last = characters.last, last[0] >= 0xc0 {
        characters[characters.count - 1].append(byte)
      } else {
        characters.append([(0x41...0x5a).contains(byte) ? byte + 32 : byte])
      }
    }
    return characters
  }

  private static func matches(_ text: ArraySlice<[UInt8]>, _ pattern: ArraySlice<[UInt8]>) -> Bool {
    guard let sign = pattern.first else { return text.isEmpty }
    if sign == [0x25] {
      return (text.startIndex...text.endIndex).contains { matches(text[$0...], pattern.dropFirst()) }
    }
    guard let character = text.first, sign == [0x5f] || sign == character else { return false }
    return matches(text.dropFirst(), pattern.dropFirst())
  }

  // MARK: Chance

  private static func operand(_ random: inout SeededRandom) -> ReferenceExpression {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return .number
    case 1...5: return .column(ReferenceAffinity.allCases.randomElement(using: &random) ?? .blob)
    default: return .value(.random(&random), isParameter: .random(using: &random))
    }
  }

  private static let patterns = ["a%", "%", "%b%", "_", "A_C", "ab", "5%", "%0", "it's", "7%", "ä%", "", "a%c", "x%%"]

  /// A condition that is at most so many levels deep.
  static func random(_ depth: Int, _ random: inout SeededRandom) -> ReferenceExpression {
    if depth > 0, Int.random(in: 0..<3, using: &random) > 0 {
      let one = Self.random(depth - 1, &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0: return .not(one)
      case 1...3: return .both(one, Self.random(depth - 1, &random))
      default: return .either(one, Self.random(depth - 1, &random))
      }
    }
    let value = operand(&random)
    let isNegated = Int.random(in: 0..<4, using: &random) == 0
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return .between(value, operand(&random), operand(&random), isNegated: isNegated)
    case 1...2:
      let list = (0..<Int.random(in: 0..<4, using: &random)).map { _ in operand(&random) }
      return .oneOf(value, list, isNegated: isNegated)
    case 3: return .list(value, (0..<Int.random(in: 0..<5, using: &random)).map { _ in .random(&random) })
    case 4: return .like(value, patterns.randomElement(using: &random) ?? "", isNegated: isNegated)
    case 5: return .isNull(value, isNegated: isNegated)
    case 6 where isNegated: return value
    default:
      let sign = ["=", "==", "!=", "<>", "<", "<=", ">", ">=", "IS"].randomElement(using: &random) ?? "="
      let ignoresCase = Int.random(in: 0..<8, using: &random) == 0
      return .comparison(sign, value, operand(&random), ignoresCase: ignoresCase)
    }
  }
}
