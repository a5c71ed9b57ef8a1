// Foundation's values as bytes whose order is theirs.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Date: SortKey {
  /// By the seconds since 2001, as a `Double`.
  public func append(to bytes: inout [UInt8]) { timeIntervalSinceReferenceDate.append(to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let seconds = Double.fromSortBytes(sortBytes) else { return nil }
    return Self(timeIntervalSinceReferenceDate: seconds)
  }
  public static var unorderedBytes: [UInt8]? { Double.unorderedBytes }
}

extension UUID: SortKey {
  /// The sixteen bytes as they are.
  public func append(to bytes: inout [UInt8]) {
    let all = uuid
    bytes += [
      all.0, all.1, all.2, all.3, all.4, all.5, all.6, all.7, all.8, all.9, all.10, all.11, all.12, all.13, all.14,
      all.15,
    ]
  }

  public static func fromSortBytes(_ bytes: [UInt8]) -> Self? {
    guard bytes.count == 16 else { return nil }
    return Self(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10],
        bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}

extension Data: SortKey {
  /// In the order of the bytes, as `[UInt8]`.
  public func append(to bytes: inout [UInt8]) { appendDelimited(self, to: &bytes) }
  public static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? {
    guard let bytes = undelimited(sortBytes) else { return nil }
    return Self(bytes)
  }
}

extension Decimal: SortKey {
  /// A byte for the sign, the exponent, and the digits without zeros at either end; what is not a number comes last.
  /// Two of the same value have the same bytes, however many zeros they were written with.
  public func append(to bytes: inout [UInt8]) {
    if isNaN { return bytes.append(3) }
    let digits = DecimalDigits(self)
    if digits.all.isEmpty { return bytes.append(1) }
    bytes.append(digits.isNegative ? 0 : 2)
    let start = bytes.count
    Int16(digits.exponent).append(to: &bytes)
    for digit in digits.all { bytes.append(digit + 1) }
    bytes.append(0)
    guard digits.isNegative else { return }
    // The more a negative number has, the further in front it comes.
    for index in start..<bytes.count { bytes[index] = ~bytes[index] }
  }

  public static var unorderedBytes: [UInt8]? { [3] }
}

/// The digits of a number 0.d₁d₂…dₙ × 10^exponent, with neither d₁ nor dₙ zero; none of zero.
private struct DecimalDigits {
  var all: [UInt8] = []
  var exponent = 0
  var isNegative = false

  init(_ value: Decimal) {
    // Digits with at most one point between them, in every locale.
    var isBehindPoint = false
    for byte in value.description.utf8 {
      switch byte {
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "."): isBehindPoint = true
      default:
        let digit = byte &- UInt8(ascii: "0")
        if all.isEmpty, digit == 0 {
          if isBehindPoint { exponent -= 1 }
          continue
        }
        all.append(digit)
        if !isBehindPoint { exponent += 1 }
      }
    }
    while all.last == 0 { all.removeLast() }
    if all.isEmpty { exponent = 0 }
  }
}
