// Texts out of files for people: without what a terminal would act on.

/// Whether a terminal acts on a character: those that control it, and those that turn the direction of a text.
private func isActedOn(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7f...0x9f, 0x202a...0x202e, 0x2066...0x2069: true
  default: false
  }
}

/// A text with `\u` and four digits in the place of each character that a terminal would act on. JSON in one line stays
/// JSON of the same value.
package func visible(_ text: String) -> String {
  guard text.unicodeScalars.contains(where: isActedOn) else { return text }
  let escaped = text.unicodeScalars.map { scalar in
    guard isActedOn(scalar) else { return String(scalar) }
    let digits = String(scalar.value, radix: 16)
    return "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
  }
  return escaped.joined()
}

/// A key or a name as people see it: as a JSON text if it has characters that a terminal would act on, or could be
/// taken for one.
package func shown(_ text: String) -> String {
  let isPlain = !text.hasPrefix("\"") && !text.unicodeScalars.contains(where: isActedOn)
  return isPlain ? text : visible(RowValue.text(text).json)
}
