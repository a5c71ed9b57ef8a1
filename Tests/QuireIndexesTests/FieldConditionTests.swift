// Conditions on rows of a type whose fields are read by themselves.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
import Testing

/// A field that counts how often it is decoded, that is, how often a row is decoded whole.
struct Probe: Codable, Sendable {
  static let decodedCount = Atomic(0)

  init() {}

  init(from decoder: any Decoder) throws { Self.decodedCount.add(1, ordering: .relaxed) }

  func encode(to encoder: any Encoder) throws { try 0.encode(to: encoder) }
}

@Suite("Conditions on stored fields", .serialized) struct FieldConditionTests {
  struct Album: SynthesizedCodable, Sendable { var name: String, year: Int? }
  enum Genre: String, Codable, Sendable, SortKey { case jazz, rock }

  struct Marked: SynthesizedCodable, Sendable {
    var title: String, year: Int, rating: Double?, genre: Genre, tags: [String], album: Album, other: Album?
    var probe = Probe()
  }

  private static let rows = RowCollection<Marked, Plays>("marked")

  private func filled(_ folder: TemporaryFolder, _ count: Int) throws -> Database {
    let db = try Database(at: folder.path("db"))
    try db.write { tx throws in
      for index in 0..<count {
        let album = Album(name: "album \(index % 50)", year: index % 5 == 0 ? nil : 1950 + index % 70)
        let row = Marked(
          title: "title \(index)", year: 1950 + index % 75, rating: index % 3 == 0 ? nil : Double(index % 11) / 2,
          genre: index % 4 == 0 ? .jazz : .rock, tags: ["a\(index % 7)", "b\(index % 13)"], album: album,
          other: index % 2 == 0 ? nil : album)
        try tx[Self.rows].set(row, metadata: index % 10 == 0 ? Plays(count: index) : nil, for: "key \(index)")
      }
    }
    return db
  }

  /// How many rows were decoded whole while `body` ran.
  private func decodedCount(_ body: () throws -> Void) rethrows -> Int {
    let before = Probe.decodedCount.load(ordering: .relaxed)
    try body()
    return Probe.decodedCount.load(ordering: .relaxed) - before
  }

  @Test func aScanDecodesFewRows() throws {
    let folder = try TemporaryFolder()
    let db = try filled(folder, 2000)
    try db.read { tx throws in
      func check(
        _ expected: Int, most: Int = 16 + 2000 / 64 + 1, _ make: (Fields<Marked, Plays>) -> Condition<Marked, Plays>,
        line: Int = #line
      ) throws {
        let query = tx[Self.rows].find(make(Fields()))
        let decoded = try decodedCount {
          let count = try query.count
          #expect(count == expected, "line \(line)")
        }
        #expect(decoded <= most, "line \(line) decoded \(decoded)")
      }
      let indices = 0..<2000
      try check(indices.filter { $0 % 75 == 40 }.count) { $0.year == 1990 }
      try check(indices.filter { $0 % 3 != 0 && $0 % 11 >= 7 }.count) { $0.rating >= 3.5 }
      try check(indices.filter { $0 % 3 == 0 }.count) { $0.rating == nil }
      try check(indices.filter { $0 % 4 == 0 || $0 % 75 > 70 }.count) { $0.genre == .jazz || $0.year > 2020 }
      try check(indices.filter { $0 % 13 != 3 }.count) { !$0.tags.contains("b3") }
      try check(indices.filter { "title \($0)".hasPrefix("title 19") }.count) { $0.title.hasPrefix("title 19") }
      try check(indices.filter { $0 % 50 == 7 }.count) { $0.album.name == "album 7" }
      try check(indices.filter { $0 % 5 != 0 && $0 % 70 < 3 }.count) { $0.album.year < 1953 }
      try check(indices.filter { $0 % 2 == 1 && $0 % 50 == 7 }.count, most: 400) { $0[\.other?.name] == "album 7" }
      // What fields do not tell is asked of the rows that the others leave.
      let jazz = indices.filter { $0 % 4 == 0 && $0 % 75 == 0 }.count
      try check(jazz, most: 80 + jazz) { fields in
        .closure { row, _ in row.genre == .jazz } && fields.year == 1950
      }
      let played = indices.filter { $0 % 10 == 0 && $0 >= 1500 && $0 % 50 == 0 }.count
      try check(played, most: 100) { $0.metadata.count >= 1500 && $0.album.name == "album 0" }
      try check(indices.filter { "\($0)".hasSuffix("77") || $0 % 75 == 40 }.count, most: 2000) {
        $0.title.satisfies { $0.hasSuffix("77") } || $0.year == 1990
      }
    }
  }

