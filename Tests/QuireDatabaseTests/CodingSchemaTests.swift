// Names of fields: which enter the schema, and what happens to numbers when the schema changes.

import Foundation
import QuireDatabase
import Testing

@Suite("Schemas of rows")
struct CodingSchemaTests {
  struct Point: Codable, Equatable { var x: Int, y: Int }
  struct Wide: Codable, Equatable {
    var z: Int?
    var x: Int
  }

  @Test("The layout that is relied on: a key's byte is its case's ordinal, and a container is one reference")
  func layout() {
    enum Keys: CodingKey, CaseIterable { case a, b, c, d }
    enum Single: CodingKey { case only }
    #expect(MemoryLayout<Keys>.size == 1 && MemoryLayout<Single>.size == 0)
    for (ordinal, key) in Keys.allCases.enumerated() {
      #expect(withUnsafeBytes(of: key) { Int($0[0]) } == ordinal)
    }
    #expect(MemoryLayout<KeyedEncodingContainer<Keys>>.size == MemoryLayout<AnyObject>.size)
    #expect(MemoryLayout<KeyedDecodingContainer<Keys>>.size == MemoryLayout<AnyObject>.size)
  }

  @Test func namesEnterOnceInTheOrderOfUse() throws {
    let context = RowCodingContext(schema: RowSchema())
    _ = try encoded([Point(x: 1, y: 2), Point(x: 3, y: 4)], .binary, context)
    #expect(context.schema.names == ["x", "y"])
    _ = try encoded(Wide(z: nil, x: 1), .binary, context)
    #expect(context.schema.names == ["x", "y"] && context.fieldNameCount == 2)
    _ = try encoded(Wide(z: 1, x: 1), .binary, context)
    #expect(context.schema.names == ["x", "y", "z"])
  }

  @Test func keysOfDictionariesStayOut() throws {
    let context = RowCodingContext(schema: RowSchema())
    let value = ["a": [1: "one"], "b": [:]]
    #expect(try decoded(encoded(value, .binary, context), .binary, context) == value)
    #expect(context.schema.names.isEmpty)
  }

  @Test func aSavepointTakesNamesBack() throws {
    let context = RowCodingContext(schema: RowSchema())
    let point = try encoded(Point(x: 1, y: 2), .binary, context)
    let saved = context.schema
    let wide = try encoded(Wide(z: 3, x: 4), .binary, context)
    context.reset(to: saved)
    #expect(throws: DecodingError.self) { try decoded(wide, RowCoder<Wide>.binary, context) }
    #expect(try decoded(point, .binary, context) == Point(x: 1, y: 2))
    // Another name now takes the number that z had.
    let text = try encoded(["w": 1], RowCoder<[String: Int]>.binary, context)
    _ = try encoded(One(w: 5), .binary, context)
    #expect(context.schema.names == ["x", "y", "w"])
    #expect(try decoded(text, RowCoder<One>.binary, context).w == 1)
    let again = try encoded(Wide(z: 3, x: 4), .binary, context)
    #expect(context.schema.names == ["x", "y", "w", "z"])
    #expect(try decoded(again, .binary, context) == Wide(z: 3, x: 4))
    context.reset(to: RowSchema())
    #expect(context.schema == RowSchema())
    #expect(try decoded(encoded(Point(x: 8, y: 9), .binary, context), .binary, context) == Point(x: 8, y: 9))
  }

  struct One: Codable { var w: Int }

  @Test func absentNamesAreFoundOnceTheyAreThere() throws {
    let context = RowCodingContext(schema: RowSchema())
    let point = try encoded(Point(x: 1, y: 2), .binary, context)
    #expect(try decoded(point, RowCoder<Wide>.binary, context).z == nil)
    let wide = try encoded(Wide(z: 3, x: 4), .binary, context)
    #expect(try decoded(wide, RowCoder<Wide>.binary, context).z == 3)
  }

  @Test func hostileNamesAreRefused() {
    #expect(throws: RowSchemaError.repeatedName("a")) { try RowSchema(names: ["a", "b", "a"]) }
    #expect(throws: RowSchemaError.longName(byteCount: 2_000)) {
      try RowSchema(names: [String(repeating: "n", count: 2_000)])
    }
    #expect(throws: RowSchemaError.tooManyNames(65_536)) { try RowSchema(names: (0..<65_536).map { "\($0)" }) }
    #expect(throws: Never.self) { try RowSchema(names: ["", "ü", "a.b"]) }
  }

  @Test("With a full schema names are spelled out")
  func fullSchema() throws {
    let schema = try RowSchema(names: (0..<65_535).map { "name \($0)" })
    let context = RowCodingContext(schema: schema)
    let value = [Point(x: 1, y: 2), Point(x: 3, y: 4)]
    #expect(try decoded(encoded(value, .binary, context), .binary, context) == value)
    #expect(context.schema.names.count == 65_535)
  }

  @Test("Numbers of more than seven bits, and more fields than are looked through one by one")
  func manyFields() throws {
    let context = RowCodingContext(schema: try RowSchema(names: (0..<300).map { "name \($0)" }))
    #expect(try decoded(encoded(Point(x: 1, y: 2), .binary, context), .binary, context) == Point(x: 1, y: 2))
    let many = Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("key \($0)", $0) })
    let bytes = try encoded(many, .binary, context)
    #expect(try decoded(bytes, RowCoder<[String: Int]>.binary, context) == many)
    let backwards = try decoded(bytes, RowCoder<Backwards>.binary, context)
    #expect(backwards.sum == 4_999 * 2_500)
  }

  /// Asks for fields in an order that is never the next one.
  struct Backwards: Codable {
    var sum = 0
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: AnyKey.self)
      for key in container.allKeys.reversed() { sum += try container.decode(Int.self, forKey: key) }
    }
  }

  struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
