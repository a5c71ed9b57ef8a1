// Values without a type through coders: our own binary one at full speed, and any other.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension RowValue: Codable {
  /// Reads the value that a decoder has, whatever it is.
  ///
  /// From the binary form it is what was stored. Another decoder is asked for one kind after the other: what reads as
  /// several is the first of null, Boolean, integer, number, date, text, bytes, list, record. So a whole number is an
  /// integer there, -0 is 0, and a UUID a text.
  ///
  /// - Throws: what the decoder throws for a value that is none of these.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? RowDecoder {
      self = try decoder.rowValue()
      return
    }
    let budget = decoder.userInfo[ValueBudget.key] as? ValueBudget
    try budget?.enter(decoder.codingPath)
    defer { budget?.leave() }
    if let scalar = Self.scalar(from: decoder) {
      self = scalar
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [RowValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(RowValue.self)) }
      self = .list(values)
    } else {
      let fields = try decoder.container(keyedBy: PathKey.self)
      // In an order of their own, as the decoders of dictionaries have none.
      let keys = fields.allKeys.sorted { $0.stringValue < $1.stringValue }
      self = .record(try keys.map { Field($0.stringValue, try fields.decode(RowValue.self, forKey: $0)) })
    }
  }

  private static func scalar(from decoder: any Decoder) -> RowValue? {
    guard let container = try? decoder.singleValueContainer() else { return nil }
    if container.decodeNil() { return .null }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(Int128(value)) }
    if let value = try? container.decode(UInt64.self) { return .integer(Int128(value)) }
    if let value = try? container.decode(Double.self) { return .double(value) }
    // JSON's decoder, as it is without settings, makes dates of numbers alone, which have been taken by now.
    if let value = try? container.decode(Date.self) { return .date(value) }
    if let value = try? container.decode(String.self) { return .text(value) }
    if let value = try? container.decode(Data.self) { return .bytes([UInt8](value)) }
    return nil
  }

  /// Writes the value as the type that it came from was written.
  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? RowEncoder { return try encoder.encode(rowValue: self) }
    switch self {
    case .list(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    case .record(let fields):
      var container = encoder.container(keyedBy: PathKey.self)
      for field in fields { try container.encode(field.value, forKey: PathKey(stringValue: field.name)) }
    default:
      var container = encoder.singleValueContainer()
      try encodeScalar(to: &container)
    }
  }

  private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
    switch self {
    case .bool(let value): try container.encode(value)
    case .integer(let value):
      // Coders of others take up to 64 bits.
      if let value = Int64(exactly: value) {
        try container.encode(value)
      } else if let value = UInt64(exactly: value) {
        try container.encode(value)
      } else {
        try container.encode(value)
      }
    case .large(let value): try container.encode(value)
    case .float(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .bytes(let value): try container.encode(Data(value))
    case .uuid(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    case .null, .list, .record: try container.encodeNil()
    }
  }
}

/// What a document may have of values: Foundation follows the references of a property list, which may lead around in
/// a circle, or to one list over and over.
final class ValueBudget: @unchecked Sendable {
  // Sendable: safe because the one thread uses it that decodes the document.
  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "quire.values") else { preconditionFailure("no key has this name") }
    return key
  }()

  private let room = StackRoom.current
  private var depth = 0
  private var left: Int

  /// For a document of so many bytes, of which each value but shared ones takes one.
  init(byteCount: Int) { left = 2 * byteCount + 64 }

  func enter(_ path: [any CodingKey]) throws {
    depth += 1
    left -= 1
    guard depth <= Limits.codingDepth, left > 0, room.isEnough else {
      let message = "The document has more values, or more inside one another, than its bytes can hold."
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: message))
    }
  }

  func leave() { depth -= 1 }
}

extension RowDecoder {
  /// The innermost value without a type. Its elements and fields go through `decode`, which sees to depth and stack.
  func rowValue() throws -> RowValue {
    let head = unsafe head
    switch head.kind {
    case ValueKind.list: return .list(try rowValues(head))
    case ValueKind.record: return .record(try rowFields(head))
    default:
      guard let value = unsafe reader.scalar(head) else { throw damage(.none) }
      return value
    }
  }

  private func rowValues(_ list: ValueHead) throws -> [RowValue] {
    var values: [RowValue] = []
    var offset = list.start
    while offset < list.end {
      let step = PathStep.element(values.count)
      guard let head = unsafe reader.head(at: offset, limit: list.end) else { throw damage(step) }
      values.append(try rowValue(head, step))
      offset = head.end
    }
    return values
  }

  private func rowFields(_ record: ValueHead) throws -> [RowValue.Field] {
    var fields: [RowValue.Field] = []
    var offset = record.start
    while offset < record.end {
      guard let (name, step, start) = fieldName(at: offset, limit: record.end),
        let head = unsafe reader.head(at: start, limit: record.end)
      else { throw damage(.none) }
      fields.append(RowValue.Field(name, try rowValue(head, step)))
      offset = head.end
    }
    // All of it was asked for.
    unsafe cursor = record.end
    return fields
  }

