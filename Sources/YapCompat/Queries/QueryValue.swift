// The values that queries compare: SQLite's five kinds, with their order.

internal import Foundation

/// A value of a column, of a parameter, or of a literal.
enum QueryValue: Hashable, Sendable {
  case null
  case integer(Int64)
  /// Never NaN, which is null.
  case real(Double)
  /// Text by its UTF-8 bytes: texts are the same, and in order, as their bytes are.
  case text([UInt8])
  case blob([UInt8])

  /// A value of an app's; nil for one that is neither a number, text, data, a date nor null.
  ///
  /// Dates are seconds since the beginning of 2001. Whole numbers that no `Int64` holds are reals.
  init?(_ value: Any) {
    // The usual types are asked for by name: a cast to a protocol takes far longer.
    let type = Swift.type(of: value)
    if type == Int.self, let integer = value as? Int {
      self = .integer(Int64(integer))
    } else if type == Double.self, let real = value as? Double {
      self = Self(real: real)
    } else if type is NSNumber.Type, let number = value as? NSNumber {
      self.init(number)
    } else if let text = value as? String {
      self = .text(Array(text.utf8))
    } else if let integer = value as? any BinaryInteger {
      self = Int64(exactly: integer).map { .integer($0) } ?? .real(Double(integer))
    } else if let real = value as? any BinaryFloatingPoint {
      self = Self(real: Double(real))
    } else if let data = value as? Data {
      self = .blob(Array(data))
    } else if let date = value as? Date {
      self = Self(real: date.timeIntervalSinceReferenceDate)
    } else if type == Bool.self, let truth = value as? Bool {
      self = .integer(truth ? 1 : 0)
    } else if value is NSNull {
      self = .null
    } else {
      return nil
    }
  }

  private init(_ number: NSNumber) {
    switch number {
    case is NSDecimalNumber: self = Self(real: number.doubleValue)
    default:
      switch UInt8(bitPattern: unsafe number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"): self = Self(real: number.doubleValue)
      case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): self = .real(number.doubleValue)
      default: self = .integer(number.int64Value)
      }
    }
  }

  init(real: Double) { self = real.isNaN ? .null : .real(real) }

  init(_ truth: Bool?) { self = truth.map { .integer($0 ? 1 : 0) } ?? .null }

  /// The value as an app gets it: `NSNull`, `Int`, `Double`, `String` or `Data`.
  var object: Any {
    switch self {
    case .null: NSNull()
    case .integer(let integer): Int(integer)
    case .real(let real): real
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .blob(let bytes): Data(bytes)
    }
  }

  /// Whether the value stands for true; nil for null.
  var truth: Bool? {
    switch self {
    case .null: nil
    case .integer(let integer): integer != 0
    case .real(let real): real != 0
    case .text(let bytes), .blob(let bytes): QueryNumber.beginning(of: bytes) != 0
    }
  }

  /// The value as text: of a number its digits; nil for null.
  var textBytes: [UInt8]? {
    switch self {
    case .null: nil
    case .integer(let integer): Array(String(integer).utf8)
    case .real(let real): Array(QueryNumber.text(real).utf8)
    case .text(let bytes), .blob(let bytes): bytes
    }
  }

  /// The value as a number to add up: of text and blobs what they begin with, nil for null.
  var numeric: QueryValue? {
    switch self {
    case .null: nil
    case .integer, .real: self
    case .text(let bytes): QueryNumber.value(of: bytes) ?? .real(QueryNumber.beginning(of: bytes))
    case .blob(let bytes): .real(QueryNumber.beginning(of: bytes))
    }
  }

  var real: Double {
    switch self {
    case .integer(let integer): Double(integer)
    case .real(let real): real
    default: 0
    }
  }
}

// MARK: Order

extension QueryValue {
  /// Null, numbers, text, blobs.
  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// Less than 0, 0, or more: where this value stands beside another one.
  func compared(to other: QueryValue, _ collation: QueryCollation = .binary) -> Int {
    switch (self, other) {
    case (.integer(let one), .integer(let two)): Self.order(one, two)
    case (.real(let one), .real(let two)): Self.order(one, two)
    case (.integer(let one), .real(let two)): Self.exactOrder(one, two)
    case (.real(let one), .integer(let two)): -Self.exactOrder(two, one)
    case (.text(let one), .text(let two)): Self.order(collation.form(one), collation.form(two))
    case (.blob(let one), .blob(let two)): Self.order(one, two)
    default: Self.order(rank, other.rank)
    }
  }

  private static func order<Value: Comparable>(_ one: Value, _ two: Value) -> Int {
    one < two ? -1 : one == two ? 0 : 1
  }

  private static func order(_ one: [UInt8], _ two: [UInt8]) -> Int {
    if one == two { return 0 }
    return one.lexicographicallyPrecedes(two) ? -1 : 1
  }

  /// Exactly, where a conversion to `Double` would round.
  private static func exactOrder(_ one: Int64, _ two: Double) -> Int {
    if two < -0x1p63 { return 1 }
    if two >= 0x1p63 { return -1 }
    let whole = Int64(two)
    if one != whole { return order(one, whole) }
    return order(0.0, two - Double(whole))
  }
}

/// How texts are compared.
enum QueryCollation: Sendable {
  /// By their bytes.
  case binary
  /// Without regard to the case of ASCII letters.
  case noCase
  /// Without regard to spaces at the end.
  case trimmed

  /// The bytes that are compared for a text.
  func form(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .binary: bytes
    case .noCase: bytes.map(\.lowercasedLetter)
    case .trimmed: Array(bytes[..<(bytes.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? 0)])
    }
  }
}

extension UInt8 {
  /// An ASCII letter in lower case, or the byte itself.
  var lowercasedLetter: UInt8 { self >= 0x41 && self <= 0x5a ? self | 0x20 : self }
  /// An ASCII letter in upper case, or the byte itself.
  var uppercasedLetter: UInt8 { self >= 0x61 && self <= 0x7a ? self & ~0x20 : self }
}

// MARK: Affinity

/// What a column makes of the values that are stored in it and compared with it.
enum QueryAffinity: String, Sendable {
  case integer
  case real
  case numeric
  case text
  /// Nothing.
  case blob

  var isNumeric: Bool { self == .integer || self == .real || self == .numeric }

  /// A value as a column stores it.
  func stored(_ value: QueryValue) -> QueryValue {
    switch self {
    case .blob: return value
    case .text: return compared(value)
    case .integer, .numeric, .real: break
    }
    switch compared(value) {
    case .integer(let integer) where self == .real: return .real(Double(integer))
    case .real(let real) where self != .real:
      // A whole number, unless it lies where reals are further apart than whole numbers are.
      if let integer = Int64(exactly: real), integer > .min, integer < .max { return .integer(integer) }
      return .real(real)
    case let other: return other
    }
  }

  /// A value as it is compared with one of the column's.
  func compared(_ value: QueryValue) -> QueryValue {
    switch (self, value) {
    case (.integer, .text(let bytes)), (.real, .text(let bytes)), (.numeric, .text(let bytes)):
      return QueryNumber.value(of: bytes) ?? value
    case (.text, .integer), (.text, .real): return .text(value.textBytes ?? [])
    default: return value
    }
  }

  /// What both sides of a comparison are taken as: a number if one is a column of numbers; else text if one is a column
  /// of text and the other no column.
  static func common(_ one: QueryAffinity?, _ two: QueryAffinity?) -> QueryAffinity {
    guard let one, let two else { return one ?? two ?? .blob }
    return one.isNumeric || two.isNumeric ? .numeric : .blob
  }
}
