// Objects whose properties are put where they belong are what `init(from:)` makes of the same bytes.

import Foundation
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite("Direct decoding") struct DirectDecodingTests {
  enum Mood: String, Codable, CaseIterable { case low, high, even }
  struct Place: SynthesizedCodable, Hashable, Sendable { var city: String, zip: Int32?, tags: [String] }

  /// Types of all sizes between each other, so that a wrong place is seen.
  struct Thing: SynthesizedCodable, Hashable, Sendable {
    var flag: Bool, small: Int8, count: Int, maybeFlag: Bool?, wide: UInt64, text: String, maybeText: String?
    let id: UUID
    var maybeID: UUID?, tiny: UInt8?, number: Double, float: Float, maybeNumber: Double?, date: Date, maybeDate: Date?
    var data: Data, bytes: [UInt8], maybeBytes: [UInt8]?, mood: Mood, maybeMood: Mood?, place: Place, maybePlace: Place?
    var names: [String], sizes: [Int]?, last: Bool
  }

  private func thing(_ random: inout SeededRandom) -> Thing {
    func text(_ random: inout SeededRandom) -> String {
      String(repeating: "é", count: random.below(20)) + "\(random.next())"
    }
    let place = Place(city: text(&random), zip: random.oneIn(2) ? Int32(random.below(999)) : nil, tags: ["a", "b"])
    return Thing(
      flag: random.oneIn(2), small: Int8(truncatingIfNeeded: random.next()),
      count: Int(truncatingIfNeeded: random.next()),
      maybeFlag: random.oneIn(3) ? nil : random.oneIn(2), wide: random.next(), text: text(&random),
      maybeText: random.oneIn(2) ? text(&random) : nil, id: UUID(), maybeID: random.oneIn(2) ? UUID() : nil,
      tiny: random.oneIn(2) ? UInt8(random.below(256)) : nil, number: Double(random.below(99)) / 7,
      float: Float(random.below(9)) / 3, maybeNumber: random.oneIn(2) ? -0.0 : nil,
      date: Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 20))),
      maybeDate: random.oneIn(2) ? .distantPast : nil,
      data: Data(text(&random).utf8), bytes: Array(text(&random).utf8), maybeBytes: random.oneIn(2) ? [] : nil,
      mood: Mood.allCases[random.below(3)], maybeMood: random.oneIn(2) ? .even : nil, place: place,
      maybePlace: random.oneIn(2) ? place : nil, names: [text(&random)], sizes: random.oneIn(2) ? [1, 2] : nil,
      last: random.oneIn(2))
  }

  /// The same values, encoded and then decoded directly.
  private func directly<Value: Codable & Sendable>(
    _ values: [Value], of type: Value.Type = Value.self
  ) throws -> [Value?] {
    let context = RowCodingContext(schema: RowSchema())
    return try decode(rows(values, context), of: type, context)
  }

  /// Decodes rows directly; nil for those that are left to `init(from:)`.
  private func decode<Value: Codable & Sendable>(
    _ rows: [[UInt8]], of type: Value.Type, _ context: RowCodingContext
  ) throws -> [Value?] {
    var made: [Value?] = []
    let sample = try #require(rows.first)
    let value = try sample.withUnsafeBytes { try context.decodeBinary(type, $0) }
    guard let layout = StructLayout(of: value), let decoder = DirectDecoder(layout) else {
      return rows.map { _ in nil }
    }
    decoder.refresh(context.fieldNumber)
    for row in rows {
      let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
      defer { place.deallocate() }
      let isMade = row.withUnsafeBytes { decoder.decode($0, context, into: UnsafeMutableRawPointer(place)) }
      made.append(isMade ? place.move() : nil)
    }
    return made
  }

  @Test func everyPropertyIsPutWhereItBelongs() throws {
    var random = SeededRandom(seed: 1)
    let things = (0..<300).map { _ in thing(&random) }
    let found = try directly(things)
    #expect(found == things.map { $0 })
  }

  private struct Nothing: Codable, Hashable, Sendable {}
  /// Types that decode themselves, of no size, with wide alignment, without an order, and with bits to spare.
  private struct Odd: SynthesizedCodable, Hashable, Sendable {
    var first: Bool, big: Int128, maybeBig: UInt128?, small: UInt8, lanes: SIMD4<Float>, nothing: Nothing
    var maybeNothing: Nothing?, decimal: Decimal, address: URL?, numbers: Set<Int>, names: [String: Int]
    var places: [Place], range: Range<Int>, maybeRange: ClosedRange<Int8>?, half: Float16?, parts: DateComponents
    var nested: [[String: [Mood?]]], `in`: Int16, größe: UInt16?, ratios: [Double]
    var maybeRatios: [Double]?, last: Int32
  }

  @Test("Properties of all kinds of types are put where they belong") func oddProperties() throws {
    var random = SeededRandom(seed: 11)
    let values = (0..<200).map { index in
      Odd(
        first: random.oneIn(2), big: Int128(random.next()) << 40, maybeBig: random.oneIn(2) ? .max : nil, small: 7,
        lanes: SIMD4(1, 2, Float(index), 4), nothing: Nothing(), maybeNothing: random.oneIn(2) ? Nothing() : nil,
        decimal: Decimal(random.below(999)) / 8,
        address: random.oneIn(2) ? URL(string: "https://example.org/\(index)") : nil,
        numbers: Set((0..<random.below(9)).map { $0 }), names: ["a": index, "b": 2, "c": 3],
        places: random.oneIn(2) ? [] : [thing(&random).place], range: 0..<random.below(9),
        maybeRange: random.oneIn(2) ? -3...4 : nil, half: random.oneIn(2) ? 0.5 : nil,
        parts: DateComponents(year: 2000 + index, month: 2), nested: [["x": [.low, nil]], [:]], in: -5,
        größe: random.oneIn(2) ? .max : nil, ratios: random.oneIn(2) ? [] : [0.5, -0.0],
        maybeRatios: random.oneIn(2) ? [.infinity] : nil, last: Int32(index))
    }
    #expect(try directly(values) == values)
    let context = RowCodingContext(schema: RowSchema())
    let rows = try rows(values + values, context)
    #expect(try throughHook(rows, of: Odd.self, context) == values + values)
  }

  @Test("Bytes that are cut short or changed give what `init(from:)` gives, or are left to it")
  func damagedRows() throws {
    var random = SeededRandom(seed: 2)
    let things = (0..<40).map { _ in thing(&random) }
    let context = RowCodingContext(schema: RowSchema())
    let rows = try rows(things, context)
    var damaged = [rows[0]]
    for row in rows {
      damaged.append(Array(row.prefix(random.below(row.count))))
      for _ in 0..<TestSize.trials(60, divisor: 4) {
        var changed = row
        changed[random.below(row.count)] ^= 1 << UInt8(random.below(8))
        damaged.append(changed)
      }
      damaged.append(row + row.dropFirst())
    }
    var directCount = 0
    for (row, found) in zip(damaged, try decode(damaged, of: Thing.self, context)) {
      guard let found else { continue }
      directCount += 1
      let whole = try row.withUnsafeBytes { try context.decodeBinary(Thing.self, $0) }
      // By their bytes, as what is not a number is not equal to itself.
      var (left, right): ([UInt8], [UInt8]) = ([], [])
      try context.encodeBinary(found) { bytes in left = bytes.withUnsafeBytes { [UInt8]($0) } }
      try context.encodeBinary(whole) { bytes in right = bytes.withUnsafeBytes { [UInt8]($0) } }
      #expect(left == right)
    }
    #expect(directCount > damaged.count / 10 && directCount < damaged.count)
  }

  // MARK: Types that are not decoded directly

  private final class Link: Codable, Sendable { init() {} }
  private struct Weak: SynthesizedCodable, Sendable { let link: Link?, text: String }
  private struct Observed: SynthesizedCodable, Sendable { var text = "" { didSet { count += 1 } }; var count = 0 }
  private struct Wrapped: SynthesizedCodable, Sendable { @Defaulted<Int> var count = 3; var text = "x" }
  private struct Empty: SynthesizedCodable, Sendable {}
  private struct Mirrored: SynthesizedCodable, Sendable, CustomReflectable {
    var text: String
    var customMirror: Mirror { Mirror(self, children: ["other": 3]) }
  }
  private struct Nested: SynthesizedCodable, Sendable { var inner: Int??, text: String }

  @Test func layoutsThatMirrorsDoNotTellAreLeftAlone() {
    #expect(StructLayout(of: Weak(link: Link(), text: "")) == nil)
    #expect(StructLayout(of: Link()) == nil)
    #expect(StructLayout(of: Wrapped()) == nil)
    #expect(StructLayout(of: Empty()) == nil)
    #expect(StructLayout(of: Mirrored(text: "")) == nil)
    #expect(StructLayout(of: Nested(inner: nil, text: "")) == nil)
    #expect(StructLayout(of: Mood.low) == nil)
    #expect(StructLayout(of: 3) == nil)
    #expect(StructLayout(of: Observed())?.fields.map(\.name) == ["text", "count"])
  }

  private struct Many: SynthesizedCodable, Hashable, Sendable {
    var a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, b0 = 0, b1 = 1, b2 = 2, b3 = 3
    var b4 = 4, b5 = 5, b6 = 6, b7 = 7, b8 = 8, b9 = 9, c0 = 0, c1 = 1, c2 = 2, c3 = 3, c4 = 4, c5 = 5, c6 = 6, c7 = 7
    var c8 = 8, c9 = 9, d0 = 0, d1 = 1, d2 = 2, d3 = 3, d4 = 4, d5 = 5, d6 = 6, d7 = 7, d8 = 8, d9 = 9, e0 = 0, e1 = 1
    var e2 = 2, e3 = 3, e4 = 4, e5 = 5, e6 = 6, e7 = 7, e8 = 8, e9 = 9, f0 = 0, f1 = 1, f2 = 2, f3 = 3, f4 = 4, f5 = 5
    var f6 = 6, f7 = 7, f8 = 8, f9 = 9, g0 = 0, g1 = 1, g2 = 2
    var last: String?
  }
  private struct TooMany: SynthesizedCodable, Hashable, Sendable {
    var a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, b0 = 0, b1 = 1, b2 = 2, b3 = 3
    var b4 = 4, b5 = 5, b6 = 6, b7 = 7, b8 = 8, b9 = 9, c0 = 0, c1 = 1, c2 = 2, c3 = 3, c4 = 4, c5 = 5, c6 = 6, c7 = 7
    var c8 = 8, c9 = 9, d0 = 0, d1 = 1, d2 = 2, d3 = 3, d4 = 4, d5 = 5, d6 = 6, d7 = 7, d8 = 8, d9 = 9, e0 = 0, e1 = 1
    var e2 = 2, e3 = 3, e4 = 4, e5 = 5, e6 = 6, e7 = 7, e8 = 8, e9 = 9, f0 = 0, f1 = 1, f2 = 2, f3 = 3, f4 = 4, f5 = 5
    var f6 = 6, f7 = 7, f8 = 8, f9 = 9, g0 = 0, g1 = 1, g2 = 2, g3 = 3, g4 = 4
  }
  private struct Most<Value: Codable & Hashable & Sendable>: SynthesizedCodable, Hashable, Sendable {
    var many: Many, value: Value, optional: Value?
  }

  @Test("Structures of up to 64 properties, and generic ones, are decoded directly") func sizes() throws {
    var random = SeededRandom(seed: 3)
    var full = Many()
    full.last = "x"
    #expect(try #require(StructLayout(of: full)).fields.count == DirectDecoder.mostFields)
    #expect(try directly([Many(), full]) == [Many(), full])
    let texts = [Most(many: full, value: "a", optional: "b"), Most(many: full, value: "c", optional: nil)]
    #expect(try directly(texts) == texts)
    let bytes = [Most<Int8>(many: full, value: -1, optional: 1), Most(many: full, value: 2, optional: nil)]
    #expect(try directly(bytes) == bytes)
    let things = [Most(many: full, value: thing(&random), optional: thing(&random))]
    #expect(try directly(things) == things)
    #expect(DirectDecoder(try #require(StructLayout(of: TooMany()))) == nil)
    let context = RowCodingContext(schema: RowSchema())
    let beyond = [TooMany(), TooMany()]
    #expect(try throughHook(rows(beyond, context), of: TooMany.self, context) == beyond)
  }
  private struct Beyond: SynthesizedCodable, Hashable, Sendable { var many: Int }

  @Test("What is stored under numbers of more than one byte is left to `init(from:)`") func highNumbers() throws {
    let context = RowCodingContext(schema: RowSchema(checked: (1...127).map { "f\($0)" }))
    var row: [UInt8] = []
    try context.encodeBinary(Beyond(many: 7)) { bytes in row = bytes.withUnsafeBytes { [UInt8]($0) } }
    #expect(context.fieldNumber(of: "many") == 128)
    #expect(try decode([row], of: Beyond.self, context) == [nil])
    #expect(try throughHook([row, row], of: Beyond.self, context) == [Beyond(many: 7), Beyond(many: 7)])
  }

  // MARK: Promises

  private enum Calls {
    static let count = Mutex(0)
    static let isLying = Mutex(false)
  }
  /// Counts how often it is called, and after a while tells another number than the one that is stored.
  private struct Counting: SynthesizedCodable, Hashable, Sendable {
    var count: Int, text: String?
    init(_ count: Int) { self.count = count }
    init(from decoder: any Decoder) throws {
      Calls.count.withLock { $0 += 1 }
      let values = try decoder.container(keyedBy: CodingKeys.self)
      count = try values.decode(Int.self, forKey: .count) + (Calls.isLying.withLock { $0 } ? 1 : 0)
      text = try values.decodeIfPresent(String.self, forKey: .text)
    }
  }
  /// Leaves a property out, whose value `init(from:)` makes.
  private struct Partial: SynthesizedCodable, Hashable, Sendable {
    var count: Int
    var cache: String?
    private enum CodingKeys: CodingKey { case count }
  }

  /// What the context of a transaction makes of rows.
  private func throughHook<Value: Codable & Sendable>(
    _ rows: [[UInt8]], of type: Value.Type, _ context: RowCodingContext
  ) throws -> [Value] {
    try rows.map { row in
      let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
      defer { place.deallocate() }
      try row.withUnsafeBytes { try context.decodeBinary(type, $0, into: UnsafeMutableRawPointer(place)) }
      return place.move()
    }
  }

  private func rows<Value: Codable>(_ values: [Value], _ context: RowCodingContext) throws -> [[UInt8]] {
    try values.map { value in
      var row: [UInt8] = []
      try context.encodeBinary(value) { bytes in row = bytes.withUnsafeBytes { [UInt8]($0) } }
      return row
    }
  }

  @Test("`init(from:)` is asked about the first rows and few of the rest, and what it says then must not differ")
  func promises() throws {
    let context = RowCodingContext(schema: RowSchema())
    let values = (0..<2000).map(Counting.init)
    let rows = try rows(values, context)
    Calls.count.withLock { $0 = 0 }
    #expect(try throughHook(rows, of: Counting.self, context) == values)
    let first = DirectDecoding.firstCount
    #expect(Calls.count.withLock { $0 } == first + 1)
    Calls.isLying.withLock { $0 = true }
    defer { Calls.isLying.withLock { $0 = false } }
    let error = #expect(throws: DecodingError.self) { _ = try throughHook(rows, of: Counting.self, context) }
    #expect("\(try #require(error))".contains("“count”"))
    // It is left to its own devices from then on, and from the beginning where it lies from the beginning.
    #expect(try throughHook(rows, of: Counting.self, context).map(\.count) == (1...2000).map { $0 })
    let other = RowCodingContext(schema: context.schema)
    #expect(try throughHook(rows, of: Counting.self, other).map(\.count) == (1...2000).map { $0 })
    // Whoever wants to hear `init(from:)` does.
    let third = RowCodingContext(schema: context.schema)
    Calls.isLying.withLock { $0 = false }
    _ = try throughHook(rows, of: Counting.self, third)
    Calls.isLying.withLock { $0 = true }
    #expect(try third.decodingWhole { try throughHook(rows, of: Counting.self, third) }[9].count == 10)
    #expect(try throughHook(Array(rows.prefix(9)), of: Counting.self, third)[8].count == 8)
  }

  /// After a while it tells another number than the one that is stored.
  private struct Fickle: SynthesizedCodable, Sendable {
    static let isLying = Mutex(false)
    var count: Int
    init(_ count: Int) { self.count = count }
    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      count = try values.decode(Int.self, forKey: .count) + (Self.isLying.withLock { $0 } ? 1 : 0)
    }
  }
  private struct Honest: Codable, Sendable { var count: Int }

  @Test("A promise that is broken later is told with the row, and nothing stored is changed by it")
  func brokenLater() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    let rows = RowCollection<Fickle, NoMetadata>("rows")
    let count = DirectDecoding.firstCount + 2 * DirectDecoding.interval
    try db.write { tx throws in for index in 0..<count { try tx[rows].set(Fickle(index), for: "\(index)") } }
    func sum() throws -> Int {
      try db.read { tx throws in try (0..<count).reduce(0) { try $0 + (tx[rows].get("\($1)")?.count ?? 0) } }
    }
    let expected = count * (count - 1) / 2
    #expect(try sum() == expected)
    Fickle.isLying.withLock { $0 = true }
    defer { Fickle.isLying.withLock { $0 = false } }
    let error = #expect(throws: DatabaseError.self) { _ = try sum() }
    #expect(error?.code == .decodingFailed && error?.collection == "rows" && error?.key != nil)
    #expect("\(try #require(error))".contains("SynthesizedCodable"))
    // It is left to its `init(from:)`, whatever that says.
    #expect(try sum() == expected + count)
    try db.close()
    db = try folder.open()
    try db.verify()
    try db.read { tx throws in
      for row in tx[RowCollection<Honest, NoMetadata>("rows")].rows { #expect(row.object.count == Int(row.key)) }
    }
    try db.close()
  }

  @Test("A property that is not asked for by its name is never made of what is stored") func unasked() throws {
    let context = RowCodingContext(schema: RowSchema())
    struct Former: Codable { var count: Int, cache: String? }
    let values = (0..<100).map { Former(count: $0, cache: $0 < 20 ? nil : "old") }
    let rows = try rows(values, context)
    #expect(try throughHook(rows, of: Partial.self, context) == (0..<100).map { Partial(count: $0) })
  }

  private struct Swapped: SynthesizedCodable, Hashable, Sendable {
    var a: [Int8], b: [Int8]
    private enum CodingKeys: String, CodingKey { case a = "b", b = "a" }
  }
  fileprivate struct Sorted: Codable, Sendable { var list: [String] }
  private struct Overloaded: SynthesizedCodable, Sendable { var count: Int, sorted: Sorted }
  private struct Composed: SynthesizedCodable, Sendable {
    var text: String
    init(_ text: String) { self.text = text }
    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      text = try values.decode(String.self, forKey: .text).precomposedStringWithCanonicalMapping
    }
  }

  @Test("Types that decode their fields in their own ways are left to that") func ownWays() throws {
    let context = RowCodingContext(schema: RowSchema())
    let swapped = (0..<50).map { Swapped(a: [Int8($0)], b: [-1, Int8($0)]) }
    #expect(try throughHook(rows(swapped, context), of: Swapped.self, context) == swapped)
    let overloaded = (0..<50).map { Overloaded(count: $0, sorted: Sorted(list: ["z", "a"])) }
    let lists = try throughHook(rows(overloaded, context), of: Overloaded.self, context).map(\.sorted.list)
    #expect(lists.allSatisfy { $0 == ["a", "z"] })
    let texts = (0..<50).map { Composed("e\u{301}\($0)") }
    let read = try throughHook(rows(texts, context), of: Composed.self, context)
    #expect(read.allSatisfy { $0.text.utf8.starts(with: "é".utf8) })
  }

  /// One inside the other, as deep as it is stored.
  private indirect enum Nest: Codable, Sendable {
    case end, more(Nest)
    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      self = list.isAtEnd ? .end : .more(try list.decode(Nest.self))
    }
    init(depth: Int) { self = depth == 0 ? .end : .more(Nest(depth: depth - 1)) }
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      if case .more(let inner) = self { try list.encode(inner) }
    }
    var depth: Int {
      var (depth, nest) = (0, self)
      while case .more(let inner) = nest { (depth, nest) = (depth + 1, inner) }
      return depth
    }
  }
  private struct Nested1: SynthesizedCodable, Sendable { var nest: Nest }
  private struct Nested2: Codable, Sendable { var nest: Nest }

  @Test("Values are refused that are deeper inside one another than `init(from:)` reads them") func depth() throws {
    let context = RowCodingContext(schema: RowSchema())
    let first = try rows((0..<10).map { Nested2(nest: Nest(depth: $0)) }, context)
    _ = try throughHook(first, of: Nested1.self, context)
    // Lists of lists, as deep as no value may be written: the innermost is empty.
    let name = try #require(context.fieldNumber(of: "nest"))
    func row(_ depth: Int) -> [UInt8] {
      var list: [UInt8] = [ValueKind.list << 5]
      for _ in 0..<depth {
        let length: [UInt8] =
          list.count < 24
          ? [ValueKind.list << 5 | UInt8(list.count)]
          : list.count < 256
            ? [ValueKind.list << 5 | 24, UInt8(list.count)]
            : [ValueKind.list << 5 | 25, UInt8(list.count & 255), UInt8(list.count >> 8)]
        list = length + list
      }
      return [ValueKind.open << 5 | OpenValue.record, UInt8(name)] + list
    }
    for depth in Limits.codingDepth - 4...Limits.codingDepth + 1 {
      let whole = try? throughHook([row(depth)], of: Nested2.self, context)[0].nest.depth
      #expect((try? throughHook([row(depth)], of: Nested1.self, context)[0].nest.depth) == whole)
      #expect((whole == depth) == (depth < Limits.codingDepth - 1))
    }
  }

  private struct Broad: SynthesizedCodable, Sendable {
    var lanes: SIMD64<Double>, more: SIMD64<Double>, rest: SIMD64<Double>, last: SIMD64<Double>, end: Bool
  }

  @Test("Large structures are left to `init(from:)`") func large() throws {
    #expect(MemoryLayout<Broad>.size > Limits.plainValueByteCount)
    let context = RowCodingContext(schema: RowSchema())
    let lanes = SIMD64<Double>(repeating: 0.5)
    let values = (0..<20).map { Broad(lanes: lanes, more: lanes, rest: lanes, last: lanes, end: $0 % 2 == 0) }
    let read = try throughHook(rows(values, context), of: Broad.self, context)
    #expect(read.map(\.end) == values.map(\.end) && read.allSatisfy { $0.last == lanes })
  }

  /// Whether all values that were made have been let go.
  private final class Token: Sendable {
    static let count = Mutex(0)
    init() { Self.count.withLock { $0 += 1 } }
    deinit { Self.count.withLock { $0 -= 1 } }
  }
  private struct Tracked: Codable, Sendable {
    let token = Token()
    init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(Int.self) }
    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(0)
    }
  }
  private struct Holder: SynthesizedCodable, Sendable {
    var first: Tracked, second: Tracked?, text: String, small: Int8
  }
  private struct Wide: Codable, Sendable { var first: Int, second: Int?, text: String, small: Int }

  @Test("What was made of a row that is left to `init(from:)` is let go") func halfMade() throws {
    let context = RowCodingContext(schema: RowSchema())
    let text = String(repeating: "x", count: 40)
    let good = try rows((0..<20).map { Wide(first: $0, second: $0, text: text, small: $0) }, context)
    #expect(try throughHook(good, of: Holder.self, context).count == good.count)
    #expect(Token.count.withLock { $0 } == 0)
    let bad = try rows((0..<20).map { Wide(first: $0, second: nil, text: text, small: 1000) }, context)
    let doubled = good.map { $0 + $0.dropFirst() }
    for row in bad + doubled {
      #expect(try decode([good[0], row], of: Holder.self, context)[1] == nil)
    }
    #expect(Token.count.withLock { $0 } == 0)
    #expect(throws: DecodingError.self) { try throughHook(bad, of: Holder.self, context) }
    #expect(Token.count.withLock { $0 } == 0)
  }

  private struct Two: SynthesizedCodable, Hashable, Sendable { var text: String, left: Int?, right: Int? }

  @Test("A number that a transaction gave back, and another name has now, is that name's") func numbersOfOthers() throws
  {
    let context = RowCodingContext(schema: try RowSchema(names: ["text", "left"]))
    let values = (0..<20).map { (number: Int) in Two(text: "\(number)", left: number, right: nil) }
    let rows = try rows(values, context)
    #expect(try throughHook(rows, of: Two.self, context) == values)
    context.reset(to: try RowSchema(names: ["text", "right"]))
    let swapped = (0..<20).map { (number: Int) in Two(text: "\(number)", left: nil, right: number) }
    #expect(try throughHook(rows, of: Two.self, context) == swapped)
    context.checkInvariants()
  }

  private struct Path: Codable, Hashable, Sendable {
    var keys: [String]
    init(_ keys: [String]) { self.keys = keys }
    init(from decoder: any Decoder) throws { keys = decoder.codingPath.map(\.stringValue) }
    func encode(to encoder: any Encoder) throws {
      var values = encoder.singleValueContainer()
      try values.encode(1)
    }
  }
  private struct Located: SynthesizedCodable, Hashable, Sendable { var text: String, path: Path, other: Path? }

  @Test func propertiesAreToldTheirPaths() throws {
    let value = Located(text: "", path: Path(["path"]), other: Path(["other"]))
    #expect(try directly([value, value]) == [value, value])
  }

  /// A constant with a value of its own is written and never read: the promise says that there is none.
  private struct Constant: SynthesizedCodable, Sendable, Equatable {
    let kind = 3
    var text: String
    private enum CodingKeys: String, CodingKey { case kind, text }
  }
  private struct Former: Codable, Sendable { var kind: Int, text: String }

  @Test("A constant with a value of its own keeps it, whatever is stored") func constants() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      for index in 0..<60 {
        try tx[RowCollection<Former, NoMetadata>("rows")].set(
          Former(kind: index < 30 ? 3 : 9, text: "\(index)"), for: "\(index)")
      }
    }
    try db.close()
    db = try folder.open()
    try db.read { tx throws in
      for (_, row) in tx[RowCollection<Constant, NoMetadata>("rows")].rows.enumerated() {
        #expect(row.object.kind == 3)
      }
    }
    try db.close()
  }

  // MARK: In a database

  private struct Older: Codable, Sendable { var count: Int, gone: String, text: String }
  private struct Newer: SynthesizedCodable, Sendable, Equatable { var text: String, added: [Int]?, count: Int }

  @Test("Rows of an older type, and names that come later, are read as they were") func olderRows() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      for index in 0..<200 {
        try tx[RowCollection<Older, NoMetadata>("rows")].set(
          Older(count: index, gone: "x", text: "t\(index)"), for: "\(index)")
      }
    }
    try db.close()
    db = try folder.open()
    let rows = RowCollection<Newer, NoMetadata>("rows")
    func check() throws {
      try db.read { tx throws in
        for index in 0..<200 {
          let added = index % 3 == 0 && tx[rows].count > 200 ? [index] : nil
          #expect(try tx[rows].get("\(index)") == Newer(text: "t\(index)", added: added, count: index))
        }
      }
    }
    try check()
    try db.write { tx throws in
      try tx[rows].set(Newer(text: "", added: [], count: 0), for: "more")
      for index in stride(from: 0, to: 200, by: 3) {
        try tx[rows].set(Newer(text: "t\(index)", added: [index], count: index), for: "\(index)")
        #expect(try tx[rows].get("\(index)")?.added == [index])
      }
    }
    try check()
    try check()
    try db.close()
  }

  @Test("What reading brings no name to the schema, and things are read back over many transactions")
  func throughTransactions() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let rows = RowCollection<Thing, NoMetadata>("things")
    var random = SeededRandom(seed: 7)
    let things = (0..<120).map { _ in thing(&random) }
    for (index, value) in things.enumerated() { try db.write { tx throws in try tx[rows].set(value, for: "\(index)") } }
    for _ in 0..<2 {
      for (index, value) in things.enumerated() {
        #expect(try db.read { tx throws in try tx[rows].get("\(index)") } == value)
      }
    }
    try db.write { tx throws in
      for index in things.indices {
        try tx[rows].update("\(index)") { $0.last.toggle() }
        var wanted = things[index]
        wanted.last.toggle()
        #expect(try tx[rows].get("\(index)") == wanted)
      }
    }
    try db.verify()
    try db.close()
  }
}

/// What a program of its own may do: the compiler calls it where a property is of this type.
extension KeyedDecodingContainer {
  fileprivate func decode(
    _ type: DirectDecodingTests.Sorted.Type, forKey key: Key
  ) throws -> DirectDecodingTests.Sorted {
    var value = try decodeIfPresent(type, forKey: key) ?? DirectDecodingTests.Sorted(list: [])
    value.list.sort()
    return value
  }
}
