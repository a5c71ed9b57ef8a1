// Connections that die at COMMIT, whoever sends it, and what is large.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Commits and sizes", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct CommitDeathTests {
    /// Has the server end the session that commits a change of a table, so many times. The counting survives that.
    private func plant(_ target: TestTarget, _ table: String, times: Int) throws {
      try target.run("CREATE SEQUENCE deaths")
      try target.run(
        """
        CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF nextval('deaths') <= \(times) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; \
        RETURN NULL; END $$
        """)
      try target.run(
        """
        CREATE CONSTRAINT TRIGGER die AFTER INSERT OR UPDATE ON \(table) DEFERRABLE INITIALLY DEFERRED \
        FOR EACH ROW EXECUTE FUNCTION die()
        """)
    }

    @Test("Who writes rows hears that the outcome is not known, and goes on with another connection")
    func rows() throws {
      let target = try TestTarget()
      let remote = try PostgresDatabase(at: target.conninfo)
      try remote.write { tx in try tx[.songs].set(Song(title: "first", year: 1), for: "a") }
      try plant(target, "quire_songs", times: 1)
      let code = postgresCode {
        try remote.write { tx throws in _ = try tx[.songs].set(Song(title: "lost", year: 2), for: "a") }
      }
      #expect(code == .outcomeUnknown)
      #expect(try remote.read { tx in try tx[.songs].get("a")?.year } == 1)
      try remote.write { tx in try tx[.songs].set(Song(title: "next", year: 3), for: "a") }
      #expect(try remote.read { tx in try tx[.songs].get("a")?.year } == 3)
    }

    @Test("A mirror stores the batch again") func mirror() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      try fixture.mirror().catchUp()
      try plant(fixture.target, "quire_songs", times: 3)
      try fixture.set(5...15, year: 2)
      try fixture.mirror().catchUp()
      #expect(fixture.events.retries == 3)
      try fixture.expectEqual(rows: 15)
    }

    @Test("A hub takes each change over once") func hub() throws {
      let target = try TestTarget()
      func member(_ origin: String) throws -> (Database, PostgresHub) {
        let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
        return (db, try PostgresHub(db, over: ["notes"], as: origin, at: target.conninfo, rule: HubHistory.rule))
      }
      let ((a, hubA), (b, hubB)) = (try member("a"), try member("b"))
      try a.write { tx in try tx[.notes].set(Note(text: "n", marks: ["0"]), for: "n") }
      try hubA.synchronize()
      try hubB.synchronize()
      try plant(target, "quire_hub_row", times: 4)
      var losses = 0
      for round in 1...6 {
        for (db, hub, name) in [(a, hubA, "a"), (b, hubB, "b")] {
          try db.write { tx throws in
            var note = try #require(try tx[.notes].get("n"))
            note.marks.append("\(name)\(round)")
            try tx[.notes].set(note, for: "n")
          }
          do { try hub.synchronize() } catch let error as HubError {
            #expect(error.code == .unreachable)
            losses += 1
          }
        }
      }
      for hub in [hubA, hubB, hubA] { try hub.synchronize() }
      let marks = try a.read { tx in try #require(try tx[.notes].get("n")).marks }
      #expect(losses == 4 && marks.count == 13 && Set(marks).count == 13)
      #expect(try b.read { tx in try tx[.notes].get("n")?.marks } == marks)
    }

    @Test("Ten thousand rows of one transaction, and rows of a megabyte, go over by a hub and come to each member")
    func large() throws {
      let target = try TestTarget()
      func member(_ origin: String) throws -> (Database, PostgresHub) {
        let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
        return (db, try PostgresHub(db, over: ["notes"], as: origin, at: target.conninfo) { _ in .mine })
      }
      let ((a, hubA), (b, hubB)) = (try member("a"), try member("b"))
      try a.write { tx throws in
        for number in 0..<10_000 { try tx[.notes].set(Note(text: "text \(number)"), for: "n\(number)") }
        for number in 0..<3 {
          let text = String(repeating: "\(number)é\u{0}\"", count: 100_000)
          try tx[.notes].set(Note(text: text), for: "long \(number)")
        }
        let key = String(repeating: "k\u{0}", count: Limits.rowKeyByteCount / 2)
        try tx[.notes].set(Note(text: "of a long key"), for: key)
      }
      #expect(try hubA.synchronize() == HubProgress(pushed: 10_004))
      #expect(try hubB.synchronize() == HubProgress(applied: 10_004))
      func rows(_ db: Database) throws -> [String: Note] {
        try db.read { tx in Dictionary(uniqueKeysWithValues: tx[.notes].map { ($0.key, $0.object) }) }
      }
      #expect(try rows(a) == rows(b))
      try b.write { tx throws in try tx[.notes].removeAll() }
      #expect(try hubB.synchronize().pushed == 10_004)
      #expect(try hubA.synchronize().applied == 10_004 && rows(a).isEmpty)
    }

    @Test("A batch has no more rows than can be held of them, however well these compress", arguments: [false, true])
    func batchBytes(follows: Bool) throws {
      let fixture = try MirrorFixture()
      let text = String(repeating: "a", count: 1 << 20)
      if follows {
        try fixture.set(1...1, year: 1)
        try fixture.mirror().catchUp()
      }
      try fixture.database.write { tx throws in
        for row in 0..<40 { try tx[.songs].set(Song(title: text, year: row), for: "k\(row)") }
      }
      try fixture.mirror().catchUp()
      // Of each row there is a text of JSON, and the bytes as they are stored.
      #expect(fixture.events.batches.max() ?? 0 <= 15)
      try fixture.expectEqual(rows: follows ? 41 : 40)
    }
  }
#endif
