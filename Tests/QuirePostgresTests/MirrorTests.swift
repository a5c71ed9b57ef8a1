// Rows that go over, changes that follow, and what stands in the tables.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Mirrors in PostgreSQL", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct MirrorTests {
    @Test("Rows that were there go over, and changes follow")
    func rowsAndChanges() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2500, year: 1959)
      try fixture.mirror(largestBatch: 400).catchUp()
      try fixture.expectEqual(rows: 2500)
      #expect(fixture.events.beginnings.count == 1)
      #expect(fixture.events.batches.prefix(7) == [400, 400, 400, 400, 400, 400, 100])
      try fixture.set(2400...2600, year: 1960)
      try fixture.database.write { tx throws in
        for number in 1...50 { _ = try tx[.songs].remove(MirrorFixture.key(number)) }
      }
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 2550)
      #expect(fixture.events.beginnings.count == 1)
      let row = try fixture.target.run(
        "SELECT object->>'title', object->>'year', metadata, csn FROM quire_songs WHERE key = 's02400'")
      #expect(row.first?.dropLast() == ["Song 2400", "1960", nil])
      #expect(try fixture.target.value("SELECT count(*) FROM quire_songs WHERE (object->>'year')::int = 1960") == "201")
      #expect(
        try fixture.target.value("SELECT (SELECT max(csn) FROM quire_songs) <= csn FROM quire_feed") == "t")
      try fixture.mirror().catchUp()
      #expect(fixture.events.batches.count { $0 > 0 } == 8)
    }

    @Test("Cleared, renamed and cleared collections, all at once and one by one", arguments: [true, false])
    func collectionsAsAWhole(isOneByOne: Bool) throws {
      let fixture = try MirrorFixture()
      func catchUp() throws { if isOneByOne { try fixture.mirror().catchUp() } }
      try fixture.set(1...10, year: 1)
      try fixture.set(1...5, year: 2, in: "others")
      try fixture.mirror().catchUp()
      try fixture.database.write { tx throws in _ = try tx[.songs].removeAll() }
      try catchUp()
      try fixture.set(1...1, year: 3)
      try catchUp()
      try fixture.reopen(renamed: ["songs": "music"])
      try catchUp()
      try fixture.set(2...2, year: 4)
      try catchUp()
      try fixture.database.write { tx throws in _ = try tx[.songs("others")].removeAll() }
      try catchUp()
      try fixture.reopen(renamed: ["music": "others"])
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 2)
      let names = try fixture.target.run("SELECT name, table_name FROM quire_collection ORDER BY name")
      #expect(names == [["others", "quire_others"], ["songs", "quire_songs"]])
      #expect(try fixture.target.value("SELECT key FROM quire_others") == "s00001")
      #expect(fixture.events.beginnings.count == 1)
    }

    @Test("Everything removed") func everythingRemoved() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.set(1...10, year: 1, in: "b")
      try fixture.mirror().catchUp()
      try fixture.database.write { tx throws in try tx.removeAll() }
      try fixture.set(1...1, year: 1, in: "b")
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 1)
    }

    @Test("Every kind of value is JSON in its table") func kinds() throws {
      let fixture = try MirrorFixture()
      let id = UUID()
      let value: RowValue = .record([
        .init("null", .null), .init("yes", true), .init("small", 7), .init("large", .integer(Int128.max)),
        .init("double", 0.1), .init("nan", .double(.nan)), .init("infinite", .double(-.infinity)),
        .init("float", .float(0.5)), .init("text", "Grüße „\"\\\n“ 👩‍🚀"), .init("bytes", .bytes([1, 2, 255])),
        .init("list", [1, "a", nil]), .init("record", ["a": ["b": 1]]), .init("uuid", .uuid(id)),
      ])
      try fixture.database.write { tx throws in try tx.values(in: "all").set(value, metadata: "m", for: "k") }
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 1)
      func field(_ name: String) throws -> String? {
        try fixture.target.value("SELECT object->>'\(name)' FROM quire_all")
      }
      #expect(try field("null") == nil && field("yes") == "true" && field("small") == "7")
      #expect(try field("large") == "\(Int128.max)" && field("double") == "0.1")
      #expect(try field("nan") == "NaN" && field("infinite") == "-Infinity" && field("float") == "0.5")
      #expect(try field("text") == "Grüße „\"\\\n“ 👩‍🚀" && field("bytes") == "AQL/")
      #expect(try field("list") == "[1, \"a\", null]" && field("record") == "{\"a\": {\"b\": 1}}")
      #expect(try field("uuid") == id.uuidString)
      #expect(try fixture.target.value("SELECT metadata #>> '{}' FROM quire_all") == "m")
    }

    @Test("What the bytes of rows are read with stands beside their tables, and follows them") func notes() throws {
      let fixture = try MirrorFixture()
      func notes(_ name: String) throws -> String? {
        try fixture.target.value("SELECT notes FROM quire_collection WHERE name = '\(name)'")
      }
      func expected(_ name: String) throws -> String {
        try fixture.database.read { tx in RowLine.notes(collection: name, tx.values(in: name).notes).json }
      }
      try fixture.set(1...2, year: 1)
      try fixture.mirror().catchUp()
      #expect(try notes("songs") == expected("songs") && notes("songs")?.contains("title") == true)
      try fixture.database.write { tx throws in try tx.values(in: "songs").set(["another field": 1], for: "more") }
      try fixture.mirror().catchUp()
      #expect(try notes("songs") == expected("songs") && notes("songs")?.contains("another field") == true)
      try fixture.reopen(renamed: ["songs": "music"])
      try fixture.mirror().catchUp()
      #expect(try notes("music") == expected("music"))
    }

    @Test("Without bytes there are no columns for them, and keys are compared") func withoutBytes() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...3, year: 1)
      try fixture.mirror(keepsBytes: false).catchUp()
      try fixture.expectEqual(fixture.mirror(keepsBytes: false), rows: 3)
      #expect(
        try fixture.target.run(
          "SELECT 1 FROM information_schema.columns WHERE table_name = 'quire_songs' AND column_name = 'raw'") == [])
      try fixture.target.run("DELETE FROM quire_songs WHERE key = 's00002'")
      var found: [PostgresDifference] = []
      #expect(try fixture.mirror(keepsBytes: false).verify { found.append($0) } == 2)
      #expect(found == [.missing(collection: "songs", key: "s00002")])
    }

    @Test("Every difference is found") func differences() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...9, year: 1)
      try fixture.mirror().catchUp()
      try fixture.target.run("UPDATE quire_songs SET raw = raw || '\\x00' WHERE key = 's00003'")
      try fixture.target.run("UPDATE quire_songs SET row_id = row_id + 100 WHERE key = 's00004'")
      try fixture.target.run("DELETE FROM quire_songs WHERE key = 's00001'")
      try fixture.target.run("INSERT INTO quire_songs VALUES ('s00002a', 1, 1), ('t', 2, 2)")
      try fixture.target.run(
        """
        INSERT INTO quire_rejected SELECT feed, name, name_bytes, 'x', 'x', 1, 1, 'made up', '', '', '' \
        FROM quire_collection
        """)
      var found: [PostgresDifference] = []
      #expect(try fixture.mirror().verify { found.append($0) } == 6)
      #expect(
        found == [
          .missing(collection: "songs", key: "s00001"), .surplus(collection: "songs", key: "s00002a"),
          .different(collection: "songs", key: "s00003"), .different(collection: "songs", key: "s00004"),
          .surplus(collection: "songs", key: "t"), .staleRejection(collection: "songs", key: "x"),
        ])
    }

    @Test("Names that PostgreSQL cannot have, has already, or cuts off") func names() throws {
      let fixture = try MirrorFixture()
      let long = String(repeating: "long ", count: 30)
      let names = ["feed", "a\u{0}b", long, long + "2", "\"quoted\"", "ü", "", "collection", "É", "E\u{301}"]
      for name in names { try fixture.set(1...2, year: 1, in: name) }
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 2 * names.count)
      #expect(try fixture.target.value("SELECT count(DISTINCT table_name) FROM quire_collection") == "\(names.count)")
      #expect(try fixture.target.value("SELECT count(*) FROM \"quire_\"\"quoted\"\"\"") == "2")
    }

    @Test("A plan changes nothing, and says what is done then") func plan() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...3, year: 1)
      let plan = try fixture.mirror().plan()
      #expect(plan.bootstraps && plan.rowCount == 3 && plan.statements.count == 4)
      #expect(postgresCode { _ = try fixture.mirror().status() } == .noMirror)
      #expect(try fixture.target.run("SELECT 1 FROM pg_tables WHERE tablename LIKE 'quire%'") == [])
      try fixture.mirror().catchUp()
      try fixture.set(3...4, year: 2)
      let next = try fixture.mirror([PostgresTable(.songs) { $0.column("year", \.year) }]).plan()
      #expect(!next.bootstraps && next.rowCount == 2 && next.statements.count == 1)
      #expect(try fixture.mirror().status().behind?.changes == 2)
    }
  }
#endif
