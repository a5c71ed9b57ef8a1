// What happens to either side, and what is true afterwards.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Mirrors and faults", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct FaultTests {
    /// Runs a mirror until it has stored so many batches, and stops it for good.
    private func runBatches(_ count: Int, _ fixture: MirrorFixture, _ tables: [PostgresTable] = []) throws {
      let box = MirrorBox()
      let mirror = try PostgresMirror(
        of: fixture.database, feed: fixture.feed, to: fixture.target.conninfo, tables: tables,
        options: .init(largestBatch: 100) { event in
          if case .batch = event, box.count(to: count) { box.mirror?.stop() }
        })
      box.mirror = mirror
      #expect(postgresCode { try mirror.catchUp() } == .stopped)
    }

    @Test("Rows go over from where they had come to, whatever has changed meanwhile")
    func resumes() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...1000, year: 1)
      for round in 1...4 {
        try runBatches(2, fixture)
        #expect(try fixture.mirror().status().state == .bootstrapping)
        #expect(try fixture.target.value("SELECT count(*) FROM quire_songs") == "\(200 * round)")
        try fixture.set((round * 150)...(round * 150 + 20), year: 1 + round)
        try fixture.database.write { tx throws in
          for number in [round, 400 + round, 900 + round] { _ = try tx[.songs].remove(MirrorFixture.key(number)) }
        }
        try fixture.set((1000 + round)...(1000 + round), year: 7)
      }
      try fixture.mirror(largestBatch: 100).catchUp()
      try fixture.expectEqual(rows: 1000 - 12 + 4)
    }

    @Test("A batch whose connection ends is stored once", arguments: [1, 2, 3])
    func lostConnections(seed: Int) async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...3000, year: 1)
      let mirror = try fixture.mirror(largestBatch: 50)
      let run = Task { try await mirror.run() }
      var ended = 0
      for round in 0..<30 {
        try fixture.set((round * 70 + 1)...(round * 70 + 100), year: 2 + round)
        ended += try fixture.target.endSessions()
        try await Task.sleep(for: .milliseconds(10 + seed * round))
      }
      run.cancel()
      try await run.value
      #expect(ended > 3 && fixture.events.retries > 0)
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 3000)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_rejected") == "0")
    }

    @Test("A second feeder stops, and what it had is not stored") func secondFeeder() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      let sink = try Sink(fixture.mirror().settings)
      try fixture.set(1...10, year: 2)
      try fixture.mirror().catchUp()
      let change = SinkChange.store(collection: "songs", [SinkRow(key: "late", rowID: 9, object: Array("1".utf8))])
      #expect(throws: FenceError.self) { try sink.store([change], csn: 99, next: sink.state) }
      try fixture.expectEqual(rows: 10)
    }

    @Test("Of feeders that begin at the same moment one brings the rows over; each other says what it met")
    func manyBeginners() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2000, year: 1)
      let mirrors = try (0..<4).map { _ in try fixture.mirror(largestBatch: 100) }
      let codes = await withTaskGroup(of: PostgresError.Code?.self) { group in
        for mirror in mirrors { group.addTask { postgresCode { try mirror.catchUp() } } }
        return await group.reduce(into: [PostgresError.Code?]()) { $0.append($1) }
      }
      #expect(codes.allSatisfy { $0 == nil || $0 == .anotherFeeder } && codes.contains(nil))
      try fixture.expectEqual(rows: 2000)
    }

    @Test("A feeder finds the cursor moved by another one, or put back by somebody, and says so")
    func movedCursor() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      try fixture.target.run("CREATE TABLE kept AS SELECT * FROM quire_feed")
      try fixture.set(5...12, year: 2)
      let mirror = try fixture.mirror()
      let run = Task { try await mirror.run() }
      while try fixture.target.value("SELECT count(*) FROM quire_songs") != "12" {
        try await Task.sleep(for: .milliseconds(5))
      }
      try fixture.target.replace("quire_feed", with: "kept")
      try fixture.set(13...13, year: 3)
      do {
        try await run.value
        Issue.record("The feeder has not noticed.")
      } catch let error as PostgresError {
        #expect(error.code == .anotherFeeder)
      }
      // Begun again it delivers from the old cursor, and nothing becomes older.
      let before = try fixture.target.run("SELECT key, csn FROM quire_songs WHERE key = 's00012'")
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 13)
      let after = try fixture.target.run("SELECT key, csn FROM quire_songs WHERE key = 's00012'")
      #expect((before[0][1].flatMap { Int($0) } ?? 0) <= (after[0][1].flatMap { Int($0) } ?? 0))
    }

    @Test("What was renamed behind a cursor that is put back goes over anew") func renamedBehindTheCursor() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      try fixture.target.run("CREATE TABLE kept AS SELECT * FROM quire_feed")
      try fixture.reopen(renamed: ["songs": "music"])
      try fixture.set(3...4, year: 2)
      try fixture.mirror().catchUp()
      try fixture.target.replace("quire_feed", with: "kept")
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 12)
      #expect(fixture.events.beginnings.count == 2)
    }

    @Test("A renaming while rows go over has them go over anew") func renamedMeanwhile() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...500, year: 1)
      try runBatches(2, fixture)
      try fixture.reopen(renamed: ["songs": "music"])
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 500)
    }

    @Test("Another database, a backup and another life of the feed are refused, until it is begun anew")
    func foreignCursors() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      let other = try MirrorFixture()
      try other.set(1...3, year: 2)
      let mirror = try other.mirror(to: fixture.target.conninfo)
      #expect(postgresCode { try mirror.catchUp() } == .foreignMirror)
      try fixture.expectEqual(rows: 10)
      // A run without the feed ends its life.
      try fixture.reopen([])
      try fixture.set(11...12, year: 1)
      try fixture.reopen()
      #expect(postgresCode { try fixture.mirror().catchUp() } == .foreignMirror)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_songs") == "10")
      try fixture.mirror(beginsAnew: true).catchUp()
      try fixture.expectEqual(rows: 12)
      try other.mirror(to: fixture.target.conninfo, beginsAnew: true).catchUp()
      try other.expectEqual(other.mirror(to: fixture.target.conninfo), rows: 3)
    }

    @Test("Where changes have expired all rows go over anew") func expired() throws {
      let retention = ChangeFeed.Retention(bytes: 1 << 16, releasedBytes: 0, releasedCommits: 0)
      let fixture = try MirrorFixture(ChangeFeed("sql", retention: retention))
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      for year in 2...40 { try fixture.set(1...300, year: year) }
      try fixture.database.write { tx throws in _ = try tx[.songs].remove(MirrorFixture.key(1)) }
      try fixture.mirror().catchUp()
      #expect(fixture.events.beginnings.count == 2)
      try fixture.expectEqual(rows: 299)
    }

    @Test("What was released is kept for a sink that goes back") func goesBack() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      let saved = ["quire_feed", "quire_collection", "quire_rejected", "quire_songs"]
      for table in saved { try fixture.target.run("CREATE TABLE kept_\(table) AS SELECT * FROM \(table)") }
      for year in 2...9 {
        try fixture.set(year...(year + 5), year: year)
        try fixture.mirror().catchUp()
      }
      for table in saved { try fixture.target.replace(table, with: "kept_\(table)") }
      try fixture.mirror().catchUp()
      #expect(fixture.events.beginnings.count == 1)
      try fixture.expectEqual(rows: 14)
    }

    @Test("Rights that are missing, and a table that was changed by hand, are told and not tried again")
    func refusals() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2, year: 1)
      try fixture.mirror().catchUp()
      try fixture.target.run("ALTER TABLE quire_songs DROP COLUMN object")
      try fixture.set(2...3, year: 2)
      #expect(postgresCode { try fixture.mirror().catchUp() } == .refused)
      try fixture.target.run("ALTER TABLE quire_songs ADD COLUMN object jsonb")
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 3)
    }

    @Test("A server that is not there is tried again until the mirror is told to stop") func noServer() async throws {
      let fixture = try MirrorFixture()
      let mirror = try fixture.mirror(to: "host=\(fixture.folder.url.path) dbname=none")
      let run = Task { try await mirror.run() }
      while fixture.events.retries < 3 { try await Task.sleep(for: .milliseconds(5)) }
      run.cancel()
      try await run.value
      #expect(postgresCode { try mirror.catchUp() } == .stopped)
      #expect(postgresCode { _ = try mirror.status() } == .notReachable)
    }

    @Test("Following ends when the database is closed") func closed() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...5, year: 1)
      let mirror = try fixture.mirror()
      let run = Task { try await mirror.run() }
      while try fixture.target.run("SELECT 1 FROM pg_tables WHERE tablename = 'quire_songs'").isEmpty {
        try await Task.sleep(for: .milliseconds(5))
      }
      try fixture.database.close()
      try await run.value
    }
  }

  /// Lets a closure stop the mirror that it is an option of.
  ///
  /// Unchecked is safe because it is set before the mirror runs, and used by the thread that runs it alone.
  final class MirrorBox: @unchecked Sendable {
    var mirror: PostgresMirror?
    private var seen = 0

    /// Whether this is the last of so many calls.
    func count(to count: Int) -> Bool {
      seen += 1
      return seen == count
    }
  }
#endif
