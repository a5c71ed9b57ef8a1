// The types of columns by their names, for tools that know no types of rows.

internal import Foundation
internal import QuireDatabase

/// A value as it was written, without a type.
public enum StoredValue: Hashable, Sendable {
  /// A text.
  case text(String)
  /// A number in digits.
  case number(String)
  /// True or false.
  case bool(Bool)
}

/// A type of values, known by the name that the file has of it: how its values become bytes in order.
struct StoredType: Sendable {
  /// How values of it are written, for errors.
  let form: String
  /// The bytes of a value; nil if it is none of this type.
  let bytes: @Sendable (StoredValue) -> [UInt8]?
  /// What the bytes of all texts begin with that begin with a text; nil if the values are no texts.
  let beginning: (@Sendable (String) -> [UInt8])?
  let absentBytes: [UInt8]?
  let unorderedBytes: [UInt8]?

  /// Whatever is compared with a field that no index has: numbers as `Double`, in front of texts.
  static let any = StoredType(
    form: "a text, a number, TRUE or FALSE",
    bytes: { value in
      switch value {
      case .bool(let isTrue): [1, 0] + isTrue.sortBytes
      case .number(let digits): Double(digits).map { [1, 1] + $0.sortBytes }
      case .text(let text): [1, 2] + text.sortBytes
      }
    }, beginning: { [1, 2] + Self.beginning($0) }, absentBytes: Double?.absentBytes, unorderedBytes: nil)

  /// The type of a name; nil for one whose values are not known as bytes.
  init?(named name: String) {
    guard let wrapped = name.content(of: "Optional") else {
      guard let known = Self.known[name] else { return nil }
      self = known
      return
    }
    guard let known = Self.known[wrapped] else { return nil }
    // As `Optional` has it.
    form = known.form
    bytes = { value in known.bytes(value).map { [1] + $0 } }
    beginning =
      if let own = known.beginning { { @Sendable text in [1] + own(text) } } else { nil }
    absentBytes = Bool?.absentBytes
    unorderedBytes = known.unorderedBytes.map { [1] + $0 }
  }

  private init(
    form: String, bytes: @escaping @Sendable (StoredValue) -> [UInt8]?,
    beginning: (@Sendable (String) -> [UInt8])? = nil, absentBytes: [UInt8]?, unorderedBytes: [UInt8]?
  ) {
    self.form = form
    self.bytes = bytes
    self.beginning = beginning
    self.absentBytes = absentBytes
    self.unorderedBytes = unorderedBytes
  }

  private init<Value: SortKey>(
    _: Value.Type, _ form: String, beginning: (@Sendable (String) -> [UInt8])? = nil,
    _ read: @escaping @Sendable (StoredValue) -> Value?
  ) {
    self.init(
      form: form, bytes: { read($0)?.sortBytes }, beginning: beginning, absentBytes: Value.absentBytes,
      unorderedBytes: Value.unorderedBytes)
  }

  // MARK: Those that are known

  private static let known: [String: StoredType] = [
    "String": StoredType(String.self, "a text in quotes: 'Miles'", beginning: { beginning($0) }) { $0.text },
    "FoldedText": StoredType(
      FoldedText.self, "a text in quotes: 'miles'", beginning: { beginning(FoldedText($0).text) }
    ) { $0.text.map { FoldedText($0) } },
    "Bool": StoredType(Bool.self, "TRUE or FALSE") { if case .bool(let isTrue) = $0 { isTrue } else { nil } },
    "Double": StoredType(Double.self, "a number: 3.5") { $0.digits.flatMap { Double($0) } },
    "Float": StoredType(Float.self, "a number: 3.5") { $0.digits.flatMap { Float($0) } },
    "Date": StoredType(Date.self, "a time of ISO 8601 in quotes: '1959-08-17' or '1959-08-17T20:30:00Z'") {
      $0.text.flatMap { time($0) }
    },
    "UUID": StoredType(UUID.self, "a UUID in quotes: 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F'") {
      $0.text.flatMap { UUID(uuidString: $0) }
    },
    "Int": integer(Int.self), "Int64": integer(Int64.self), "Int32": integer(Int32.self),
    "Int16": integer(Int16.self), "Int8": integer(Int8.self), "UInt": integer(UInt.self),
    "UInt64": integer(UInt64.self), "UInt32": integer(UInt32.self), "UInt16": integer(UInt16.self),
    "UInt8": integer(UInt8.self),
  ]

  private static func integer<Value: SortKey & FixedWidthInteger>(_: Value.Type) -> StoredType {
    StoredType(Value.self, "a whole number from \(Value.min) to \(Value.max)") { $0.digits.flatMap { Value($0) } }
  }

  private static func time(_ text: String) -> Date? {
    let style = Date.ISO8601FormatStyle()
    return (try? style.parse(text)) ?? (try? style.year().month().day().parse(text))
      ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
  }

  /// The bytes of a text without those of its end.
  private static func beginning(_ text: String) -> [UInt8] { Array(text.sortBytes.dropLast("".sortBytes.count)) }
}

extension StoredValue {
  fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
  fileprivate var digits: String? { if case .number(let digits) = self { digits } else { nil } }
}

extension String {
  /// What stands between the brackets of a generic type's name; nil if it is not one of `outer`.
  func content(of outer: String) -> String? {
    guard utf8.starts(with: (outer + "<").utf8), utf8.last == UInt8(ascii: ">") else { return nil }
    return String(self[index(startIndex, offsetBy: outer.count + 1)..<index(before: endIndex)])
  }
}
