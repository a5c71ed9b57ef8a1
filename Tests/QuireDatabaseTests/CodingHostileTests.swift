// Bytes of any origin, and types that do what they should not: errors, never traps.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite("Hostile rows")
struct CodingHostileTests {
  struct Everything: Codable, Equatable, Sendable {
    var name: String, count: Int, ratio: Double, added: Date, tags: [String], data: Data, id: UUID
    var numbers: [Int], doubles: [Double], inner: [Inner], byName: [String: Inner?], kind: Kind, big: UInt128
    var flag: Bool?

    struct Inner: Codable, Equatable, Sendable {
      var a: Int8
      var b: Float?
      var c: [String: [UInt16]]
    }
    indirect enum Kind: Codable, Equatable, Sendable { case plain, pair(Int, Kind) }

    static let sample = Everything(
      name: "name of ü", count: 1 << 40, ratio: .pi, added: Date(timeIntervalSinceReferenceDate: 1.5),
      tags: ["a", "bb", "a longer one that does not fit in place"], data: Data(0..<40), id: UUID(),
      numbers: [1, -2, 300], doubles: [0.5, -0.0], inner: [Inner(a: 1, b: nil, c: ["k": [1, 2]])],
      byName: ["x": Inner(a: -1, b: 2, c: [:]), "y": nil], kind: .pair(1, .pair(2, .plain)), big: .max, flag: true)
  }

  @Test("Mutations of valid rows decode or throw", arguments: [1, 2, 3, 4] as [UInt64])
  func mutations(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let context = RowCodingContext(schema: RowSchema())
    let original = try encoded(Everything.sample, .binary, context)
    let schema = context.schema
    var decodes = 0
    for _ in 0..<TestSize.trials(30_000) {
      var bytes = original
      for _ in 0...random.below(3) {
        let place = random.below(max(1, bytes.count))
        switch random.below(5) {
        case 0 where !bytes.isEmpty: bytes[place] = UInt8(random.below(256))
        case 1 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(random.below(8))
        case 2: bytes.removeLast(random.below(bytes.count + 1))
        case 3: bytes.insert(contentsOf: bytes.prefix(random.below(40)), at: min(place, bytes.count))
        default: if place < bytes.count { bytes.removeSubrange(place..<min(bytes.count, place + random.below(9))) }
        }
      }
      if (try? bytes.withUnsafeBytes({ try RowCoder<Everything>.binary.decode($0, context) })) != nil { decodes += 1 }
    }
    context.checkInvariants()
    #expect(context.schema == schema, "seed \(seed)")
    #expect(decodes > 0, "seed \(seed)")
    #expect(try decoded(original, .binary, context) == Everything.sample, "seed \(seed)")
  }

  @Test("Random bytes decode or throw, as any type")
  func noise() throws {
    var random = SeededRandom(seed: 5)
    let context = RowCodingContext(schema: try RowSchema(names: ["a", "b", "c", "name"]))
    for _ in 0..<TestSize.trials(20_000) {
      let bytes = [0] + (0..<random.below(60)).map { _ in UInt8(random.below(256)) }
      _ = try? decoded(bytes, RowCoder<Everything.Inner>.binary, context)
      _ = try? decoded(bytes, RowCoder<[String: [Int: String?]]>.binary, context)
      _ = try? decoded(bytes, RowCoder<[Data]>.binary, context)
      _ = try? decoded(bytes, RowCoder<Everything.Kind>.binary, context)
    }
  }

  @Test("Lengths that the bytes do not have are refused before memory is taken")
  func lengths() {
    let context = RowCodingContext(schema: RowSchema())
    for kind in [2, 3, 4, 5] as [UInt8] {
      let bytes = [0, kind << 5 | 31, 255, 255, 255, 255, 255, 255, 255, 127, 1, 2, 3]
      #expect(throws: DecodingError.self) { try decoded(bytes, RowCoder<String>.binary, context) }
      #expect(throws: DecodingError.self) { try decoded(bytes, RowCoder<[String]>.binary, context) }
      #expect(throws: DecodingError.self) { try decoded(bytes, RowCoder<Data>.binary, context) }
      #expect(throws: DecodingError.self) { try decoded(bytes, RowCoder<[String: Int]>.binary, context) }
    }
    #expect(throws: DecodingError.self) { try decoded([0, 2 << 5 | 2, 0xc3, 0x28], RowCoder<String>.binary, context) }
    #expect(throws: DecodingError.self) { try decoded([0, 5, 5], RowCoder<Int>.binary, context) }
    #expect(throws: RowFormError.malformedVersion) { try decoded([], RowCoder<Int>.binary, context) }
    #expect(throws: RowFormError.newerVersion(3, known: 0)) { try decoded([3, 1], RowCoder<Int>.binary, context) }
  }

  indirect enum Chain: Codable, Sendable { case end, link(Chain) }
  final class Nest: Codable, Sendable {
    let inner: [Nest]
    init(_ inner: [Nest]) { self.inner = inner }
  }

