// Archives of which records would lose or bend something, and those of numbers and lists.

import Foundation
import QuireArchives
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct HostileArchiveTests {
  private func read(_ table: [PropertyListValue]) throws -> RowValue {
    try ArchivedValue.read([UInt8](PropertyListValue.archive([.string("$null")] + table))).value
  }

  @Test func anArchiveOfSeveralObjectsDoesNotFit() throws {
    func bytes(_ keys: [String]) -> [UInt8] {
      let archiver = NSKeyedArchiver(requiringSecureCoding: false)
      for key in keys { archiver.encode("of \(key)" as NSString, forKey: key) }
      archiver.finishEncoding()
      return [UInt8](archiver.encodedData)
    }
    #expect(try ArchivedValue.read(bytes(["root"])).value == "of root")
    let error = try #require(throws: (any Error).self) { try ArchivedValue.read(bytes(["root", "other"])) }
    #expect("\(error)".contains("“other”"), "\(error)")
  }

  @Test func decimalsBecomeWhatDecimalIsReadFrom() throws {
    func number(_ mantissa: [UInt8], isBig: Bool, exponent: Int, isNegative: Bool) throws -> RowValue {
      try read([
        .dictionary([
          ("NS.exponent", .integer(exponent)), ("NS.length", .integer(8)),
          ("NS.negative", .integer(isNegative ? 1 : 0)), ("NS.compact", .integer(1)), ("NS.mantissa", .data(mantissa)),
          ("NS.mantissa.bo", .integer(isBig ? 2 : 1)), ("$class", .uid(2)),
        ]), .type("NSDecimalNumber"),
      ])
    }
    let little: [UInt8] = [0xe2, 0x04, 0x01] + Array(repeating: 0, count: 13)
    // 66,786: 0x0104e2 in words of 16 bits, the lowest one first.
    #expect(try number(little, isBig: false, exponent: -2, isNegative: true) == FieldType.decimal.value("-667.86"))
    let big: [UInt8] = [0x04, 0xe2, 0x00, 0x01] + Array(repeating: 0, count: 12)
    #expect(try number(big, isBig: true, exponent: 3, isNegative: false) == FieldType.decimal.value("66786000"))
    let zero = [UInt8](repeating: 0, count: 16)
    #expect(try number(zero, isBig: false, exponent: 0, isNegative: false) == FieldType.decimal.value("0"))
    #expect(throws: (any Error).self) { try number([1], isBig: false, exponent: 0, isNegative: false) }
    #expect(throws: (any Error).self) { try number(zero, isBig: false, exponent: 1 << 40, isNegative: false) }
  }

  @Test func aListWithinAListCountsOnce() throws {
    func nested(_ depth: Int) -> [PropertyListValue] {
      (0..<depth).map { .dictionary([("NS.objects", .array([.uid($0 + 2)])), ("$class", .uid(depth + 2))]) }
        + [.string("end"), .type("NSArray")]
    }
    #expect(throws: Never.self) { try read(nested(250)) }
    let error = try #require(throws: (any Error).self) { try read(nested(260)) }
    #expect("\(error)".contains("deeper than 256 times"))
  }
}
