// Declared columns: what they hold, and how they come to tables that are there.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  private struct Wide: Codable, Sendable {
    enum Level: String, Codable, Sendable, PostgresValue { case low, high }

    var yes = true
    var small: Int8 = -7
    var large = Int128.max
    var half = 0.1
    var nothing: Int?
    var nan = Double.nan
    var id = UUID()
    var time = Date(timeIntervalSince1970: 1_700_000_000.25)
    var data = Data([0, 255])
    var bytes: [UInt8] = [1]
    var level = Level.high
  }

  @Suite("Columns of mirrors", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct ColumnTests {
    @Test("Columns have what fields have, of every type") func types() throws {
      let fixture = try MirrorFixture()
      let rows = RowCollection<Wide, Song>("wide")
      let wide = Wide()
      try fixture.database.write { tx throws in
        try tx[rows].set(wide, metadata: Song(title: "of metadata", year: 1), for: "k")
      }
      let table = PostgresTable(rows) {
        $0.column("yes", \.yes)
        $0.column("small", \.small)
        $0.column("large", \.large)
        $0.column("half", \.half)
        $0.column("nothing", \.nothing)
        $0.column("nan", \.nan)
        $0.column("id", \.id)
        $0.column("time", \.time)
        $0.column("data", \.data)
        $0.column("bytes", \.bytes)
        $0.column("level", \.level)
        $0.column("title", metadata: \.title)
      }
      try fixture.mirror([table]).catchUp()
      let found = try fixture.target.run(
        """
        SELECT yes, small, large, half, nothing, nan, id, time AT TIME ZONE 'UTC', data, bytes, level, title \
        FROM quire_wide
        """)
      #expect(
        found == [
          [
            "t", "-7", "\(Int128.max)", "0.1", nil, "NaN", wide.id.uuidString.lowercased(), "2023-11-14 22:13:20.25",
            "\\x00ff", "\\x01", "high", "of metadata",
          ]
        ])
      try fixture.expectEqual(fixture.mirror([table]), rows: 1)
    }

    @Test(
      "Times stand for the same moment", arguments: [0, -1, 951_782_400, 1_709_164_800.5, -2_208_988_800, 4e9, -7e10])
    func times(seconds: Double) throws {
      let target = try TestTarget()
      let text = PostgresTime.text(seconds)
      let found = try target.value("SELECT extract(epoch FROM '\(text)'::timestamptz)::float8")
      #expect(found.flatMap { Double($0) } == seconds)
    }

    @Test("What is no time is one that PostgreSQL has a word for, or refuses") func noTimes() throws {
      let target = try TestTarget()
      #expect(try target.value("SELECT '\(PostgresTime.text(.infinity))'::timestamptz = 'infinity'") == "t")
      #expect(try target.value("SELECT '\(PostgresTime.text(-.infinity))'::timestamptz = '-infinity'") == "t")
      for seconds in [Double.nan, 9e13, -9e13] {
        #expect(throws: SQLError.self) { try target.run("SELECT '\(PostgresTime.text(seconds))'::timestamptz") }
      }
    }

    @Test("A column that is declared later is filled, and so after a stop in the middle of it")
    func migration() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...1000, year: 1959)
      try fixture.set(1...10, year: 1, in: "others")
      try fixture.mirror().catchUp()
      let tables = [
        PostgresTable(.songs) {
          $0.column("title", \.title)
          $0.column("year", \.year)
          $0.index("year", "title")
        }
      ]
      let stopped = StopAfter(batches: 3)
      let mirror = try PostgresMirror(
        of: fixture.database, feed: fixture.feed, to: fixture.target.conninfo, tables: tables,
        options: .init(largestBatch: 200) { stopped.note($0) })
      stopped.mirror = mirror
      #expect(postgresCode { try mirror.catchUp() } == .stopped)
      let filled = "SELECT count(title) FROM quire_songs"
      #expect(try fixture.target.value(filled) != "1000" && fixture.target.value(filled) != "0")
      #expect(try fixture.mirror().status().state == .catchingUp)
      try fixture.set(990...1010, year: 1960)
      try fixture.database.write { tx throws in _ = try tx[.songs].remove(MirrorFixture.key(500)) }
      try fixture.mirror(tables).catchUp()
      try fixture.expectEqual(fixture.mirror(tables), rows: 1019)
      let same = "SELECT count(*) FROM quire_songs WHERE title = object->>'title' AND year = (object->>'year')::int"
      #expect(try fixture.target.value(same) == "1009")
      #expect(try fixture.target.value("SELECT count(*) FROM pg_indexes WHERE tablename = 'quire_songs'") == "2")
      #expect(fixture.events.beginnings.count == 1)
      #expect(try fixture.target.value("SELECT bool_or(needs_fill) FROM quire_collection") == "f")
    }

    @Test("A collection that is renamed gets the columns of its new name, filled") func renamed() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...300, year: 1959)
      try fixture.mirror([PostgresTable(.songs) { $0.column("year", \.year) }]).catchUp()
      try fixture.reopen(renamed: ["songs": "music"])
      try fixture.set(300...301, year: 1960, in: "music")
      let table = PostgresTable(.songs("music")) {
        $0.column("year", \.year)
        $0.column("title", \.title)
      }
      try fixture.mirror([table]).catchUp()
      try fixture.expectEqual(fixture.mirror([table]), rows: 301)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_music WHERE title = object->>'title'") == "301")
      #expect(try fixture.target.value("SELECT sum(year) FROM quire_music") == "\(299 * 1959 + 2 * 1960)")
      #expect(try fixture.target.value("SELECT bool_or(needs_fill) FROM quire_collection") == "f")
    }

    @Test("A column of another type is refused, and nothing is changed") func otherType() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2, year: 1)
      try fixture.mirror([PostgresTable(.songs) { $0.column("x", \.year) }]).catchUp()
      let other = try fixture.mirror([PostgresTable(.songs) { $0.column("x", \.title) }])
      #expect(postgresCode { try other.catchUp() } == .invalidDeclaration)
      #expect(try fixture.target.run("SELECT x FROM quire_songs") == [["1"], ["1"]])
    }

    @Test("Declarations that cannot be are refused") func declarations() throws {
      let fixture = try MirrorFixture()
      let bad = [
        PostgresTable(.songs) { $0.column("key", \.title) }, PostgresTable(.songs) { $0.column("", \.title) },
        PostgresTable(.songs) { $0.column("a\nb", \.title) },
        PostgresTable(.songs) { $0.column(String(repeating: "a", count: 64), \.title) },
        PostgresTable(.songs) { $0.index("nothing") },
        PostgresTable(.songs) {
          $0.column("a", \.title)
          $0.column("a", \.year)
        },
      ]
      for table in bad { #expect(postgresCode { _ = try fixture.mirror([table]) } == .invalidDeclaration) }
      let table = PostgresTable(.songs) { $0.column("a", \.title) }
      #expect(postgresCode { _ = try fixture.mirror([table, table]) } == .invalidDeclaration)
      #expect(postgresCode { _ = try fixture.mirror(largestBatch: 0) } == .invalidDeclaration)
    }
  }

  /// Stops a mirror after some batches.
  ///
  /// Unchecked is safe because it is set before the mirror runs, and used by the thread that runs it alone.
  private final class StopAfter: @unchecked Sendable {
    var mirror: PostgresMirror?
    private var left: Int

    init(batches: Int) { left = batches }

    func note(_ event: PostgresEvent) {
      guard case .batch = event else { return }
      left -= 1
      if left == 0 { mirror?.stop() }
    }
  }
#endif
