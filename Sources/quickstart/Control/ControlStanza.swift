// One stanza of a Debian control file: fields by name, over the bytes that were read.

/// The fields of one stanza. Names of fields are the same in any case.
///
/// Invariant: the ranges of `fields` lie within `bytes`. Checked by `checkInvariants()`.
struct ControlStanza: Sendable {
  /// Where a field stands.
  struct Field: Sendable {
    let name: Range<Int>
    var value: Range<Int>
    let line: Int
  }

  /// The number of the first line, from 1.
  let line: Int
  /// The bytes of its lines.
  let bytes: [UInt8]
  /// The fields in their order.
  let fields: [Field]

  /// The value of a field as it stands, its lines separated by newlines, without the blanks at their ends. Bytes that
  /// are no UTF-8 become U+FFFD. Nil if there is no such field.
  func text(_ name: String) -> String? {
    guard let field = field(name) else { return nil }
    var text: [UInt8] = []
    var isFirst = true
    for line in bytes[field.value].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let trimmed = line.trimmed
      if !isFirst { text.append(UInt8(ascii: "\n")) }
      // A dot alone stands for an empty line.
      if isFirst || !trimmed.elementsEqual([UInt8(ascii: ".")]) { text.append(contentsOf: trimmed) }
      isFirst = false
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The value of a field in one line: where it goes on over several, they are joined by a space.
  func folded(_ name: String) -> String? {
    guard let field = field(name) else { return nil }
    let value = bytes[field.value]
    guard value.contains(UInt8(ascii: "\n")) else { return String(decoding: value.trimmed, as: UTF8.self) }
    let lines = value.split(separator: UInt8(ascii: "\n")).map(\.trimmed).filter { !$0.isEmpty }
    return String(decoding: Array(lines.joined(separator: [UInt8(ascii: " ")])), as: UTF8.self)
  }

  /// A field by its name; nil if there is none.
  func field(_ name: String) -> Field? {
    fields.first { isName($0.name, name.utf8) }
  }

  /// Whether the name at `range` is `name`, but for the case of ASCII letters.
  private func isName(_ range: Range<Int>, _ name: some Swift.Collection<UInt8>) -> Bool {
    range.count == name.count && zip(bytes[range], name).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
  }

  /// Traps if the invariant does not hold; for tests.
  func checkInvariants() {
    for field in fields {
      precondition(bytes.indices.contains(field.name.lowerBound), "the name of a field lies outside the stanza")
      precondition(field.name.upperBound < field.value.lowerBound || field.value.isEmpty, "a value precedes its name")
      precondition(field.value.upperBound <= bytes.count, "the value of a field lies outside the stanza")
    }
  }
}

extension UInt8 {
  /// The byte, an ASCII capital as its small letter.
  var lowercasedASCII: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
  /// Whether it is a space, a tab or a carriage return.
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r") }
}

extension ArraySlice<UInt8> {
  /// The bytes without the blanks at both ends.
  var trimmed: ArraySlice<UInt8> {
    guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
      return self[startIndex..<startIndex]
    }
    return self[first...last]
  }
}
