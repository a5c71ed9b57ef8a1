// JSON of any origin, read as values without a type. Whole numbers keep their digits, fields their order.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What is wrong with a text that was to be JSON.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public let reason: String
  /// Where, in bytes from the beginning of the text.
  public let offset: Int

  init(_ reason: String, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// What is wrong, and where.
  public var description: String { "\(reason) at byte \(offset) of the JSON text." }
}

/// Reads JSON from bytes that may be anything: what is no JSON is an error that says where.
@safe struct JSONReader {
  private let bytes: UnsafeRawBufferPointer
  /// Whether records of one field may stand for what JSON lacks.
  private let hasMarks: Bool
  /// Whether a record that has a name twice is an error, and a whole number that would lose digits.
  private let refusesLosses: Bool
  private let room = StackRoom.current
  private var offset = 0
  private var depth = 0

  /// A value inside of 511 others may be a mark, and a record around it stand in one.
  private var mostDepth: Int { hasMarks ? 2 * Limits.codingDepth + 1 : Limits.codingDepth }

  init(_ bytes: UnsafeRawBufferPointer, hasMarks: Bool, refusesLosses: Bool = false) {
    unsafe self.bytes = bytes
    self.hasMarks = hasMarks
    self.refusesLosses = refusesLosses
  }

  /// The value that is the whole text.
  mutating func document() throws(JSONError) -> RowValue {
    let value = try self.value()
    skipSpace()
    if let rest = peek { throw error("“\(Character(Unicode.Scalar(rest)))” follows the value") }
    return value
  }

  // MARK: Bytes

  private var peek: UInt8? { unsafe offset < bytes.count ? bytes[offset] : nil }

