// Numbers in texts, and texts of numbers.

internal import Foundation

/// Reads and writes numbers as SQLite does.
enum QueryNumber {
  /// How far a number reaches in a text.
  private struct Extent {
    /// The number without spaces around it.
    var digits: Range<Int>
    var isReal = false
    /// Whether nothing but spaces follows.
    var isWhole = false
  }

  /// The number that a text is, spaces around it allowed; nil if it is none.
  static func value(of bytes: [UInt8]) -> QueryValue? {
    guard let extent = extent(of: bytes), extent.isWhole else { return nil }
    let text = String(decoding: bytes[extent.digits], as: UTF8.self)
    if !extent.isReal, let integer = Int64(text) { return .integer(integer) }
    return QueryValue(real: real(text))
  }

  /// The number that bytes begin with; 0 if they begin with none.
  static func beginning(of bytes: [UInt8]) -> Double {
    guard let extent = extent(of: bytes) else { return 0 }
    return real(String(decoding: bytes[extent.digits], as: UTF8.self))
  }

  /// The text of a real: fifteen digits at most, and always a point or an exponent.
  static func text(_ real: Double) -> String {
    if real.isInfinite { return real < 0 ? "-Inf" : "Inf" }
    let text = String(format: "%.15g", real == 0 ? 0 : real)
    if text.contains(".") { return text }
    guard let exponent = text.firstIndex(of: "e") else { return text + ".0" }
    return text[..<exponent] + ".0" + text[exponent...]
  }

  /// A point may stand first or last, which `Double` does not take.
  private static func real(_ text: String) -> Double {
    if let real = Double(text) { return real }
    var padded = ""
    for character in text {
      if character == ".", padded.last?.isNumber != true { padded.append("0") }
      if character == "e" || character == "E", padded.last == "." { padded.append("0") }
      padded.append(character)
    }
    if padded.last == "." { padded.append("0") }
    return Double(padded) ?? 0
  }

  private static func extent(of bytes: [UInt8]) -> Extent? {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0d) }
    func isDigit(_ place: Int) -> Bool { place < bytes.count && bytes[place] >= 0x30 && bytes[place] <= 0x39 }
    func isSign(_ place: Int) -> Bool { place < bytes.count && (bytes[place] == 0x2b || bytes[place] == 0x2d) }
    let start = bytes.firstIndex { !isSpace($0) } ?? bytes.count
    var end = isSign(start) ? start + 1 : start
    let first = end
    while isDigit(end) { end += 1 }
    var digitCount = end - first
    var isReal = false
    if end < bytes.count, bytes[end] == UInt8(ascii: "."), digitCount > 0 || isDigit(end + 1) {
      isReal = true
      end += 1
      while isDigit(end) {
        end += 1
        digitCount += 1
      }
    }
    guard digitCount > 0 else { return nil }
    if end < bytes.count, bytes[end].lowercasedLetter == UInt8(ascii: "e") {
      var exponent = isSign(end + 1) ? end + 2 : end + 1
      if isDigit(exponent) {
        isReal = true
        while isDigit(exponent) { exponent += 1 }
        end = exponent
      }
    }
    return Extent(digits: start..<end, isReal: isReal, isWhole: bytes[end...].allSatisfy(isSpace))
  }
}
