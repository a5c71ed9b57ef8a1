// Seeing that bytes are the binary form, without decoding them.

import QuireTesting
import Testing

@testable import QuireDatabase

@Suite struct CheckedFormTests {
  private let context: RowCodingContext

  init() throws { context = RowCodingContext(schema: try RowSchema(names: ["field0", "field1"])) }

  private func isPlain(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { ValueReader($0).isPlainRow(nameCount: context.fieldNameCount) }
  }

  private func decodes(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { (try? context.decodeBinary(RowValue.self, $0)) != nil }
  }

  private func encoded(_ value: RowValue) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try context.encodeBinary(value) { bytes = [UInt8]($0) }
    return bytes
  }

  @Test func whatIsWrittenIsSeenToBeRight() throws {
    var random = SeededRandom(seed: 31)
    for _ in 0..<TestSize.trials(20_000) {
      let value = RowValue.random(&random)
      #expect(isPlain(try encoded(value)), "\(value)")
    }
    // Nothing is said of what is deep.
    var deep: RowValue = 1
    for _ in 0..<40 { deep = .list([deep]) }
    let bytes = try encoded(deep)
    #expect(!isPlain(bytes) && decodes(bytes))
  }

  /// Damage that decoding sees is never passed over.
  @Test func whatIsSeenToBeRightDecodes() throws {
    var random = SeededRandom(seed: 32)
    var (plain, damaged) = (0, 0)
    for _ in 0..<TestSize.trials(80_000) {
      var bytes = try encoded(.random(&random))
      for _ in 0...random.below(2) where !bytes.isEmpty {
        switch random.below(4) {
        case 0: bytes.removeLast()
        case 1: bytes.append(UInt8(truncatingIfNeeded: random.next()))
        default: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        }
      }
      if isPlain(bytes) {
        plain += 1
        #expect(decodes(bytes), "\(bytes)")
      } else {
        damaged += 1
      }
    }
    #expect(plain > 50 && damaged > 50, "\(plain) rows were right, and \(damaged) were not")
  }

  @Test func aNameWithoutANumberIsNone() throws {
    // A record of one field, with the number 3 of two names, and with a name that is no UTF-8.
    for bytes: [UInt8] in [[0xc0, 3, 1], [0xc0, 0, 0x41, 0xff, 1]] { #expect(!isPlain(bytes) && !decodes(bytes)) }
    #expect(isPlain([0xc0, 2, 1]) && isPlain([0xc0, 0, 0x41, 0x61, 1]))
  }
}
