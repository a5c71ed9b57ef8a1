// What apps do with their database while a mirror follows it: suspending, closing, cancelling, renaming, odd keys.

#if Postgres
  import Foundation
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Lives of mirrors", .serialized, .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct MirrorLifeTests {
    /// Waits until a query answers what is expected.
    private func becomes(_ expected: String, _ sql: String, _ fixture: MirrorFixture) async throws {
      for _ in 0..<600 {
        if (try? fixture.target.value(sql)) == expected { return }
        try await Task.sleep(for: .milliseconds(20))
      }
      Issue.record("\(sql) does not become \(expected)")
    }

    @Test("Who follows a database that is suspended goes on when it is resumed")
    func suspended() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      let mirror = try fixture.mirror()
      let ended = Atomic(false)
      let run = Task {
        defer { ended.store(true, ordering: .relaxed) }
        try await mirror.run()
      }
      let count = "SELECT count(*) FROM quire_songs"
      try await becomes("10", count, fixture)
      for round in 1...3 {
        try await fixture.database.suspend()
        try await Task.sleep(for: .milliseconds(1300))
        let hasEnded = ended.load(ordering: .relaxed)
        #expect(!hasEnded)
        try await fixture.database.resume()
        try fixture.set(1...(10 + round), year: 1 + round)
        try await becomes("\(10 + round)", count, fixture)
      }
      run.cancel()
      try await run.value
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 13)
    }

    @Test("Who follows a database that is closed while it is suspended ends")
    func closedWhileSuspended() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...10, year: 1)
      let mirror = try fixture.mirror()
      let run = Task { try await mirror.run() }
      try await becomes("10", "SELECT count(*) FROM quire_songs", fixture)
      try await fixture.database.suspend()
      try await Task.sleep(for: .milliseconds(300))
      try fixture.database.close()
      try await run.value
    }

    @Test("A database that is closed in every phase ends who follows, and the next one goes on", arguments: 0..<12)
    func closed(phase: Int) async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2000, year: 1)
      let events = Atomic(0)
      let database = fixture.database
      let mirror = try PostgresMirror(
        of: database, feed: fixture.feed, to: fixture.target.conninfo,
        options: .init(largestBatch: 150) { _ in
          if events.add(1, ordering: .relaxed).newValue == phase + 1 {
            // It is in use as long as the mirror reads.
            Thread.detachNewThread { while (try? database.close()) == nil { Thread.sleep(forTimeInterval: 0.001) } }
            Thread.sleep(forTimeInterval: 0.002)
          }
        })
      try await mirror.run()
      try fixture.reopen()
      try fixture.set(1990...2010, year: 2)
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 2010)
    }

    @Test("A task that is cancelled at any moment ends without an error, and the next one goes on", arguments: 0..<12)
    func cancelled(phase: Int) async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...2000, year: 1)
      let mirror = try fixture.mirror(largestBatch: 100)
      let run = Task { try await mirror.run() }
      try await Task.sleep(for: .milliseconds(phase * phase))
      run.cancel()
      try await run.value
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 2000)
    }

    @Test("Keys of odd bytes go over, each for itself, or are set aside")
    func oddKeys() throws {
      let fixture = try MirrorFixture()
      let keys = [
        "", " ", "\n", "\\N", "\\.", "\u{1}", "\u{7f}", "\u{feff}", "\u{fffd}", "\u{10ffff}", "caf\u{e9}",
        "cafe\u{301}", "\u{212b}", "\u{c5}", "{}", "\"", "'", "NULL", String(repeating: "\u{1F468}", count: 250),
      ]
      for round in 1...2 {
        try fixture.database.write { tx throws in
          for key in keys {
            try tx[.songs].set(Song(title: key, year: round), for: key)
          }
          try tx[.songs].set(Song(title: "nul", year: round), for: "a\u{0}")
        }
        try fixture.mirror([PostgresTable(.songs) { $0.column("title", \.title) }]).catchUp()
        // The row that is set aside is what it is.
        try fixture.expectEqual(rows: keys.count + 1)
        #expect(try fixture.mirror().rejected().map(\.key) == ["a\u{0}"])
      }
      try fixture.database.write { tx throws in
        for key in keys.dropFirst(3) { _ = try tx[.songs].remove(key) }
      }
      try fixture.mirror([PostgresTable(.songs) { $0.column("title", \.title) }]).catchUp()
      try fixture.expectEqual(rows: 4)
    }

    @Test("Collections whose names the mirror, a hub or PostgreSQL has for something else go over")
    func takenNames() throws {
      let fixture = try MirrorFixture()
      let names = [
        "hub", "hub_row", "hub_member", "hub_push", "hub_row_seq", "hub_pkey", "songs", "songs_pkey", "feed",
        "feed_pkey", "collection_pkey", "rejected_pkey",
      ]
      for name in names { try fixture.set(1...3, year: 1, in: name) }
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 3 * names.count)
      // A hub in the same database of PostgreSQL's.
      let hub = PostgresHubServer(fixture.target.conninfo, hub: "h")
      #expect(try hub.member("a") == nil)
      let push = HubPush(
        origin: "a", lineage: "l", number: 1, token: 5,
        entries: [.init(collection: "notes", key: "k", base: 0, row: "{}", marks: [])])
      #expect(try hub.push(push) == [1])
      try fixture.expectEqual(rows: 3 * names.count)
    }

    @Test("Two mirrors of two feeds over one database keep their tables apart")
    func twoMirrors() throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...20, year: 1)
      try fixture.mirror().catchUp()
      try fixture.reopen([fixture.feed, ChangeFeed("other")])
      let other = try PostgresMirror(
        of: fixture.database, feed: ChangeFeed("other"), to: fixture.target.conninfo)
      try other.catchUp()
      try fixture.set(10...30, year: 2)
      try other.catchUp()
      try fixture.mirror().catchUp()
      try fixture.expectEqual(rows: 30)
      #expect(try other.verify { _ in } == 30)
      #expect(try other.status().tables["songs"] != fixture.mirror().status().tables["songs"])
    }
  }
#endif
