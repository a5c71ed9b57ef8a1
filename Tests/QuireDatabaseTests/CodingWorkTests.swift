// Encoding costs in proportion to what is written, whatever its shape: counted, not timed.

import Testing

@testable import QuireDatabase

@Suite("Work of the row encoder") struct CodingWorkTests {
  private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private struct Written: Encodable {
    let write: (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try write(encoder) }
  }

  /// How many bytes a value has, and how many the encoder has moved within its memory.
  private func work(_ write: @escaping (any Encoder) throws -> Void) throws -> (written: Int, moved: Int) {
    let encoder = RowEncoder(FieldNames(RowSchema()))
    var work = (written: 0, moved: 0)
    try encoder.encodeRow(Written(write: write)) { work = ($0.count, encoder.buffer.movedByteCount) }
    encoder.checkInvariants()
    return work
  }

  @Test("Containers are put in their places together, and found by their keys") func containers() throws {
    for count in [1, 8, 9, 100, 4000] {
      let (written, moved) = try work { encoder in
        var values = encoder.container(keyedBy: AnyKey.self)
        for round in 0..<2 {
          for number in 0..<count {
            var inner = values.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey(stringValue: "c\(number)"))
            try inner.encode(number, forKey: AnyKey(stringValue: "r\(round)"))
          }
        }
        // Those of the second round are those of the first.
        let row = try #require(encoder as? RowEncoder)
        #expect(row.pending.count == count && row.containers.count == (count > 8 ? count : 0))
        row.checkInvariants()
      }
      #expect(moved <= written)
    }
  }

  @Test("Lists of containers, and values of superclasses") func lists() throws {
    let (written, moved) = try work { encoder in
      var values = encoder.unkeyedContainer()
      for number in 0..<2000 {
        var inner = values.nestedContainer(keyedBy: AnyKey.self)
        try inner.encode(number, forKey: AnyKey(stringValue: "n"))
        try ["x": number].encode(to: values.superEncoder())
      }
    }
    #expect(moved <= written)
  }

  @Test("Fields that are written again go together") func repeated() throws {
    let (written, moved) = try work { encoder in
      var values = encoder.container(keyedBy: AnyKey.self)
      for round in 0..<3 {
        for number in 0..<1000 { try values.encode(round, forKey: AnyKey(stringValue: "f\(number)")) }
      }
    }
    #expect(moved <= 3 * written)
  }
}
