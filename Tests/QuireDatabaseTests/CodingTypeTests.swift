// The binary form gives back what it got, for every kind of type that can be coded.

import Foundation
import QuireDatabase
import Testing

@Suite("Binary coding of types")
struct CodingTypeTests {
  struct Numbers: Codable, Equatable {
    var a: Int, b: Int8, c: Int16, d: Int32, e: Int64, f: UInt, g: UInt8, h: UInt16, i: UInt32, j: UInt64
    var k: Int128, l: UInt128, m: Float, n: Double, o: Bool

    static let largest = Numbers(
      a: .max, b: .max, c: .max, d: .max, e: .max, f: .max, g: .max, h: .max, i: .max, j: .max, k: .max, l: .max,
      m: .greatestFiniteMagnitude, n: .greatestFiniteMagnitude, o: true)
    static let smallest = Numbers(
      a: .min, b: .min, c: .min, d: .min, e: .min, f: 0, g: 0, h: 0, i: 0, j: 0, k: .min, l: 0,
      m: -.leastNonzeroMagnitude, n: -.leastNonzeroMagnitude, o: false)
    static let middle = Numbers(
      a: -24, b: -25, c: 23, d: 24, e: -256, f: 255, g: 128, h: 256, i: 1 << 24, j: 1 << 63, k: -(1 << 64),
      l: 1 << 64, m: -0.0, n: .infinity, o: true)
  }

