// Values without a type of the app's: what a stored row holds, for tools and for programs that know no types.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value as rows hold it: a scalar, a list, or a record of named fields.
///
/// Whatever the binary coder, JSON, property lists and timestamps have stored can be read as such a value without the
/// type that was stored, changed, and stored again by ``WritableValues``, which keep the coder and the version that the
/// row has; or through a collection of values, whose coder has to be of both (``RowCoder/withVersion(_:)``):
///
/// ```swift
/// var song = try tx.values(in: "songs").row("s1")?.object.value ?? .record([])
/// song["plays"] = .integer((song["plays"]?.integer ?? 0) + 1)
/// ```
///
/// Some types share a stored form: a `Date` is a `Double` in the binary form, its seconds since 2001, and an
/// enumeration is what its raw value, or its `encode(to:)`, has made of it.
///
/// Two values are equal if they are of one kind and the same to the bit: -0 is not 0, and a NaN is equal to itself.
public enum RowValue: Sendable {
  /// Nothing, such as an optional that was nil.
  case null
  /// A Boolean.
  case bool(Bool)
  /// An integer of any width up to that of `Int128`.
  case integer(Int128)
  /// An integer above the largest `Int128`; a smaller one comes back as `integer`.
  case large(UInt128)
  /// A number of single precision, to the bit.
  case float(Float)
  /// A number of double precision, to the bit.
  case double(Double)
  /// A text.
  case text(String)
  /// Bytes, such as `Data` and `[UInt8]`.
  case bytes([UInt8])
  /// A UUID.
  case uuid(UUID)
  /// A date, of a timestamp or a property list; the binary form has it as a `Double`.
  case date(Date)
  /// A list of values.
  case list([RowValue])
  /// A record of fields, in the order in which they are stored. Of several of one name a row keeps the last.
  case record([Field])

  /// A field of a record.
  public struct Field: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The value.
    public var value: RowValue

    /// A field of that name.
    public init(_ name: String, _ value: RowValue) {
      self.name = name
      self.value = value
    }
  }
}

extension RowValue: Hashable {
  /// Whether both are of one kind and the same to the bit. O(size); a call for each value around, of which a stored row
  /// has no more than 512.
  public static func == (left: RowValue, right: RowValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.large(let left), .large(let right)): left == right
    case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    // Not by `==`, to which other bytes are the same text if they look the same.
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.uuid(let left), .uuid(let right)): left == right
    case (.date(let left), .date(let right)): left.seconds.bitPattern == right.seconds.bitPattern
    case (.list(let left), .list(let right)): left == right
    case (.record(let left), .record(let right)): left == right
    default: false
    }
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    switch self {
    case .null: break
    case .bool(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .large(let value): hasher.combine(value)
    case .float(let value): hasher.combine(value.bitPattern)
    case .double(let value): hasher.combine(value.bitPattern)
    case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
    case .bytes(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value.seconds.bitPattern)
    case .list(let values): hasher.combine(values)
    case .record(let fields): hasher.combine(fields)
    }
  }
}

extension RowValue.Field {
  /// Whether names and values are the same to the bit.
  public static func == (left: Self, right: Self) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for byte in name.utf8 { hasher.combine(byte) }
    hasher.combine(value)
  }
}

extension Date {
  /// Its seconds since 2001, which it is stored as.
  var seconds: Double { timeIntervalSinceReferenceDate }
}

// MARK: What is in it

extension RowValue {
  /// The kinds of values.
  public enum Kind: String, CaseIterable, Sendable {
    case null, bool, integer, float, double, text, bytes, uuid, date, list, record
  }

  /// What kind of value it is. An integer of any size is `integer`. Constant time.
  public var kind: Kind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .integer, .large: .integer
    case .float: .float
    case .double: .double
    case .text: .text
    case .bytes: .bytes
    case .uuid: .uuid
    case .date: .date
    case .list: .list
    case .record: .record
    }
  }

  /// Whether it is `null`.
  public var isNull: Bool { kind == .null }
  /// The Boolean, if it is one.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The integer, if it is one, and no larger than the largest `Int128`.
  public var integer: Int128? { if case .integer(let value) = self { value } else { nil } }
  /// The text, if it is one.
  public var text: String? { if case .text(let value) = self { value } else { nil } }
  /// The bytes, if it is some.
  public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  /// The UUID, if it is one.
  public var uuid: UUID? { if case .uuid(let value) = self { value } else { nil } }
  /// The elements, if it is a list.
  public var list: [RowValue]? { if case .list(let values) = self { values } else { nil } }
  /// The fields, if it is a record.
  public var record: [Field]? { if case .record(let fields) = self { fields } else { nil } }

  /// The number, if it is one that a `Double` can hold exactly: JSON and property lists have 260.0 as 260.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(exactly: value)
    case .float(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The date, if it is one, or a number, which is what the binary form stores of a date: its seconds since 2001.
  public var date: Date? {
    if case .date(let date) = self { return date }
    return double.map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// The value of the last field of this name, of a record; nil if it is none, or has no such field. O(fields).
  ///
  /// Set to a value, the field gets it, behind all others if it is new; set to nil, all fields of the name are taken
  /// away. A value that is no record is left as it is.
  public subscript(name: String) -> RowValue? {
    get { record?.last { $0.name == name }?.value }
    set {
      guard case .record(var fields) = self else { return }
      // Taken away meanwhile, so that the fields are not copied.
      self = .null
      if let newValue {
        if let index = fields.lastIndex(where: { $0.name == name }) {
          fields[index].value = newValue
        } else {
          fields.append(Field(name, newValue))
        }
      } else {
        fields.removeAll { $0.name == name }
      }
      self = .record(fields)
    }
  }

  /// The element at `index` of a list; nil if it is none, or has no such element. Constant time.
  public subscript(index: Int) -> RowValue? {
    guard case .list(let values) = self, values.indices.contains(index) else { return nil }
    return values[index]
  }
}

// MARK: Literals

extension RowValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An integer.
  public init(integerLiteral value: Int) { self = .integer(Int128(value)) }
  /// A number of double precision.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// A list.
  public init(arrayLiteral values: RowValue...) { self = .list(values) }
  /// A record whose fields are in this order.
  public init(dictionaryLiteral fields: (String, RowValue)...) {
    self = .record(fields.map { Field($0.0, $0.1) })
  }
}
