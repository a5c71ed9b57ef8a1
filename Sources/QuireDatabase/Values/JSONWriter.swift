// Values without a type as JSON, so that they come back to the bit.
//
//     null, false, true, texts, lists, records    as JSON has them, fields in their order
//     an integer up to 2^53 in size               123
//     a Double                                    1.0, 0.1, 1e+300: never without a point or an exponent
//     all else                                    a record of one field, whose name is a mark:
//         {"$int": "9007199254740993"}            a larger integer
//         {"$double": "nan"}, "inf", "-inf"       what JSON has no number for; "nan:" and 16 hexadecimal digits for the
//                                                 bits of a NaN that is not the usual one
//         {"$float": 0.1}, {"$float": "nan"}      a number of single precision, in the same way; 8 digits
//         {"$data": "SGVsbG8="}                   bytes, in Base64
//         {"$uuid": "9A4F4E5B-…"}                 a UUID
//         {"$date": 804153600.5}                  a date, in seconds since 2001, as a `$double` has them
//         {"$record": {"$data": 1}}               a record whose first field has a name that begins with "$"
//         {"$record": ["a", 1, "a", 2]}           a record that has a name twice: names and values in turn
//
// Without marks it is JSON as a collection's JSON coder has it: integers of any size and numbers of single precision
// are numbers, dates the seconds since 2001, bytes and UUIDs texts, and what JSON has no number for is "NaN" or
// "Infinity", as in the JSON that Foundation writes for types.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Appends values as JSON to a buffer that is used again and again.
package struct JSONWriter: ~Copyable {
  /// What has been written.
  package private(set) var bytes: [UInt8] = []
  /// Whether records of one field stand for what JSON lacks.
  private let hasMarks: Bool
  private let room = StackRoom.current
  private var depth = 0
  /// Whether a document without marks has more values inside one another than a coder reads, or than there is stack
  /// for: what has been written is of no use then.
  private(set) var isTooDeep = false

  /// Begins with nothing.
  package init(hasMarks: Bool = true) { self.hasMarks = hasMarks }

  /// Begins anew, and keeps the memory.
  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Appends text that is JSON already.
  package mutating func append(raw text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  // MARK: Values

  /// Appends a value. O(size).
  package mutating func append(_ value: RowValue) {
    switch value {
    case .null: append(raw: "null")
    case .bool(let value): append(raw: value ? "true" : "false")
    case .integer(let value): append(integer: value)
    case .large(let value): append(large: value)
    case .float(let value): append(float: value)
    case .double(let value): append(double: value)
    case .text(let value): append(text: value)
    case .bytes(let value): append(text: Data(value).base64EncodedString(), mark: "$data")
    case .uuid(let value): append(text: value.uuidString, mark: "$uuid")
    case .date(let value): append(date: value.seconds)
    case .list(let values): append(list: values)
    case .record(let fields): append(record: fields)
    }
  }

  /// Goes into a value with others inside; false if it is not to be written.
  private mutating func enter() -> Bool {
    if !hasMarks, depth == Limits.codingDepth || !room.isEnough { isTooDeep = true }
    if isTooDeep { return false }
    depth += 1
    return true
  }

  private mutating func append(list values: [RowValue]) {
    guard enter() else { return }
    defer { depth -= 1 }
    append(raw: "[")
    var isFirst = true
    for value in values {
      if !isFirst { append(raw: ",") }
      isFirst = false
      append(value)
    }
    append(raw: "]")
  }

  private mutating func append(record fields: [RowValue.Field]) {
    guard enter() else { return }
    defer { depth -= 1 }
    if hasMarks, JSONMark.hasRepeatedName(fields) { return append(inTurn: fields) }
    let looksLikeMark = hasMarks && fields.first?.name.utf8.first == UInt8(ascii: "$")
    if looksLikeMark { append(raw: #"{"$record":"#) }
    append(raw: "{")
    var isFirst = true
    for field in fields {
      if !isFirst { append(raw: ",") }
      isFirst = false
      append(text: field.name)
      append(raw: ":")
      append(field.value)
    }
    append(raw: "}")
    if looksLikeMark { append(raw: "}") }
  }

  /// Appends a record that has a name twice, of which a reader of JSON may keep one.
  private mutating func append(inTurn fields: [RowValue.Field]) {
    append(raw: #"{"$record":["#)
    var isFirst = true
    for field in fields {
      if !isFirst { append(raw: ",") }
      isFirst = false
      append(text: field.name)
      append(raw: ",")
      append(field.value)
    }
    append(raw: "]}")
  }

  // MARK: Scalars

  private mutating func append(integer value: Int128) {
    let largest: Int128 = 1 << 53
    if value >= -largest, value <= largest { append(decimal: Int64(value)) } else { append(large: value) }
  }

  /// Appends an integer that not every program reads to its last digit.
  private mutating func append(large value: some FixedWidthInteger) {
    if hasMarks { append(text: "\(value)", mark: "$int") } else { append(ascii: "\(value)") }
  }

  private mutating func append(decimal value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }

  private mutating func append(double value: Double) {
    // The shortest digits that lead back to it, with a point or an exponent.
    if value.isFinite {
      append(ascii: "\(value)")
    } else if hasMarks {
      append(text: Self.name(of: value), mark: "$double")
    } else {
      append(text: value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
    }
  }

  private mutating func append(float value: Float) {
    guard hasMarks else { return value.isFinite ? append(ascii: "\(value)") : append(double: Double(value)) }
    append(raw: #"{"$float":"#)
    if value.isFinite {
      // The shortest digits of a Float may be in the middle of two when they are read as a Double.
      let short = "\(value)"
      let isExact = Double(short).map { Float($0).bitPattern } == value.bitPattern
      append(ascii: isExact ? short : "\(Double(value))")
    } else {
      append(text: Self.name(of: value))
    }
    append(raw: "}")
  }

  private mutating func append(date seconds: Double) {
    guard hasMarks else { return append(double: seconds) }
    append(raw: #"{"$date":"#)
    append(double: seconds)
    append(raw: "}")
  }

  private static func name(of value: Double) -> String {
    if value.isInfinite { return value < 0 ? "-inf" : "inf" }
    return value.bitPattern == Double.nan.bitPattern ? "nan" : "nan:" + hexadecimal(value.bitPattern)
  }

  private static func name(of value: Float) -> String {
    if value.isInfinite { return value < 0 ? "-inf" : "inf" }
    return value.bitPattern == Float.nan.bitPattern ? "nan" : "nan:" + hexadecimal(value.bitPattern)
  }

  private static func hexadecimal<Number: FixedWidthInteger>(_ number: Number) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: Number.bitWidth / 4 - digits.utf8.count) + digits
  }

  /// Appends a text of ASCII without escapes, in a mark if there are marks.
  private mutating func append(text content: String, mark: StaticString) {
    guard hasMarks else {
      append(raw: "\"")
      append(ascii: content)
      return append(raw: "\"")
    }
    append(raw: #"{""#)
    append(raw: mark)
    append(raw: #"":""#)
    append(ascii: content)
    append(raw: #""}"#)
  }

  /// Appends text that needs no escapes.
  private mutating func append(ascii text: String) { bytes.append(contentsOf: text.utf8) }

  /// Appends a text in quotes.
  package mutating func append(text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var start = 0
      for index in 0..<utf8.count {
        let byte = unsafe utf8[index]
        if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { continue }
        unsafe bytes.append(contentsOf: utf8[start..<index])
        appendEscape(byte)
        start = index + 1
      }
      unsafe bytes.append(contentsOf: utf8[start...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append(raw: #"\""#)
    case UInt8(ascii: "\\"): append(raw: #"\\"#)
    case UInt8(ascii: "\n"): append(raw: #"\n"#)
    case UInt8(ascii: "\r"): append(raw: #"\r"#)
    case UInt8(ascii: "\t"): append(raw: #"\t"#)
    default:
      append(raw: #"\u00"#)
      for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
    }
  }
}
