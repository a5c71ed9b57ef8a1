// Inputs that are the bytes of one value of a row.
//
// The first byte says what the rest is: the value of a type by its number below 128, or else entries of the trees that
// rows are in.

import Foundation
import QuireDatabase
import QuireTesting

/// Uses inputs as values of rows.
enum RowInput {
  /// The numbers of the types, in the order of the corpus: never change one.
  private static let probes: [any RowProbe] = {
    var probes: [any RowProbe] = []
    func add<Value: Equatable & Sendable>(_ name: String, _ coder: RowCoder<Value>, _ sample: Value) {
      probes.append(ValueProbe(name, coder, sample))
    }
    add("everything", .binary, Everything.sample)
    add("kind", .binary, Everything.sample.kind)
    add("nested", .binary, ["a": [1: "b", -5: nil]] as [String: [Int: String?]])
    add("data", .binary, [Data(0..<9), Data()])
    add("sorted", .binary, Set([1, 5, 300]))
    add("text", .binary, "text of ü")
    add("numbers", .binary, [1, -2, 1 << 40] as [Int])
    add("doubles", .binary, [0.5, -0.0, 1e300])
    add("optional", .binary, UUID?.none)
    add("address", .binary, URL(string: "https://example.org/a?b"))
    add("song", .binary, Song.numbered(7))
    add("json", .json, Everything.sample)
    add("date", .timestamp, Date(timeIntervalSinceReferenceDate: 9))
    add("list", .propertyList, Everything.sample)
    let upgraded = RowCoder<Song>.binary.upgrading(from: FuzzNote.self) { .numbered($0.path.utf8.count) }
    add("upgraded", upgraded, Song.numbered(3))
    add("decimal", .binary, [Decimal(string: "12.5"), nil])
    probes.append(DirectProbe())
    return probes
  }()

  private static let entries = EntryInput(base: .rows)

  /// Decodes the value, or uses the entries.
  static func run(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    if first >= 128 { return try entries.run(rest) }
    try probes[Int(first) % probes.count].run(rest)
  }

  /// A value of each type, and entries.
  static func seeds() throws -> [(name: String, bytes: [UInt8])] {
    let values = try probes.enumerated().map { number, probe in
      (name: "value-\(probe.name)", bytes: [UInt8(number)] + (try probe.seed()))
    }
    return try values + entries.seeds().map { ("entries-\($0.name)", [128] + $0.bytes) }
  }

  /// Changes entries one by one, and other values anywhere.
  static func mutate(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    guard let first = bytes.first, first >= 128 else { return mutation.whole(bytes) }
    return Array(([first] + entries.mutate(Array(bytes.dropFirst()), &mutation)).prefix(mutation.limit))
  }
}

/// A type whose values are decoded, with its coder.
private protocol RowProbe: Sendable {
  /// Names a seed.
  var name: String { get }
  /// The bytes of a value.
  func seed() throws -> [UInt8]
  /// Decodes bytes, and what comes of them once more.
  func run(_ bytes: [UInt8]) throws
}

/// The same with the type.
private struct ValueProbe<Value: Equatable & Sendable>: RowProbe {
  let name: String
  let coder: RowCoder<Value>
  let sample: Value
  /// The names of fields that rows of the type have.
  let schema: RowSchema

  init(_ name: String, _ coder: RowCoder<Value>, _ sample: Value) {
    self.name = name
    self.coder = coder
    self.sample = sample
    let context = RowCodingContext(schema: RowSchema())
    var bytes: [UInt8] = []
    try? coder.encode(sample, into: &bytes, context)
    schema = context.schema
  }

  func seed() throws -> [UInt8] {
    var bytes: [UInt8] = []
    try coder.encode(sample, into: &bytes, RowCodingContext(schema: schema))
    return bytes
  }

  func run(_ bytes: [UInt8]) throws {
    let context = RowCodingContext(schema: schema)
    let value = try step("decoding \(name)") {
      do { return try bytes.withUnsafeBytes { try coder.decode($0, context) } } catch {
        // Foundation has errors of its own for documents, which databases pass on as the cause of one of theirs.
        guard name == "list" || name == "json" else { throw error }
        throw RowFormError.malformedVersion
      }
    }
    context.checkInvariants()
    try demand(context.schema == schema, "decoding \(name) changes the schema")
    // What is not equal to itself, such as NaN, cannot be compared.
    guard let value, value == value else { return }
    var again: [UInt8] = []
    guard try step("encoding \(name)", { try coder.encode(value, into: &again, context) }) != nil else { return }
    let other = try step("decoding \(name) again", isSound: true) {
      try again.withUnsafeBytes { try coder.decode($0, context) }
    }
    context.checkInvariants()
    try demand(other == value, "\(name) comes back as another value")
  }
}

