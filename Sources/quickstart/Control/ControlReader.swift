// Reading Debian control files, such as package indexes: stanzas of fields, separated by empty lines.
//
//     Package: bash
//     Depends: base-files (>= 2.1.12),
//      debianutils (>= 5.6-0.1)            a line that begins with a blank goes on with the field above it
//
// The bytes may be anything: what is no control file ends with an error that names the line.

/// What is wrong with a control file, and where.
struct ControlError: Error, Hashable, CustomStringConvertible {
  /// The number of the line, from 1.
  let line: Int
  /// What is wrong, and what helps.
  let message: String

  var description: String { "line \(line): \(message)" }
}

/// Hands out the stanzas of a control file, one after the other, without ever holding more than one and a piece.
///
/// Invariants, checked by `checkInvariants()`:
/// 1. `position` lies within `buffer`; what is in front of it has been taken.
/// 2. `buffer` holds at most the longest line and two pieces.
struct ControlReader {
  /// The longest line, in bytes.
  static let lineByteCount = 1 << 20
  /// The most bytes of a stanza.
  static let stanzaByteCount = 4 << 20
  /// The most fields of a stanza.
  static let fieldCount = 256

  private let nextPiece: () throws -> [UInt8]
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// The number of the line that was taken last.
  private var line = 0
  /// The bytes that were taken, newlines included.
  private(set) var byteCount = 0

  /// Reads what `nextPiece` returns piece by piece; an empty piece is the end.
  init(_ nextPiece: @escaping () throws -> [UInt8]) { self.nextPiece = nextPiece }

  /// Reads bytes in memory.
  init(_ bytes: [UInt8]) {
    var rest = bytes
    self.init {
      defer { rest = [] }
      return rest
    }
  }

  /// The next stanza; nil at the end.
  ///
  /// - Throws: `ControlError`, after which the reader must not be used any more; what `nextPiece` throws.
  mutating func next() throws -> ControlStanza? {
    var stanza = StanzaBuilder()
    while let range = try takeLine() {
      let text = buffer[range]
      if text.allSatisfy(\.isBlank) {
        if !stanza.isEmpty { return stanza.finish() }
      } else if text.first != UInt8(ascii: "#") {
        try stanza.append(text, line)
      }
    }
    return stanza.isEmpty ? nil : stanza.finish()
  }

  /// The next line without its newline, as a range of `buffer` that is good until the next call; nil at the end.
  private mutating func takeLine() throws -> Range<Int>? {
    var searched = position
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) { return try take(upTo: end, newline: 1) }
      searched = buffer.count
      guard buffer.count - position <= Self.lineByteCount else { throw tooLong(line + 1) }
      let piece = isAtEnd ? [] : try nextPiece()
      guard !piece.isEmpty else {
        isAtEnd = true
        return position < buffer.count ? try take(upTo: buffer.count, newline: 0) : nil
      }
      if byteCount == 0, buffer.isEmpty { try checkIsText(piece) }
      searched -= position
      buffer.removeSubrange(..<position)
      position = 0
      buffer.append(contentsOf: piece)
    }
  }

  private mutating func take(upTo end: Int, newline: Int) throws -> Range<Int> {
    defer {
      byteCount += end + newline - position
      position = end + newline
    }
    line += 1
    guard end - position <= Self.lineByteCount else { throw tooLong(line) }
    return position..<end
  }

  private func tooLong(_ line: Int) -> ControlError {
    ControlError(line: line, message: "has more than \(Self.lineByteCount) bytes; is this a package index?")
  }

  /// Recognizes the compressed forms that package indexes come in.
  private func checkIsText(_ piece: [UInt8]) throws {
    let forms: [(start: [UInt8], command: String)] = [
      ([0x1f, 0x8b], "gzip -dc"), ([0xfd, 0x37, 0x7a], "xz -dc"), ([0x42, 0x5a, 0x68], "bzip2 -dc"),
      ([0x04, 0x22, 0x4d, 0x18], "lz4 -dc"), ([0x28, 0xb5, 0x2f, 0xfd], "zstd -dc"),
    ]
    for form in forms where piece.starts(with: form.start) {
      throw ControlError(line: 1, message: "the file is compressed; unpack it with “\(form.command)” first")
    }
  }

  /// Traps if an invariant does not hold; for tests.
  func checkInvariants() {
    precondition(0...buffer.count ~= position, "invariant 1: the position lies outside the buffer")
    precondition(byteCount >= line - 1, "invariant 1: fewer bytes were taken than lines")
  }
}

/// A stanza while its lines come in.
private struct StanzaBuilder {
  private var firstLine = 0
  private var bytes: [UInt8] = []
  private var fields: [ControlStanza.Field] = []

  var isEmpty: Bool { fields.isEmpty }

  func finish() -> ControlStanza { ControlStanza(line: firstLine, bytes: bytes, fields: fields) }

  /// Takes in a line that is not empty.
  mutating func append(_ text: ArraySlice<UInt8>, _ line: Int) throws(ControlError) {
    guard bytes.count + text.count < ControlReader.stanzaByteCount else {
      throw ControlError(line: line, message: "the stanza has more than \(ControlReader.stanzaByteCount) bytes")
    }
    if isEmpty { firstLine = line }
    if text.first?.isBlank ?? false { return try appendContinuation(text, line) }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else {
      throw ControlError(line: line, message: "“\(excerpt(text))” is no field: there is no colon")
    }
    let name = text[..<colon]
    guard !name.isEmpty, name.allSatisfy({ 0x21...0x7e ~= $0 }) else {
      throw ControlError(line: line, message: "“\(excerpt(name))” is no name of a field")
    }
    guard fields.count < ControlReader.fieldCount else {
      throw ControlError(line: line, message: "the stanza has more than \(ControlReader.fieldCount) fields")
    }
    let start = bytes.count
    bytes.append(contentsOf: text)
    let afterColon = start + (colon + 1 - text.startIndex)
    fields.append(
      ControlStanza.Field(name: start..<afterColon - 1, value: afterColon..<bytes.count, line: line))
    bytes.append(UInt8(ascii: "\n"))
    try checkIsNew(line)
  }

  private mutating func appendContinuation(_ text: ArraySlice<UInt8>, _ line: Int) throws(ControlError) {
    guard !fields.isEmpty else {
      throw ControlError(line: line, message: "goes on with a field, but none has begun")
    }
    bytes.append(contentsOf: text)
    fields[fields.count - 1].value = fields[fields.count - 1].value.lowerBound..<bytes.count
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Throws if the newest field has the name of an earlier one.
  private func checkIsNew(_ line: Int) throws(ControlError) {
    guard let new = fields.last else { return }
    let name = bytes[new.name]
    for field in fields.dropLast() where field.name.count == name.count {
      guard zip(bytes[field.name], name).allSatisfy({ $0.lowercasedASCII == $1.lowercasedASCII }) else { continue }
      throw ControlError(
        line: line, message: "the field “\(excerpt(name))” was there before, in line \(field.line)")
    }
  }

  /// The beginning of a text that may be anything, for a message.
  private func excerpt(_ text: ArraySlice<UInt8>) -> String {
    let shown = text.prefix(40).map { 0x20...0x7e ~= $0 ? Character(UnicodeScalar($0)) : "·" }
    return String(shown) + (text.count > 40 ? "…" : "")
  }
}
