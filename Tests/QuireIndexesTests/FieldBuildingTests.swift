// Building indexes of rows whose fields are read by themselves.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
import Testing

/// A field that counts how often it is decoded, that is, how often a row is decoded whole.
private struct BuiltProbe: Codable, Sendable {
  static let decodedCount = Atomic(0)

  init() {}

  init(from decoder: any Decoder) throws { Self.decodedCount.add(1, ordering: .relaxed) }

  func encode(to encoder: any Encoder) throws { try 0.encode(to: encoder) }
}

@Suite("Building from stored fields", .serialized) struct FieldBuildingTests {
  struct Inner: SynthesizedCodable, Sendable { var name: String, rank: Int? }
  enum Kind: String, Codable, Sendable, SortKey, CaseIterable { case plain, odd }

  /// A row with a field of each form that is read by itself.
  struct Sample: SynthesizedCodable, Sendable {
    var title: String, count: Int, small: Int8, ratio: Double?, isOn: Bool, kind: Kind, at: Date, id: UUID
    var tags: [String], numbers: Set<Int>, inner: Inner, other: Inner?
    fileprivate var probe = BuiltProbe()
  }

  private static let samples = RowCollection<Sample, Plays>("samples")

  private static func sample(_ random: inout SeededRandom) -> Sample {
    func inner(_ random: inout SeededRandom) -> Inner {
      let name = ["", "a", "é\u{0}x"].randomElement(using: &random) ?? ""
      return Inner(name: name, rank: Bool.random(using: &random) ? nil : 3)
    }
    let word = "t\(Int.random(in: 0...20, using: &random))"
    let ratios: [Double?] = [nil, 0, -0.0, .nan, .infinity, -1.5, 1e300]
    return Sample(
      title: String(repeating: word, count: Int.random(in: 0...90, using: &random)),
      count: [Int.min, -1, 0, 1, 300, .max].randomElement(using: &random) ?? 0,
      small: Int8.random(in: -128...127, using: &random), ratio: ratios.randomElement(using: &random) ?? nil,
      isOn: Bool.random(using: &random), kind: Kind.allCases.randomElement(using: &random) ?? .odd,
      at: Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -9...9, using: &random)) / 7), id: UUID(),
      tags: (0..<Int.random(in: 0...4, using: &random)).map { _ in "g\(Int.random(in: 0...5, using: &random))" },
      numbers: Set((0..<Int.random(in: 0...4, using: &random)).map { _ in Int.random(in: -3...3, using: &random) }),
      inner: inner(&random), other: Bool.random(using: &random) ? nil : inner(&random))
  }

  private static func indexes(_ rows: RowCollection<Sample, Plays>, beyondFields: Bool) -> Indexes<Sample, Plays> {
    Indexes("samples.indexes", over: rows) {
      Index("title", \.title)
      Index("count-small", \.count, .descending(\.small))
      Index("ratio", .descending(\.ratio), .ascending(\.isOn))
      Index("kind", \.kind, \.at)
      Index("id", \.id)
      Index("tags", each: \.tags)
      Index("number-kind", .each(\.numbers), .ascending(\.kind))
      Index("inner", \.inner.name, \.inner.rank)
      Index("other", \.other?.rank)
      Index("odd", \.title).where { $0.kind == .odd || $0.numbers.contains(2) }
      if beyondFields {
        Index("plays", metadata: \.count)
        Index("often", \.title).where { $0.metadata.count > 3 }
        Index("folded", \.title.folded)
      }
    }
  }

  /// The records of all rows, and the entries of all indexes.
  private func contents(_ db: Database, _ indexes: Indexes<Sample, Plays>) throws -> [[[UInt8]]] {
    try db.read { tx in
      let view = try tx.access(to: indexes).view
      var all: [[[UInt8]]] = [[]]
      try view.trees.records.forEach(from: nil) { _, bytes in
        all[0].append(bytes.withUnsafeBytes { [UInt8]($0) })
        return true
      }
      for number in view.names.indices {
        var keys: [[UInt8]] = []
        let cursor = try view.trees.tree(number).cursor()
        while try cursor.next(), let key = cursor.key { keys.append(key) }
        all.append(keys)
      }
      return all
    }
  }

  private static let kinds: [(Bool, Compression)] =
    [(false, .lz4(above: 64)), (true, .none)] + (TestSize.isFull ? [(false, .none), (true, .lz4(above: 64))] : [])

  @Test(
    "An index that is built of stored fields is the one that hooks would have made",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: kinds)
  func isThatOfHooks(beyondFields: Bool, compression: Compression) throws {
    let rows = RowCollection<Sample, Plays>("samples", compression: compression)
    let indexes = Self.indexes(rows, beyondFields: beyondFields)
    let (before, after) = (try Database.inMemory(), try Database.inMemory())
    try before.register(indexes)
    let sampleCount = TestSize.trials(1200, divisor: 4)
    for seed in seeds(2) {
      var random = SeededRandom(seed: seed)
      let samples = (0..<sampleCount).map { _ in Self.sample(&random) }
      for db in [before, after] {
        try db.write { tx throws in
          for (number, sample) in samples.enumerated() {
            // Some rows are of another form: replaced, and some without metadata.
            let metadata = number % 3 == 0 ? nil : Plays(count: number % 7)
            try tx[rows].set(sample, metadata: metadata, for: "\(seed) \(number % (sampleCount - 50))")
          }
        }
      }
    }
    let decoded = BuiltProbe.decodedCount.load(ordering: .relaxed)
    try after.register(indexes)
    let count = BuiltProbe.decodedCount.load(ordering: .relaxed) - decoded
    let stored = try after.read { tx throws in tx[rows].count }
    // What is not a number is not told by fields.
    if !beyondFields { #expect(count < stored / 4, "\(count) of \(stored) rows were decoded whole") }
    try after.read { tx in try tx.access(to: indexes).verify() }
    #expect(try contents(after, indexes) == contents(before, indexes))
  }

  @Test("Records are completed from stored fields when an index comes that looks at others")
  func completes() throws {
    let folder = try TemporaryFolder()
    let few = Indexes("samples.indexes", over: Self.samples) { Index("kind", \Sample.kind) }
    let all = Self.indexes(Self.samples, beyondFields: false)
    var random = SeededRandom(seed: 7)
    let samples = (0..<TestSize.trials(3000, divisor: 6)).map { _ in Self.sample(&random) }
    func fill(_ db: Database) throws {
      try db.write { tx throws in
        for (number, sample) in samples.enumerated() { try tx[Self.samples].set(sample, for: "\(number)") }
      }
    }
    do {
      let db = try Database(at: folder.path("db"))
      try db.register(few)
      try fill(db)
      try db.close()
    }
    let db = try Database(at: folder.path("db"))
    let decoded = BuiltProbe.decodedCount.load(ordering: .relaxed)
    try db.register(all)
    let count = BuiltProbe.decodedCount.load(ordering: .relaxed) - decoded
    #expect(count < samples.count / 4, "\(count) rows were decoded whole")
    try db.read { tx in try tx.access(to: all).verify() }
    let other = try Database.inMemory()
    try other.register(all)
    try fill(other)
    #expect(try Array(contents(db, all).dropFirst()) == Array(contents(other, all).dropFirst()))
    try db.close()
  }

  /// A row that some programs cannot decode.
  struct Picky: Codable, Sendable {
    var title: String
    enum CodingKeys: CodingKey { case title }
    init(_ title: String) { self.title = title }
    init(from decoder: any Decoder) throws {
      title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
      if title == "bad" { throw Refused() }
    }
  }
  private struct Refused: Error {}

  @Test("A row that does not decode is named, and building it again later works")
  func namesTheRow() throws {
    let folder = try TemporaryFolder()
    let rows = RowCollection<Picky, NoMetadata>("picky")
    let indexes = Indexes("picky.indexes", over: rows) { Index("title", \Picky.title) }
    do {
      let db = try Database(at: folder.path("db"))
      try db.write { tx throws in
        for number in 0..<40 { try tx[rows].set(Picky(number == 20 ? "bad" : "t\(number)"), for: "k\(number)") }
      }
      let error = #expect(throws: DatabaseError.self) { try db.register(indexes) }
      #expect(error?.code == .extensionFailed)
      #expect(error?.collection == "picky" && error?.key == "k20")
      try db.write { tx throws in try tx[rows].remove("k20") }
      try db.register(indexes)
      try db.close()
    }
    let db = try Database(at: folder.path("db"))
    try db.register(indexes)
    try db.read { tx in
      try tx.access(to: indexes).verify()
      #expect(try tx[rows].find { $0.title == "t21" }.keys == ["k21"])
    }
    try db.close()
  }
}