  @Test func aSearchForTheFirstRowEndsThere() throws {
    let folder = try TemporaryFolder()
    let db = try filled(folder, 2000)
    try db.read { tx throws in
      let decoded = try decodedCount {
        let first = try tx[Self.rows].find { $0.title == "title 100" }.first
        #expect(first?.key == "key 100")
        let isEmpty = try tx[Self.rows].find { $0.year == 1951 }.isEmpty
        #expect(!isEmpty)
      }
      #expect(decoded < 30)
      #expect(try tx[Self.rows].find { $0.year == 1951 }.limit(2).offset(3).keys == ["key 226", "key 301"])
    }
  }

  @Test func whatAnIndexLeavesIsTestedByFields() throws {
    let folder = try TemporaryFolder()
    let db = try filled(folder, 2000)
    try db.register(Indexes("marked.indexes", over: Self.rows) { Index("genre", \.genre) })
    try db.read { tx throws in
      let query = tx[Self.rows].find { $0.genre == .jazz && $0.year == 1990 }
      let decoded = try decodedCount {
        let count = try query.count
        #expect(count == (0..<2000).filter { $0 % 4 == 0 && $0 % 75 == 40 }.count)
      }
      #expect(decoded <= 16 + 500 / 64 + 1)
    }
  }

  @Test func aWalkInOrderDecodesFewRows() throws {
    let folder = try TemporaryFolder()
    let db = try filled(folder, 2000)
    try db.register(Indexes("marked.indexes", over: Self.rows) { Index("year", \.year) })
    try db.read { tx throws in
      let query = tx[Self.rows].find { $0.rating >= 3.5 && $0.genre == .jazz }.order(by: \.year)
      #expect(try query.plan.order == .index("year", isReversed: false))
      let decoded = try decodedCount {
        let found = try query.rowIDs.count
        #expect(found == (0..<2000).filter { $0 % 3 != 0 && $0 % 11 >= 7 && $0 % 4 == 0 }.count)
      }
      #expect(decoded <= 16 + 2000 / 64 + 1)
    }
  }

  @Test func aFieldIsReadWithoutTheRow() throws {
    let folder = try TemporaryFolder()
    let db = try filled(folder, 2000)
    try db.read { tx throws in
      let all = Array(tx[Self.rows].rows).sorted { $0.rowID < $1.rowID }.map(\.object)
      let jazz = all.filter { $0.genre == .jazz }
      let (every, some) = (tx[Self.rows].find(.all), tx[Self.rows].find { $0.genre == .jazz })
      func check<Value: Equatable>(
        _ expected: Value, most: Int = 2 * (16 + 2000 / 64 + 1), line: Int = #line, _ body: () throws -> Value
      ) throws {
        let decoded = try decodedCount {
          let found = try body()
          #expect(found == expected, "line \(line)")
        }
        #expect(decoded <= most, "line \(line) decoded \(decoded)")
      }
      try check(all.map(\.year)) { try every.values(\.year) }
      try check(all.map(\.rating)) { try every.values(\.rating) }
      try check(jazz.map(\.title)) { try some.values(\.title) }
      try check(jazz.map(\.album.name)) { try some.values(\.album.name) }
      try check(jazz.map(\.album.year)) { try some.values(\.album.year) }
      try check(all.reduce(0) { $0 + $1.year }) { try every.sum(\.year) }
      try check(jazz.reduce(0) { $0 + Double($1.year) } / Double(jazz.count)) { try some.average(\.year) }
      try check(jazz.map(\.year).min()) { try some.min(\.year) }
      try check("title 999") { try every.max(\.title) }
      try check(Set(all.map(\.year)).sorted()) { try every.distinct(\.year) }
      try check([500, 1500]) { try every.groupCounts(by: \.genre).map(\.count) }
      // Of two that are equal the one that was stored first.
      let sorted = jazz.enumerated().sorted { ($1.element.year, $0.offset) < ($0.element.year, $1.offset) }
      try check(sorted.map(\.element.title), most: 700) { try some.order(by: .descending(\.year)).objects.map(\.title) }
      try check(all.map(\.title).sorted().prefix(5).map(\.self)) {
        try every.order(by: \.title).limit(5).values(\.title)
      }
      let played = tx[Self.rows].find { $0.metadata.count >= 1500 }
      let counts = try played.order(by: .metadataDescending(\.count), .ascending(\.year)).all.map { $0.metadata?.count }
      #expect(counts == stride(from: 1990, through: 1500, by: -10).map(\.self))
    }
  }

