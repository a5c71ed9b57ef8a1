// What the tests of fields that are read by themselves share.

import Foundation
import QuireDatabase
import QuireTesting

/// A row with a field of each kind that is told apart.
struct Wide: SynthesizedCodable, Sendable, Equatable {
  enum Mood: String, Codable, Sendable, SortKey, CaseIterable { case calm, happy, sad }
  enum Rank: Int, Codable, Sendable, SortKey, CaseIterable { case low = -3, high = 700 }
  struct Address: SynthesizedCodable, Sendable, Equatable {
    struct Place: SynthesizedCodable, Sendable, Equatable { var x: Int, y: Double? }
    var city: String, place: Place, zip: UInt16?
  }
  struct Hidden: Codable, Sendable, Equatable { var number: Int }

  var text: String, optionalText: String?
  var int: Int, int8: Int8, int16: Int16, int32: Int32, int64: Int64
  var uint: UInt, uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64
  var optionalInt: Int?, optionalInt8: Int8?
  var flag: Bool, optionalFlag: Bool?
  var double: Double, float: Float, optionalDouble: Double?
  var date: Date, optionalDate: Date?
  var uuid: UUID, optionalUUID: UUID?
  var data: Data, bytes: [UInt8], optionalData: Data?
  var mood: Mood, optionalMood: Mood?, rank: Rank
  var decimal: Decimal
  var tags: [String], numbers: [Int], set: Set<String>, ids: Set<Int>, doubles: [Double]
  var address: Address, optionalAddress: Address?
  var hidden: Hidden
  var twice: Int??

  var computed: Int { int &+ 1 }
}

extension SeededRandom {
  mutating func fieldText() -> String {
    switch below(10) {
    case 0: ""
    case 1: String(repeating: "long ", count: 20 + below(60))
    case 2: pick(["Émile", "a\0b", "\0", "\u{10ffff}", "ß", "e\u{301}", "日本", "a\0\0\u{ff}"])
    default: String((0..<below(12)).map { _ in pick(["a", "b", "c", "z"] as [Character]) })
    }
  }

  mutating func fieldInt() -> Int {
    pick([0, 1, -1, 23, 24, 255, 256, 65_535, -65_536, .max, .min, below(1000), Int(truncatingIfNeeded: next())])
  }

  mutating func fieldDouble() -> Double {
    pick([.nan, -.infinity, .infinity, -0.0, 0, 1.5, -1.5, 1e300, Double(below(50)), -.nan])
  }

  mutating func maybe<Value>(_ value: Value) -> Value? { below(3) == 0 ? nil : value }

  mutating func fieldData() -> Data { Data((0..<below(20)).map { _ in UInt8(pick([0, 1, 255, below(256)])) }) }

  mutating func fieldUUID() -> UUID {
    let (high, low) = (next(), next())
    return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  mutating func fieldAddress() -> Wide.Address {
    Wide.Address(
      city: fieldText(), place: .init(x: fieldInt(), y: maybe(fieldDouble())),
      zip: maybe(UInt16(truncatingIfNeeded: next())))
  }

  mutating func wide() -> Wide {
    Wide(
      text: fieldText(), optionalText: maybe(fieldText()), int: fieldInt(),
      int8: Int8(truncatingIfNeeded: fieldInt()), int16: Int16(truncatingIfNeeded: fieldInt()),
      int32: Int32(truncatingIfNeeded: fieldInt()), int64: Int64(fieldInt()),
      uint: UInt(bitPattern: fieldInt()), uint8: UInt8(truncatingIfNeeded: fieldInt()),
      uint16: UInt16(truncatingIfNeeded: fieldInt()), uint32: UInt32(truncatingIfNeeded: fieldInt()),
      uint64: UInt64(bitPattern: Int64(fieldInt())), optionalInt: maybe(fieldInt()),
      optionalInt8: maybe(Int8(truncatingIfNeeded: fieldInt())), flag: below(2) == 0,
      optionalFlag: maybe(below(2) == 0),
      double: fieldDouble(), float: Float(fieldDouble()), optionalDouble: maybe(fieldDouble()),
      date: Date(timeIntervalSinceReferenceDate: fieldDouble()),
      optionalDate: maybe(Date(timeIntervalSinceReferenceDate: fieldDouble())), uuid: fieldUUID(),
      optionalUUID: maybe(fieldUUID()), data: fieldData(), bytes: Array(fieldData()), optionalData: maybe(fieldData()),
      mood: pick(Wide.Mood.allCases), optionalMood: maybe(pick(Wide.Mood.allCases)), rank: pick(Wide.Rank.allCases),
      decimal: Decimal(below(1000)) / 8, tags: (0..<below(5)).map { _ in fieldText() },
      numbers: (0..<below(5)).map { _ in fieldInt() }, set: Set((0..<below(5)).map { _ in fieldText() }),
      ids: Set((0..<below(5)).map { _ in fieldInt() }), doubles: (0..<below(5)).map { _ in fieldDouble() },
      address: fieldAddress(), optionalAddress: maybe(fieldAddress()), hidden: .init(number: below(9)),
      twice: below(3) == 0 ? nil : .some(maybe(below(9))))
  }
}

/// A field as it is read by itself, and what it is in an object.
struct ReadField {
  let name: String
  /// How often it is told at least, of 100 rows after the first ones; 0 if it is never told.
  let least: Int
  let path: PartialKeyPath<Wide>
  let each: Bool
  let keys: (Wide) -> Set<[UInt8]>

  init<Value: SortKey>(_ path: KeyPath<Wide, Value>, least: Int = 100) {
    (name, self.least, self.path, each) = ("\(path)", least, path, false)
    keys = { [$0[keyPath: path].sortBytes] }
  }

  init<Value: Sequence>(each path: KeyPath<Wide, Value>, least: Int = 100) where Value.Element: SortKey {
    (name, self.least, self.path, each) = ("\(path)", least, path, true)
    keys = { Set($0[keyPath: path].map(\.sortBytes)) }
  }

  static var all: [ReadField] {
    [
      .init(\.text), .init(\.optionalText), .init(\.int), .init(\.int8), .init(\.int16), .init(\.int32),
      .init(\.int64), .init(\.uint), .init(\.uint8), .init(\.uint16), .init(\.uint32), .init(\.uint64),
      .init(\.optionalInt), .init(\.optionalInt8), .init(\.flag), .init(\.optionalFlag), .init(\.double),
      .init(\.float), .init(\.optionalDouble), .init(\.date), .init(\.optionalDate), .init(\.uuid),
      .init(\.optionalUUID), .init(\.data), .init(\.bytes), .init(\.optionalData), .init(\.mood),
      .init(\.optionalMood), .init(\.rank), .init(\.decimal), .init(each: \.tags), .init(each: \.numbers),
      .init(each: \.set, least: 30), .init(each: \.ids), .init(each: \.doubles), .init(\.address.city),
      .init(\.address.place.x), .init(\.address.place.y), .init(\.address.zip),
      .init(\.optionalAddress?.city, least: 80),
      .init(\.optionalAddress?.zip, least: 80), .init(\.optionalAddress?.place.y, least: 80),
      .init(\.hidden.number, least: 0),
      .init(\.twice, least: 0), .init(\.computed, least: 0),
    ]
  }
}