  @Test func depthIsBounded() throws {
    let context = RowCodingContext(schema: RowSchema())
    var nest = Nest([])
    for _ in 0..<200 { nest = Nest([nest]) }
    var read: Nest = try decoded(encoded(nest, .binary, context), .binary, context)
    for _ in 0..<200 { read = try #require(read.inner.first) }
    #expect(read.inner.isEmpty)
    for _ in 0..<200 { nest = Nest([nest]) }
    #expect(throws: EncodingError.self) { try encoded(nest, .binary, context) }
    var chain = Chain.end
    for _ in 0..<1_000 { chain = .link(chain) }
    #expect(throws: EncodingError.self) { try encoded(chain, .binary, context) }
    // Lists in lists, each with the length of what is left.
    var bytes: [UInt8] = []
    for _ in 0..<5_000 {
      let length = UInt32(bytes.count)
      bytes = [4 << 5 | 27] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * UInt32($0))) } + bytes
    }
    #expect(throws: DecodingError.self) { try decoded([0] + bytes, RowCoder<Lists>.binary, context) }
    context.checkInvariants()
  }

  struct Lists: Codable {
    var inner: [Lists]
    init(from decoder: any Decoder) throws { inner = try decoder.singleValueContainer().decode([Lists].self) }
  }

  @Test("A record that is all fields with one key takes no quadratic time")
  func manyEqualFields() throws {
    let context = RowCodingContext(schema: try RowSchema(names: ["a"]))
    let field = [UInt8](arrayLiteral: 0, 2 << 5 | 1, 120, 1)
    let bytes = [0, 6 << 5] + Array(repeatElement(field, count: 50_000).joined())
    #expect(try decoded(bytes, RowCoder<[String: Int]>.binary, context) == ["x": 1])
    #expect(throws: DecodingError.self) { try decoded(bytes, RowCoder<Everything.Inner>.binary, context) }
    #expect(throws: DecodingError.self) { try decoded(bytes + [0], RowCoder<[String: Int]>.binary, context) }
  }

  // MARK: Types that misbehave

  /// Keeps what it must not keep.
  final class Kept: @unchecked Sendable {
    // Safe because: the test uses one thread only.
    var keyed: KeyedDecodingContainer<Keys>?
    var list: (any UnkeyedDecodingContainer)?
    var encoding: KeyedEncodingContainer<Keys>?
    enum Keys: CodingKey { case a, b }
  }

  struct Keeper: Codable, Sendable {
    @TaskLocal static var kept = Kept()
    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Kept.Keys.self)
      Self.kept.list = try container.nestedUnkeyedContainer(forKey: .a)
      Self.kept.keyed = try container.nestedContainer(keyedBy: Kept.Keys.self, forKey: .b)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Kept.Keys.self)
      Self.kept.encoding = container
      try container.encode([1, 2], forKey: .a)
      try container.encode(["a": 1], forKey: .b)
    }
  }

  @Test("Containers that are kept give errors or nothing, even when coder and row are gone")
  func keptContainers() throws {
    let kept = Kept()
    try Keeper.$kept.withValue(kept) {
      let context = RowCodingContext(schema: RowSchema())
      let bytes = try encoded(Keeper(), .binary, context)
      _ = try decoded(bytes, RowCoder<Keeper>.binary, context)
      #expect(throws: DecodingError.self) { try kept.list?.decode(Int.self) }
      #expect(throws: DecodingError.self) { try kept.keyed?.decode(Int.self, forKey: .a) }
      _ = try decoded([0, 6 << 5], RowCoder<[String: Int]>.binary, context)
      #expect(throws: DecodingError.self) { try kept.keyed?.decode(Int.self, forKey: .a) }
    }
    #expect(throws: DecodingError.self) { try kept.list?.decode(Int.self) }
    #expect(throws: DecodingError.self) { try kept.keyed?.decode(Int.self, forKey: .a) }
    #expect(kept.keyed?.allKeys.isEmpty == true)
    try kept.encoding?.encode("late", forKey: .b)
  }

  @Test("A value that is two things at once is an error")
  func contradiction() throws {
    struct Both: Codable {
      init() {}
      init(from decoder: any Decoder) throws {}
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(1)
        var keyed = encoder.container(keyedBy: Kept.Keys.self)
        try keyed.encode(2, forKey: .a)
      }
    }
    let context = RowCodingContext(schema: RowSchema())
    #expect(throws: EncodingError.self) { try encoded(Both(), .binary, context) }
    #expect(throws: EncodingError.self) { try encoded([Both()], .binary, context) }
  }

  /// Codes rows of the same context while it is being coded itself.
  struct Reentrant: Codable, Sendable {
    // Safe because: one test uses it, on one thread.
    nonisolated(unsafe) static let context = RowCodingContext(schema: RowSchema())
    var value = 5
    enum Keys: CodingKey { case before, value }
    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      let inner = try encoded(["inner": 1], RowCoder<[String: Int]>.binary, Self.context)
      #expect(try decoded(inner, RowCoder<[String: Int]>.binary, Self.context) == ["inner": 1])
      value = try container.decode(Int.self, forKey: .value)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode("text", forKey: .before)
      _ = try encoded(["inner": 1], RowCoder<[String: Int]>.binary, Self.context)
      try container.encode(value, forKey: .value)
    }
  }

  @Test func coderMayCodeOtherRowsMeanwhile() throws {
    let bytes = try encoded(Reentrant(), .binary, Reentrant.context)
    #expect(try decoded(bytes, RowCoder<Reentrant>.binary, Reentrant.context).value == 5)
  }
}