/// A type that is decoded without its `init(from:)`: what comes of it must be what `init(from:)` makes, or its error.
private struct DirectProbe: RowProbe {
  /// A bit of everything, in an order that leaves gaps between properties.
  private struct Marked: SynthesizedCodable, Sendable {
    var flag: Bool, count: Int, maybeFlag: Bool?, text: String, small: Int8, maybeText: String?, date: Date
    var maybeNumber: Double?, id: UUID, maybeID: UUID?, wide: UInt64?, data: Data, bytes: [UInt8]?, float: Float
    var kind: Everything.Kind?, inner: Everything.Inner, tags: [String], last: Bool?
  }

  let name = "direct"
  private let coder = RowCoder<Marked>.binary
  private let schema: RowSchema
  private let sample: [UInt8]

  init() {
    let value = Marked(
      flag: true, count: -5, maybeFlag: false, text: "text of ü", small: -1,
      maybeText: "a longer one than fits in place",
      date: Date(timeIntervalSinceReferenceDate: 1.5), maybeNumber: 0.5, id: Everything.sample.id, maybeID: nil,
      wide: .max, data: Data(0..<20), bytes: [1, 2], float: 2.5, kind: .pair(1, .plain),
      inner: .init(a: 1, b: 2, c: [:]),
      tags: ["a"], last: nil)
    let context = RowCodingContext(schema: RowSchema())
    var bytes: [UInt8] = []
    try? coder.encode(value, into: &bytes, context)
    (schema, sample) = (context.schema, bytes)
  }

  func seed() throws -> [UInt8] { sample }

  func run(_ bytes: [UInt8]) throws {
    let context = RowCodingContext(schema: schema)
    // The first ones are decoded both ways.
    for _ in 0..<10 { _ = try sample.withUnsafeBytes { try coder.decode($0, context) } }
    let value = try step("decoding \(name)") { try bytes.withUnsafeBytes { try coder.decode($0, context) } }
    context.checkInvariants()
    let whole = try step("decoding \(name) by its init(from:)") {
      try context.decodingWhole { try bytes.withUnsafeBytes { try coder.decode($0, context) } }
    }
    try demand((value == nil) == (whole == nil), "\(name) is a value in one way only")
    guard let value, let whole else { return }
    // What its bytes are: what is not a number is not equal to itself. Dictionaries have no order.
    guard value.inner.c.count < 2, whole.inner.c.count < 2 else { return }
    var (own, other): ([UInt8], [UInt8]) = ([], [])
    try coder.encode(value, into: &own, context)
    try coder.encode(whole, into: &other, context)
    try demand(own == other, "\(name) is another value than its init(from:) makes")
  }
}

/// A value with all that values are made of.
struct Everything: Codable, Equatable, Sendable {
  /// A record in lists and dictionaries.
  struct Inner: Codable, Equatable, Sendable {
    var a: Int8
    var b: Float?
    var c: [String: [UInt16]]
  }

  /// Cases with values, one inside the other.
  indirect enum Kind: Codable, Equatable, Sendable { case plain, pair(Int, Kind), named(text: String) }

  var name: String, count: Int, ratio: Double, added: Date, tags: [String], data: Data, id: UUID
  var numbers: [Int], doubles: [Double], inner: [Inner], byName: [String: Inner?], kind: Kind, big: UInt64
  var flag: Bool?

  static let sample = Everything(
    name: "name of ü", count: 1 << 40, ratio: .pi, added: Date(timeIntervalSinceReferenceDate: 1.5),
    tags: ["a", "bb", "a longer one that does not fit in place"], data: Data(0..<40),
    id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), numbers: [1, -2, 300],
    doubles: [0.5, -0.0], inner: [Inner(a: 1, b: nil, c: ["k": [1, 2]])],
    byName: ["x": Inner(a: -1, b: 2, c: [:]), "y": nil], kind: .pair(1, .pair(2, .named(text: "n"))), big: .max,
    flag: true)
}