  /// A value inside of another: a scalar at once, all else with the care that depth takes.
  private func rowValue(_ head: ValueHead, _ step: PathStep) throws -> RowValue {
    if head.kind == ValueKind.list || head.kind == ValueKind.record {
      return try decodeUnknown(RowValue.self, head, step)
    }
    guard let value = unsafe reader.scalar(head) else { throw damage(step) }
    return value
  }

  /// The name of the field at `offset`, and where its value begins; nil if that is no field.
  private func fieldName(at offset: Int, limit: Int) -> (name: String, step: PathStep, start: Int)? {
    var next = offset
    guard let number = unsafe reader.varint(at: &next, limit: limit) else { return nil }
    if number != 0 { return names.name(number).map { ($0, .field(number), next) } }
    guard let head = unsafe reader.head(at: next, limit: limit), head.kind == ValueKind.text,
      let name = unsafe reader.text(head)
    else { return nil }
    return (name, .inline(next), head.end)
  }
}

extension ValueReader {
  /// The scalar at `head` as it was stored; nil for lists and records, and for what is none.
  fileprivate func scalar(_ head: ValueHead) -> RowValue? {
    switch head.kind {
    case ValueKind.unsigned, ValueKind.negative: return wholeNumber(head)
    case ValueKind.text: return text(head).map { .text($0) }
    case ValueKind.bytes: return unsafe .bytes([UInt8](content(head)))
    case ValueKind.simple: break
    default: return nil
    }
    switch head.argument {
    case SimpleValue.absent: return .null
    case SimpleValue.float: return float(head).map { .float($0) }
    case SimpleValue.double: return double(head).map { .double($0) }
    case SimpleValue.uuid: return uuid(head).map { .uuid($0) }
    case SimpleValue.int128, SimpleValue.uint128: return wholeNumber(head)
    default: return boolean(head).map { .bool($0) }
    }
  }

  private func wholeNumber(_ head: ValueHead) -> RowValue? {
    if let value: Int128 = integer(head) { return .integer(value) }
    let large: UInt128? = integer(head)
    return large.map { .large($0) }
  }
}

extension RowCoder where Value == RowValue {
  /// The same coder for rows that say that their coder has had `version` upgrades, as ``StoredHalf/version`` tells.
  ///
  /// Rows that are stored say so, too, and those of all versions up to this one are read as they were written. A value
  /// that was read from a row of another version belongs to that version, and has to be stored under it: the app would
  /// else upgrade it a second time, or not at all.
  ///
  /// - Precondition: `version` is not negative.
  public func withVersion(_ version: Int) -> Self {
    precondition(version >= 0, "a version is less than 0")
    let chain = version == 0 ? nil : ValueVersions(count: version, form: form)
    return Self(self, upgrades: chain, protection: protection)
  }
}

/// Reads values of older versions as they are.
private final class ValueVersions: UpgradeChain, @unchecked Sendable {
  // Sendable: safe because nothing changes here.
  private let form: RowForm

  init(count: Int, form: RowForm) {
    self.form = form
    super.init(count: count, newestOldType: ObjectIdentifier(RowValue.self))
  }

  override var valueType: Any.Type { RowValue.self }

  override func decode(
    _ version: Int, _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String,
    into place: UnsafeMutableRawPointer
  ) throws {
    try unsafe form.decode(bytes, context, key, into: place)
  }
}

extension RowEncoder {
  /// Up to so many names of a collection are noted for the fields of values that are stored without a type.
  private static let notedNameCount = 256

  /// Writes the innermost value, which is a value without a type.
  func encode(rowValue value: RowValue) throws {
    switch value {
    case .list(let values):
      decide(.list)
      for (index, value) in values.enumerated() { try write(value, .element(index)) }
    case .record(let fields):
      decide(.record)
      // The columns of rows get numbers, as the fields of types do. Keys deeper inside may as well be those of a
      // dictionary, of which there is no end: they are spelled out unless a type has brought them.
      let isColumn = unsafe depth == 1 && ancestorDepth == 0
      let mayNote = unsafe isColumn && !names.isFixed && names.names.count < Self.notedNameCount
      for field in fields { try write(field.value, writeKey(field.name, isNoted: mayNote)) }
    default:
      decideSingle()
      write(scalar: value)
    }
  }

  private func write(_ value: RowValue, _ step: PathStep) throws {
    switch value {
    case .list, .record: try encode(value, step)
    default: write(scalar: value)
    }
  }

  private func write(scalar value: RowValue) {
    switch value {
    case .bool(let value): write(value)
    case .integer(let value): write(value)
    case .large(let value): write(value)
    case .float(let value): write(value)
    case .double(let value): write(value)
    case .text(let value): write(value)
    case .bytes(let value): _ = writeKnown(value)
    case .uuid(let value): _ = writeKnown(value)
    case .date(let value): write(value.seconds)
    case .null, .list, .record: writeNil()
    }
  }
}
