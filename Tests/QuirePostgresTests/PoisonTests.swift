// Rows that PostgreSQL refuses.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Rows that are set aside", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct PoisonTests {
    private func set(_ values: [(String, RowValue)], _ fixture: MirrorFixture) throws {
      try fixture.database.write { tx throws in
        for (key, value) in values { try tx.values(in: "odd").set(value, for: key) }
      }
    }

    @Test(
      "Texts and keys with U+0000 are set aside, among thousands, as rows go over and as they change",
      arguments: [true, false])
    func zeros(isFirst: Bool) throws {
      let fixture = try MirrorFixture()
      if !isFirst { try fixture.mirror().catchUp() }
      let good = (0..<3000).map { ("k\($0)", RowValue.record([.init("n", .integer(Int128($0)))])) }
      let bad: [(String, RowValue)] = [
        ("k17x", .record([.init("t", "a\u{0}b")])), ("k1500x", .record([.init("\u{0}", 1)])), ("k\u{0}", 1),
        ("z", "\u{0}"),
      ]
      try set(good + bad, fixture)
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 3004)
      #expect(Set(fixture.events.rejectedKeys) == Set(bad.map(\.0)))
      let rejected = try fixture.mirror().rejected()
      #expect(rejected.map(\.key) == ["k\u{0}", "k1500x", "k17x", "z"])
      #expect(rejected.allSatisfy { $0.sqlState?.hasPrefix("22") == true && !$0.reason.isEmpty })
      #expect(try fixture.mirror().status().rejectedCount == 4)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_odd") == "3000")
    }

    @Test("A row that is mended, removed or cleared is set aside no more") func mended() throws {
      let fixture = try MirrorFixture()
      try set([("a", "\u{0}"), ("b", "\u{0}"), ("c\u{0}", "\u{0}"), ("d", "\u{0}"), ("e", "good")], fixture)
      try fixture.mirror().catchUp()
      #expect(try fixture.mirror().rejected().map(\.key) == ["a", "b", "c\u{0}", "d"])
      try set([("a", "mended"), ("d", "other \u{0}")], fixture)
      try fixture.database.write { tx throws in _ = try tx.values(in: "odd").remove("c\u{0}") }
      try fixture.mirror().catchUp()
      #expect(try fixture.mirror().rejected().map(\.key) == ["b", "d"])
      try fixture.expectEqual(rows: 4)
      // What becomes bad is not left as it was.
      try set([("e", "\u{0}")], fixture)
      try fixture.mirror().catchUp()
      #expect(try fixture.target.run("SELECT key FROM quire_odd") == [["a"]])
      try fixture.reopen(renamed: ["odd": "even"])
      try fixture.mirror().catchUp()
      #expect(try fixture.mirror().rejected().map(\.collection) == ["even", "even", "even"])
      try fixture.expectEqual(rows: 4)
      try fixture.database.write { tx throws in _ = try tx.removeAll() }
      try fixture.mirror().catchUp()
      #expect(try fixture.mirror().rejected().isEmpty)
      try fixture.expectEqual(rows: 0)
    }

    @Test("The row, what is said of it and the cursor are one transaction") func oneTransaction() throws {
      let fixture = try MirrorFixture()
      try set([("a", 1)], fixture)
      try fixture.mirror().catchUp()
      let sink = try Sink(fixture.mirror().settings)
      try set([("b", "\u{0}")], fixture)
      try fixture.mirror().catchUp()
      var bad = SinkRow(key: "late", rowID: 1)
      bad.object = Array("no JSON".utf8)
      #expect(throws: FenceError.self) {
        try sink.store([.store(collection: "odd", [bad])], csn: 99, next: sink.state)
      }
      #expect(try fixture.mirror().rejected().map(\.key) == ["b"])
    }

    @Test("Long keys, long values, many fields and deep values go over") func largeRows() throws {
      let fixture = try MirrorFixture()
      var deep = RowValue.null
      for _ in 0..<500 { deep = .list([deep]) }
      let fields = (0..<40_000).map { RowValue.Field("field \($0)", .integer(Int128($0))) }
      try set(
        [
          (String(repeating: "k", count: 1000), 1), ("long", .text(String(repeating: "x", count: 1 << 20))),
          ("bytes", .bytes(Array(repeating: 7, count: 3 << 20))), ("deep", deep), ("wide", .record(fields)),
        ], fixture)
      try fixture.mirror().catchUp()
      #expect(try fixture.mirror().rejected().isEmpty)
      try fixture.expectEqual(rows: 5)
      #expect(
        try fixture.target.value("SELECT object->>'field 39999' FROM quire_odd WHERE key = 'wide'") == "39999")
    }

    @Test("What does not fit a declared column, or an index, is set aside") func columns() throws {
      let fixture = try MirrorFixture()
      let tables = [
        PostgresTable(.songs) {
          $0.column("title", \.title)
          $0.column("year", \.year)
          $0.index("title")
        }
      ]
      var random = SeededRandom(seed: 1)
      let noise = String((0..<20_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 65...90, using: &random))) })
      try fixture.database.write { tx throws in
        try tx[.songs].set(Song(title: "fits", year: 1, rating: nil), for: "a")
        try tx[.songs].set(Song(title: noise, year: 1, rating: nil), for: "b")
        try tx[.songs].set(Song(title: "z\u{0}", year: 1, rating: nil), for: "c")
        try tx.values(in: "songs").set(["title": 7], for: "d")
      }
      try fixture.mirror(tables).catchUp()
      let rejected = try fixture.mirror(tables).rejected()
      #expect(rejected.map(\.key) == ["b", "c", "d"])
      #expect(rejected[0].sqlState == "54000" && rejected[2].sqlState == nil)
      #expect(rejected[2].reason.contains("decodingFailed"))
      try fixture.expectEqual(fixture.mirror(tables), rows: 4)
    }
  }
#endif