  struct Broken: SynthesizedCodable, Sendable {
    var year: Int, other: Int
    enum CodingKeys: String, CodingKey {
      case year = "other"
      case other = "year"
    }
  }

  @Test func aQueryOverABrokenPromiseSaysSo() throws {
    let folder = try TemporaryFolder()
    let db = try Database(at: folder.path("db"))
    let rows = RowCollection<Broken, NoMetadata>("broken")
    try db.write { tx throws in
      for index in 0..<100 { try tx[rows].set(Broken(year: index, other: 0), for: "\(index)") }
    }
    let error = #expect(throws: DatabaseError.self) { try db.read { tx in try tx[rows].find { $0.year == 0 }.count } }
    #expect(error?.message.contains("Broken") == true && error?.message.contains("year") == true)
    let sum = #expect(throws: DatabaseError.self) { try db.read { tx in try tx[rows].find(.all).sum(\.year) } }
    let order = #expect(throws: DatabaseError.self) {
      try db.read { tx in try tx[rows].find(.all).order(by: \.year).keys }
    }
    #expect(sum?.message == error?.message && order?.message == error?.message)
  }

  struct Renamed: SynthesizedCodable, Sendable {
    var number: Int, year: Int?
    enum CodingKeys: String, CodingKey {
      case number
      case year = "y"
    }
  }

  @Test func aNameUnderWhichNothingIsStoredTellsNothing() throws {
    let folder = try TemporaryFolder()
    let db = try Database(at: folder.path("db"))
    let rows = RowCollection<Renamed, NoMetadata>("renamed")
    // None of the rows that are checked has a year.
    try db.write { tx throws in
      for index in 0..<400 {
        try tx[rows].set(Renamed(number: index, year: index % 61 == 5 ? 1990 : nil), for: "\(index)")
      }
    }
    try db.read { tx throws in
      #expect(try tx[rows].find { $0.year == 1990 }.count == 7)
      #expect(try tx[rows].find { $0.year != nil && $0.number >= 100 }.count == 5)
    }
  }
}

@Suite("Ranges that are asked for many values") struct RangeTestTests {
  /// Bytes of a few lengths around eight, of a few values, so that many begin alike.
  private func bytes(_ random: inout SeededRandom) -> [UInt8] {
    (0..<random.pick([0, 1, 7, 8, 9, 12])).map { _ in random.pick([0, 1, 255]) }
  }

  @Test func aTestSaysWhatTheRangesSay() {
    var random = SeededRandom(seed: 11)
    var (inside, wrong) = (0, 0)
    for _ in 0..<3000 {
      let ranges = ByteRanges(
        (0..<1 + random.below(2)).map { _ in
          ByteRange(lower: bytes(&random), upper: random.oneIn(3) ? nil : bytes(&random))
        })
      let test = RangeTest(ranges)
      for _ in 0..<20 {
        // Bounds among them.
        let value = random.oneIn(4) ? random.pick(ranges.list.map(\.lower) + [[]]) : bytes(&random)
        let isIn = ranges.contains(value)
        if isIn { inside += 1 }
        if test.contains(value.span.bytes) != isIn { wrong += 1 }
      }
    }
    #expect(wrong == 0 && inside > 1000)
  }
}