  @Test(arguments: [Numbers.largest, .smallest, .middle])
  func everyWidthOfNumber(_ numbers: Numbers) throws { #expect(try recoded(numbers) == numbers) }

  @Test func numbersAreExactToTheBit() throws {
    for bits in [0x7ff0_0000_0000_0001, 0x7ff8_0000_dead_beef, 0xfff8_0000_0000_0001, 0x8000_0000_0000_0000] as [UInt64]
    {
      #expect(try recoded(Double(bitPattern: bits)).bitPattern == bits)
    }
    for bits in [0x7f80_0001, 0x7fc0_beef, 0x8000_0000] as [UInt32] {
      #expect(try recoded(Float(bitPattern: bits)).bitPattern == bits)
    }
    let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    #expect(try recoded([date]) == [date])
    #expect(try recoded(-0.0 as Double).sign == .minus)
  }

  struct Known: Codable, Equatable {
    var data: Data, bytes: [UInt8], uuid: UUID, url: URL, relative: URL, decimal: Decimal, date: Date
    var strings: [String], ints: [Int], doubles: [Double], set: Set<String>, byName: [String: Int],
      byNumber: [Int: String]
    var byDate: [Date: Bool], uuids: [UUID?], nothing: Data
  }

  @Test func typesOfFoundation() throws {
    let known = Known(
      data: Data((0...255).map { UInt8($0) }), bytes: [0, 1, 255], uuid: UUID(),
      url: try #require(URL(string: "https://example.org/a?b=ü#c")),
      relative: try #require(URL(string: "c/d", relativeTo: URL(string: "https://example.org/a/"))),
      decimal: try #require(Decimal(string: "-123456789.987654321")), date: Date(),
      strings: ["", "a", "ü€😀", String(repeating: "x", count: 70_000)], ints: [.min, -1, 0, 1, .max],
      doubles: [.pi, -0.0, .infinity], set: ["b", "a"], byName: ["x": 1, "": 2, "ü": 3], byNumber: [-1: "m", 7: "s"],
      byDate: [Date(timeIntervalSince1970: 0): true], uuids: [UUID(), nil, UUID()], nothing: Data())
    #expect(try recoded(known) == known)
  }

  enum Plain: String, Codable { case one, two }
  enum Payload: Codable, Equatable, Sendable {
    case none
    case unlabelled(Int, String)
    case labelled(date: Date, of: [Payload])
    indirect case nested(Payload)
  }

  @Test func enumerations() throws {
    #expect(try recoded([Plain.one, .two]) == [.one, .two])
    let values: [Payload] = [
      .none, .unlabelled(3, "three"), .labelled(date: Date(timeIntervalSince1970: 1), of: [.none, .nested(.none)]),
      .nested(.nested(.unlabelled(-1, ""))),
    ]
    #expect(try recoded(values) == values)
    for value in values { #expect(try recoded(value) == value) }
  }

  class Base: Codable {
    var name = "base"
    var shared = 1
  }

  final class Sub: Base {
    var extra = [1, 2]
    private enum CodingKeys: String, CodingKey { case extra, name }

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      extra = try container.decode([Int].self, forKey: .extra)
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      // Written to before and after what is inside: the superclass's fields end up in their own record all the same.
      let inner = container.superEncoder()
      try container.encode(extra, forKey: .extra)
      try super.encode(to: inner)
      try container.encode("sub", forKey: .name)
    }
  }

  @Test func superclassHasARecordOfItsOwn() throws {
    let context = RowCodingContext(schema: RowSchema())
    let value = Sub()
    value.name = "renamed"
    var bytes: [UInt8] = []
    try RowCoder<Box<Sub>>.binary.encode(Box(value), into: &bytes, context)
    let back = try decoded(bytes, RowCoder<Box<Sub>>.binary, context).value
    #expect(back.extra == [1, 2] && back.name == "renamed" && back.shared == 1)
  }

  /// Codes as what it holds.
  struct Box<Value: Codable>: Codable, @unchecked Sendable {
    // Safe because: only one thread of a test has it.
    var value: Value
    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  @Test func singleValuesAreTransparent() throws {
    #expect(try recoded(Box(Box(7))).value.value == 7)
    #expect(try recoded(Box([Box("a")]), as: [String].self) == ["a"])
    #expect(try recoded(["a": 1], as: Box<[String: Box<Int>]>.self).value["a"]?.value == 1)
    let uuid = UUID()
    #expect(try recoded(uuid, as: String.self) == uuid.uuidString)
  }

  struct Empty: Codable, Equatable {}
  struct Optionals: Codable, Equatable {
    var a: Int?, b: String?, c: [Int?]?, d: Empty?, e: Date?
  }

  @Test func optionals() throws {
    let full = Optionals(a: 1, b: "b", c: [1, nil, 3], d: Empty(), e: Date(timeIntervalSince1970: 5))
    #expect(try recoded(full) == full)
    #expect(try recoded(Optionals()) == Optionals())
    #expect(try recoded(Int?.none) == nil && recoded(Int?.some(4)) == 4)
    #expect(try recoded(Empty()) == Empty() && recoded([Empty(), Empty()]).count == 2)
  }

  struct Interleaved: Codable, Equatable {
    var first = [1, 2], second = ["a": "b"], third = "t"
    enum Keys: String, CodingKey { case lists, second, third, deep }

    init() {}

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      var list = try container.nestedUnkeyedContainer(forKey: .lists)
      third = try container.decode(String.self, forKey: .third)
      first = []
      while !list.isAtEnd { first.append(try list.decode(Int.self)) }
      let nested = try container.nestedContainer(keyedBy: Keys.self, forKey: .deep)
      #expect(throws: DecodingError.self) { try nested.decode(Int.self, forKey: .second) }
      second = try nested.decode([String: String].self, forKey: .second)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      var list = container.nestedUnkeyedContainer(forKey: .lists)
      var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .deep)
      try list.encode(first[0])
      try container.encode(third, forKey: .third)
      for number in first.dropFirst() { try list.encode(number) }
      try nested.encode(second, forKey: .second)
    }
  }

  @Test func nestedContainersMayTakeTurns() throws {
    var value = Interleaved()
    #expect(try recoded(value) == value)
    value.first = Array(0..<1_000)
    #expect(try recoded([value, value]) == [value, value])
  }

  @Test("A field that fails and is forgiven leaves nothing behind")
  func forgivenErrors() throws {
    struct Failing: Codable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        throw CancellationError()
      }
      init(from decoder: any Decoder) throws {}
      init() {}
    }
    struct Forgiving: Codable, Equatable {
      var after = 7
      enum CodingKeys: String, CodingKey { case bad, after }
      init() {}
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        #expect(!container.contains(.bad))
        after = try container.decode(Int.self, forKey: .after)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try? container.encode(Failing(), forKey: .bad)
        try container.encode(after, forKey: .after)
      }
    }
    #expect(try recoded(Forgiving()) == Forgiving())
    let context = RowCodingContext(schema: RowSchema())
    var bytes: [UInt8] = [9]
    #expect(throws: CancellationError.self) { try RowCoder<Failing>.binary.encode(Failing(), into: &bytes, context) }
    #expect(bytes == [9])
    context.checkInvariants()
  }
}