  private func error(_ reason: String) -> JSONError { JSONError(reason, at: offset) }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    offset += 1
    return true
  }

  /// Whether a word stands here, which is taken.
  private mutating func take(word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard unsafe bytes.count - offset >= count else { return false }
    let isHere = word.withUTF8Buffer { unsafe bytes[offset..<offset + count].elementsEqual($0) }
    if isHere { offset += count }
    return isHere
  }

  // MARK: Values

  /// The value that begins here, after space.
  private mutating func value() throws(JSONError) -> RowValue {
    skipSpace()
    guard let first = peek else { throw error("The text ends where a value begins") }
    switch first {
    case UInt8(ascii: "{"): return try record()
    case UInt8(ascii: "["): return try list()
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default:
      if take(word: "null") { return .null }
      if take(word: "true") { return .bool(true) }
      if take(word: "false") { return .bool(false) }
      throw error("There is no value")
    }
  }

  private mutating func enter() throws(JSONError) {
    depth += 1
    if depth > mostDepth { throw error("More than \(mostDepth) values are inside one another") }
    if !room.isEnough { throw error("Too many values are inside one another for the stack of this thread") }
    offset += 1
  }

  private mutating func list() throws(JSONError) -> RowValue {
    try enter()
    defer { depth -= 1 }
    var values: [RowValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .list([]) }
    while true {
      values.append(try value())
      skipSpace()
      if take(UInt8(ascii: "]")) { return .list(values) }
      if !take(UInt8(ascii: ",")) { throw error("A list has neither “,” nor “]” after an element") }
    }
  }

  private mutating func record() throws(JSONError) -> RowValue {
    let start = offset
    let fields = try self.fields(isMarked: !hasMarks)
    if !hasMarks { return .record(fields) }
    if fields.count > 1, fields[0].name == JSONMark.record {
      throw JSONError("“\(JSONMark.record)” is a mark, and others stand beside it", at: start)
    }
    guard fields.count == 1, fields[0].name.utf8.first == UInt8(ascii: "$") else { return .record(fields) }
    guard let value = JSONMark.value(fields[0]) else {
      if JSONMark.isBeyondFloat(fields[0]) { throw JSONError(Self.tooLarge, at: start) }
      throw JSONError("“\(fields[0].name)” is a mark that has no such value", at: start)
    }
    return value
  }

  /// The fields of the record that begins here; `isMarked` if they are no mark, whatever they look like, as those of
  /// what the mark `$record` has.
  private mutating func fields(isMarked: Bool = false) throws(JSONError) -> [RowValue.Field] {
    try enter()
    defer { depth -= 1 }
    var fields: [RowValue.Field] = []
    var names: Set<ByteString> = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return [] }
    while true {
      skipSpace()
      guard peek == UInt8(ascii: "\"") else { throw error("A record has no name where one belongs") }
      let start = offset
      let name = try text()
      if refusesLosses, !names.insert(ByteString(name)).inserted {
        throw JSONError("A record has a name twice", at: start)
      }
      skipSpace()
      if !take(UInt8(ascii: ":")) { throw error("A name has no “:” behind it") }
      skipSpace()
      let marksRecord = !isMarked && fields.isEmpty && name == JSONMark.record && peek == UInt8(ascii: "{")
      fields.append(RowValue.Field(name, marksRecord ? .record(try self.fields(isMarked: true)) : try value()))
      skipSpace()
      if take(UInt8(ascii: "}")) { return fields }
      if !take(UInt8(ascii: ",")) { throw error("A record has neither “,” nor “}” after a field") }
    }
  }

  // MARK: Numbers

  private static let tooLarge = "A number is larger than any that can be stored"

  private mutating func number() throws(JSONError) -> RowValue {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    let digits = offset
    skipDigits()
    if offset == digits { throw error("A number has no digits") }
    if unsafe bytes[digits] == UInt8(ascii: "0"), offset - digits > 1 { throw error("A number begins with 0") }
    var isWhole = true
    if take(UInt8(ascii: ".")) {
      isWhole = false
      try takeDigits()
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try takeDigits()
    }
    let text = unsafe String(decoding: bytes[start..<offset], as: UTF8.self)
    if isWhole, text != "-0" {
      if let value = Int128(text) { return .integer(value) }
      if let value = UInt128(text) { return .large(value) }
      if refusesLosses { throw JSONError(Self.tooLarge, at: start) }
    }
    guard let value = Double(text), value.isFinite else {
      throw JSONError(Self.tooLarge, at: start)
    }
    return .double(value)
  }

  private mutating func skipDigits() {
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
  }

  private mutating func takeDigits() throws(JSONError) {
    let start = offset
    skipDigits()
    if offset == start { throw error("A number has no digits where some belong") }
  }

  // MARK: Texts

  /// The text in the quotes that begin here.
  private mutating func text() throws(JSONError) -> String {
    offset += 1
    let start = offset
    while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { offset += 1 }
    if peek == UInt8(ascii: "\"") {
      defer { offset += 1 }
      return try unsafe string(bytes[start..<offset], at: start)
    }
    // With escapes it is put together.
    var content = unsafe [UInt8](bytes[start..<offset])
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return try string(content[...], at: start)
      case UInt8(ascii: "\\"): try takeEscape(&content)
      case 0..<0x20: throw error("A text has a control character that is not escaped")
      default:
        content.append(byte)
        offset += 1
      }
    }
    throw error("A text does not end")
  }

  private func string(_ utf8: some Collection<UInt8>, at start: Int) throws(JSONError) -> String {
    guard let text = String(validating: utf8, as: UTF8.self) else { throw JSONError("A text is not UTF-8", at: start) }
    return text
  }

  private mutating func takeEscape(_ content: inout [UInt8]) throws(JSONError) {
    offset += 1
    guard let byte = peek else { throw error("A text does not end") }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0c)
    case UInt8(ascii: "n"): content.append(0x0a)
    case UInt8(ascii: "r"): content.append(0x0d)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content.append(contentsOf: Array(String(Character(try scalar())).utf8))
    default: throw JSONError("A text has an escape that JSON does not know", at: offset - 1)
    }
  }

  /// The scalar of the digits that begin here, and of the second half of a pair behind them.
  private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
    let start = offset
    var code = UInt32(try codeUnit())
    if code & 0xfc00 == 0xd800 {
      guard take(word: #"\u"#) else { throw JSONError("Half of a surrogate pair stands alone", at: start) }
      let low = UInt32(try codeUnit())
      guard low & 0xfc00 == 0xdc00 else { throw JSONError("Half of a surrogate pair stands alone", at: start) }
      code = 0x10000 + (code & 0x3ff) << 10 + (low & 0x3ff)
    }
    guard let scalar = Unicode.Scalar(code) else { throw JSONError("Half of a surrogate pair stands alone", at: start) }
    return scalar
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw error("An escape has not four hexadecimal digits")
      }
      unit = unit << 4 | UInt16(digit)
      offset += 1
    }
    return unit
  }
}

