// Fields of stored bytes of any origin.

import Foundation
import QuireTesting
import Testing

@testable import QuireDatabase

@Suite("Stored fields and damaged bytes") struct StoredFieldTests {
  /// The fields of rows in a context, found from an object.
  private func fields(_ object: Wide, _ context: RowCodingContext) -> (StoredFields, [FieldSource<Wide>]) {
    let fields = StoredFields(context, version: 0)
    let sources = ReadField.all.compactMap { FieldSource<Wide>($0.path, each: $0.each) }
    for source in sources { _ = fields.add(source.plan) }
    _ = fields.resolve(object, of: Wide.self)
    return (fields, sources)
  }

  /// Reads all fields of bytes; of those that decode, what is told is what they are.
  private func read(
    _ bytes: [UInt8], _ fields: StoredFields, _ sources: [FieldSource<Wide>], _ context: RowCodingContext
  ) -> (told: Int, isDecoded: Bool) {
    let object = try? decoded(bytes, RowCoder<Wide>.binary, context)
    var told = 0
    // At the end of memory that nobody has: what is read behind it is found out.
    bytes.withUnsafeBytes { source in
      let exact = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 1)
      defer { exact.deallocate() }
      exact.copyMemory(from: source)
      fields.begin(UnsafeRawBufferPointer(exact))
      defer { fields.end() }
      for (index, source) in sources.enumerated() {
        var read: Set<[UInt8]> = []
        let isTold = fields.hasValue(index) { bytes in
          read.insert(bytes.withUnsafeBytes { [UInt8]($0) })
          return false
        }
        guard isTold != nil else { continue }
        told += 1
        if let object, read != source.sortBytes(object) { Issue.record("\(source.name)") }
      }
    }
    return (told, object != nil)
  }

  @Test func bytesOfEveryLengthAreRead() throws {
    var random = SeededRandom(seed: 3)
    let context = RowCodingContext(schema: RowSchema())
    let object = random.wide()
    var whole = object
    whole.optionalAddress = random.fieldAddress()
    // Fields that are nil here have names all the same.
    for _ in 0..<10 { _ = try encoded(random.wide(), .binary, context) }
    let bytes = try encoded(whole, .binary, context)
    let (fields, sources) = fields(whole, context)
    #expect(read(bytes, fields, sources, context).told >= 40)
    let results = (0..<bytes.count).map { read(Array(bytes.prefix($0)), fields, sources, context) }
    #expect(results[0].told == 0 && results[1].told == 0 && results[bytes.count - 1].told > 30)
    #expect(results.filter(\.isDecoded).count < 10)
  }

  @Test func bytesWithFlipsAreRead() throws {
    var random = SeededRandom(seed: 4)
    let context = RowCodingContext(schema: RowSchema())
    var (decodedCount, failedCount) = (0, 0)
    for _ in 0..<TestSize.trials(60, divisor: 4) {
      let object = random.wide()
      let bytes = try encoded(object, .binary, context)
      let (fields, sources) = fields(object, context)
      for _ in 0..<100 {
        var damaged = bytes
        for _ in 0...random.below(3) { damaged[random.below(damaged.count)] = UInt8(truncatingIfNeeded: random.next()) }
        let result = read(damaged, fields, sources, context)
        if result.isDecoded { decodedCount += 1 } else { failedCount += 1 }
      }
    }
    let least = TestSize.trials(300, divisor: 4)
    #expect(decodedCount > least && failedCount > least)
  }

  @Test func whatIsUTF8IsTold() {
    var random = SeededRandom(seed: 5)
    var (valid, invalid) = (0, 0)
    var wrong: [[UInt8]] = []
    let edges: [UInt8] = [
      0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0,
      0xf1,
      0xf3, 0xf4, 0xf5, 0xff,
    ]
    func check(_ bytes: [UInt8]) {
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      if bytes.withUnsafeBytes({ UTF8Check.isValid($0) }) != isValid { wrong.append(bytes) }
      if isValid { valid += 1 } else { invalid += 1 }
    }
    for first in edges {
      check([first])
      for second in edges {
        check([first, second])
        for third in edges {
          check([first, second, third])
          check([first, second, third, random.pick(edges)])
          check([first, second, third, 0x80 + UInt8(random.below(64))])
        }
      }
    }
    for _ in 0..<300 { check(Array(random.fieldText().utf8)) }
    #expect(wrong.isEmpty && valid > 300 && invalid > 300)
  }

  @Test func aSchemaThatIsFullIsReadByWholeRows() throws {
    // Names that find no place in the schema are spelled out in the rows.
    let names = (0..<Limits.fieldNameCount).map { "n\($0)" }
    let context = RowCodingContext(schema: try RowSchema(names: names))
    var random = SeededRandom(seed: 6)
    let object = random.wide()
    let bytes = try encoded(object, .binary, context)
    let (fields, sources) = fields(object, context)
    let result = read(bytes, fields, sources, context)
    #expect(result.told == 0 && result.isDecoded)
  }
}
