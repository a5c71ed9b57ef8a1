// Conditions in PostgreSQL beside the same ones in a database.

#if Postgres
  import Foundation
  import QuireIndexes
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  private struct Item: Codable, Hashable, Sendable {
    var name: String
    var number: Int
    var part: String?
    var weight: Double?
    var isOld: Bool
    var date: Date
    var bytes: Data
    var small: UInt8

    init(_ random: inout SeededRandom) {
      name = random.pick(SameQueriesTests.texts)
      number = random.pick(SameQueriesTests.numbers)
      part = random.oneIn(3) ? nil : random.pick(SameQueriesTests.texts)
      weight = random.oneIn(4) ? nil : random.pick(SameQueriesTests.weights)
      isOld = random.oneIn(2)
      date = random.pick(SameQueriesTests.dates)
      bytes = random.pick(SameQueriesTests.bytes)
      small = UInt8(random.below(256))
    }
  }

  extension RowCollection where Object == Item, Metadata == NoMetadata {
    fileprivate static var items: Self { .init("items") }
  }

  @Suite("The same conditions on both sides", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct SameQueriesTests {
    fileprivate static let texts = [
      "", "a", "A", "b", "B", "ab", "a b", "é", "e", "z", "Z", "_", "-a", "10", "9", "ä", "\u{10ffff}", "\u{fffd}", "ß",
      "e\u{301}", "'", "\\",
    ]
    fileprivate static let numbers = [.min, -1, 0, 1, 7, 1 << 53 + 1, .max]
    fileprivate static let weights = [.nan, -0.0, 0, 1.5, -1e300, .infinity, -.infinity, 1e-300, 0.1]
    fileprivate static let dates = [-1e9, 0, 0.5, 1e9, 4e9].map { Date(timeIntervalSince1970: $0) }
    fileprivate static let bytes = [Data(), Data([0]), Data([0, 1]), Data([255]), Data("a".utf8)]

    private static let table = PostgresTable(.items) {
      $0.column("name", \.name)
      $0.column("number", \.number)
      $0.column("part", \.part)
      $0.column("weight", \.weight)
      $0.column("old", \.isOld)
      $0.column("date", \.date)
      $0.column("bytes", \.bytes)
      $0.column("small", \.small)
    }

    @Test(
      "Rows are found and sorted as in a database, whatever the order of the server's language", arguments: [nil, "en"])
    func conditions(language: String?) throws {
      var random = SeededRandom(seed: 5)
      let target = try TestTarget(language: language)
      let remote = try PostgresDatabase(at: target.conninfo, tables: [Self.table])
      let db = try Database.inMemory()
      let items = (0..<400).map { (key: "k\($0)", object: Item(&random)) }
      try remote.write { tx in try tx[.items].set(items) }
      try db.write { tx throws in for item in items { try tx[.items].set(item.object, for: item.key) } }
      func check(
        _ there: (PostgresFields<Item, NoMetadata>) -> PostgresCondition,
        _ here: (Fields<Item, NoMetadata>) -> Condition<Item, NoMetadata>, line: Int = #line
      ) throws {
        let expected = try db.read { tx in try tx[.items].find(here).keys }.sorted()
        let found = try remote.read { tx in try tx[.items].find(there).keys }
        #expect(found == expected, "line \(line)")
      }
      for _ in 0..<40 {
        let (text, number, weight) = (random.pick(Self.texts), random.pick(Self.numbers), random.pick(Self.weights))
        let (date, bytes, small) = (random.pick(Self.dates), random.pick(Self.bytes), UInt8(random.below(256)))
        try check({ $0.name == text }, { $0.name == text })
        try check({ $0.name < text || $0.number >= number }, { $0.name < text || $0.number >= number })
        try check({ !($0.part > text) }, { !($0.part > text) })
        try check({ $0.part != text && $0.part != nil }, { $0.part != text && $0.part != nil })
        try check({ $0.weight <= weight }, { $0.weight <= weight })
        try check({ $0.weight == weight || $0.isOld == true }, { $0.weight == weight || $0.isOld == true })
        try check({ $0.weight > weight }, { $0.weight > weight })
        try check({ $0.weight != weight }, { $0.weight != weight })
        try check({ $0.weight.isIn([weight, nil]) }, { $0.weight.isIn([weight, nil]) })
        try check({ $0.date < date && $0.number != number }, { $0.date < date && $0.number != number })
        try check({ $0.bytes >= bytes }, { $0.bytes >= bytes })
        try check({ $0.small > small }, { $0.small > small })
        try check({ $0.name.isIn([text, "a"]) }, { $0.name.isIn([text, "a"]) })
      }
      let sorted = items.sorted { left, right in
        let (one, other) = (left.object.name.utf8, right.object.name.utf8)
        return one.elementsEqual(other) ? left.key < right.key : one.lexicographicallyPrecedes(other)
      }
      let found = try remote.read { tx in try tx[.items].find { _ in .all }.order(by: .ascending(\.name)).keys }
      #expect(found == sorted.map(\.key))
    }
  }
#endif