/// Records of one field that stand for what JSON lacks.
enum JSONMark {
  static let record = "$record"

  /// The value that a mark stands for; nil if there is no such mark, or not with this content.
  static func value(_ field: RowValue.Field) -> RowValue? {
    switch (field.name, field.value) {
    case (record, .record): field.value
    case (record, .list(let parts)): recordInTurn(parts)
    case ("$int", .text(let text)): integer(text)
    case ("$double", .text(let text)): double(text).map { .double($0) }
    case ("$float", .text(let text)): float(text).map { .float($0) }
    case ("$float", .double(let value)): isBeyondFloat(field) ? nil : .float(Float(value))
    case ("$float", .integer(let value)): isBeyondFloat(field) ? nil : .float(Float(value))
    case ("$data", .text(let text)): Data(base64Encoded: text).map { .bytes([UInt8]($0)) }
    case ("$uuid", .text(let text)): UUID(uuidString: text).map { .uuid($0) }
    case ("$date", let value): seconds(value).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    default: nil
    }
  }

  /// Whether a field is the mark of a number of single precision, and has one that is larger than any of these.
  static func isBeyondFloat(_ field: RowValue.Field) -> Bool {
    guard field.name == "$float" else { return false }
    return switch field.value {
    case .double(let value): Float(value).isInfinite
    case .integer(let value): Float(value).isInfinite
    case .large(let value): Float(value).isInfinite
    default: false
    }
  }

  /// The record whose names and values stand in turn, as one that has a name twice is written.
  private static func recordInTurn(_ parts: [RowValue]) -> RowValue? {
    guard parts.count % 2 == 0 else { return nil }
    var fields: [RowValue.Field] = []
    fields.reserveCapacity(parts.count / 2)
    for index in stride(from: 0, to: parts.count, by: 2) {
      guard let name = parts[index].text else { return nil }
      fields.append(RowValue.Field(name, parts[index + 1]))
    }
    return .record(fields)
  }

  /// Whether two fields have one name, to the byte. O(fields).
  static func hasRepeatedName(_ fields: [RowValue.Field]) -> Bool {
    // Most records are so small that comparing is faster than hashing.
    if fields.count <= 8 {
      return fields.indices.contains { index in
        fields[..<index].contains { $0.name.hasSameBytes(as: fields[index].name) }
      }
    }
    var names: Set<ByteString> = []
    names.reserveCapacity(fields.count)
    return !fields.allSatisfy { names.insert(ByteString($0.name)).inserted }
  }

  private static func integer(_ text: String) -> RowValue? {
    if text.hasPrefix("+") { return nil }
    if let value = Int128(text) { return .integer(value) }
    return UInt128(text).map { .large($0) }
  }

  private static func seconds(_ value: RowValue) -> Double? {
    switch value {
    case .integer(let value): Double(value)
    default: value.double
    }
  }

  private static func double(_ text: String) -> Double? {
    switch text {
    case "inf": .infinity
    case "-inf": -.infinity
    case "nan": .nan
    default:
      bits(text).flatMap { UInt64($0, radix: 16) }.map { Double(bitPattern: $0) }.flatMap { $0.isNaN ? $0 : nil }
    }
  }

  private static func float(_ text: String) -> Float? {
    switch text {
    case "inf": .infinity
    case "-inf": -.infinity
    case "nan": .nan
    default: bits(text).flatMap { UInt32($0, radix: 16) }.map { Float(bitPattern: $0) }.flatMap { $0.isNaN ? $0 : nil }
    }
  }

  /// The digits of the bits of a NaN.
  private static func bits(_ text: String) -> Substring? {
    text.hasPrefix("nan:") && !text.hasPrefix("nan:+") ? text.dropFirst(4) : nil
  }
}
