// What PostgreSQL refuses until somebody mends it: who is told, and what is true when it was mended.

#if Postgres
  import Foundation
  import QuireTesting
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite("Refusals", .enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed."))
  struct RefusalTests {
    private let year = PostgresTable(.songs) { $0.column("year", \.year) }

    /// Waits until `body` is true.
    private func wait(_ body: () throws -> Bool) async throws {
      for _ in 0..<3000 {
        if try body() { return }
        try await Task.sleep(for: .milliseconds(5))
      }
      Issue.record("it did not come about")
    }

    @Test("A table that somebody has dropped is made again, with all rows", arguments: [true, false])
    func droppedTable(isFollowing: Bool) async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...250, year: 1)
      try fixture.set(1...20, year: 1, in: "others")
      let mirror = try fixture.mirror([year], largestBatch: 100)
      let run = isFollowing ? Task { try await mirror.run() } : nil
      if isFollowing { try await wait { (try? mirror.status())?.state == .consistent } } else { try mirror.catchUp() }
      try fixture.target.run("DROP TABLE quire_songs")
      #expect(throws: PostgresError.self) { try mirror.verify { _ in } }
      let plan = try mirror.plan()
      #expect(plan.statements.count == 1 && plan.statements[0].hasPrefix("CREATE TABLE \"quire_songs\""))
      let seen = fixture.events.all.count
      try fixture.set(250...260, year: 2)
      if isFollowing {
        let count = "SELECT count(*) FROM quire_songs WHERE year = 2"
        try await wait { (try? fixture.target.value(count)) == "11" }
        try await wait { try mirror.status().state == .consistent }
      } else {
        try mirror.catchUp()
      }
      try fixture.expectEqual(mirror, rows: 280)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_songs WHERE year = 2") == "11")
      // From the moment it is made until it has all rows nobody takes it for those of one commit.
      let events = fixture.events.all[seen...]
      let made = try #require(events.firstIndex { if case .changedTable = $0 { true } else { false } })
      let states = events[made...].compactMap { if case .batch(_, _, let state) = $0 { state } else { nil } }
      #expect(states.dropLast().allSatisfy { $0 == .catchingUp } && states.count > 3)
      #expect(mirror.trouble == nil)
      run?.cancel()
      try await run?.value
    }

    @Test("A table that is dropped while rows go over has all of them in the end", arguments: [true, false])
    func droppedMeanwhile(isFirst: Bool) throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...300, year: 1)
      try fixture.set(1...300, year: 1, in: "others")
      if !isFirst {
        try fixture.mirror().catchUp()
        try fixture.target.run("DROP TABLE quire_others")
      }
      let box = MirrorBox()
      let cut = try PostgresMirror(
        of: fixture.database, feed: fixture.feed, to: fixture.target.conninfo,
        options: .init(largestBatch: 50) { event in if case .batch = event, box.count(to: 8) { box.mirror?.stop() } })
      box.mirror = cut
      #expect(postgresCode { try cut.catchUp() } == .stopped)
      try fixture.target.run("DROP TABLE quire_songs")
      try fixture.mirror(largestBatch: 50).catchUp()
      try fixture.expectEqual(rows: 600)
    }

    @Test("Who follows goes on by itself when a right was granted, and says until then what is missing")
    func missingRight() async throws {
      let fixture = try MirrorFixture()
      try fixture.set(1...5, year: 1)
      try fixture.mirror().catchUp()
      let role = "r" + fixture.target.name
      try fixture.target.run("CREATE ROLE \(role) LOGIN")
      for table in ["quire_feed", "quire_collection", "quire_rejected"] {
        try fixture.target.run("GRANT ALL ON \(table) TO \(role)")
      }
      try fixture.target.run("GRANT SELECT ON quire_songs TO \(role)")
      let conninfo = fixture.target.conninfo.replacing("user=quire", with: "user=\(role)")
      try fixture.set(5...6, year: 2)
      #expect(postgresCode { try fixture.mirror(to: conninfo).catchUp() } == .refused)
      let mirror = try fixture.mirror(to: conninfo)
      let run = Task { try await mirror.run() }
      try await wait { mirror.trouble != nil && fixture.events.retries > 2 }
      #expect(mirror.trouble?.code == .refused && mirror.trouble?.sqlState == "42501")
      #expect(mirror.trouble?.message.contains("Grant the user") == true)
      #expect(try fixture.target.value("SELECT count(*) FROM quire_songs") == "5")
      try fixture.target.run("GRANT ALL ON quire_songs TO \(role)")
      try await wait { mirror.trouble == nil }
      try await wait { try fixture.target.value("SELECT count(*) FROM quire_songs") == "6" }
      run.cancel()
      try await run.value
      try fixture.expectEqual(rows: 6)
    }

    @Test("A user or a database that is not there is told with its code, and not taken for a server that is away")
    func refusedConnections() async throws {
      let fixture = try MirrorFixture()
      let good = fixture.target.conninfo
      let cases = [
        (good.replacing("user=quire", with: "user=nobody_at_all"), "28000"),
        (good.replacing(fixture.target.name, with: "nothing_at_all"), "3D000"),
      ]
      for (conninfo, state) in cases {
        let error = #expect(throws: PostgresError.self) { try fixture.mirror(to: conninfo).catchUp() }
        #expect(error?.code == .refused && error?.sqlState == state, "\(String(describing: error))")
        #expect(error?.message.contains("LOCATION") == false && error?.message.contains("FATAL") == true)
        #expect(postgresCode { _ = try fixture.mirror(to: conninfo).status() } == .refused)
        let mirror = try fixture.mirror(to: conninfo)
        let run = Task { try await mirror.run() }
        try await wait { mirror.trouble?.sqlState == state }
        run.cancel()
        try await run.value
      }
    }

    @Test("A server that takes connections and says nothing is left when its time is over")
    func silentServer() throws {
      let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(listener) }
      let fixture = try MirrorFixture()
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let path = fixture.folder.url.path + "/.s.PGSQL.5432"
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let bound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(bound == 0 && listen(listener, 8) == 0)
      let conninfo = "host=\(fixture.folder.url.path) dbname=none connect_timeout=2"
      let start = ContinuousClock.now
      let error = #expect(throws: PostgresError.self) { _ = try fixture.mirror(to: conninfo).status() }
      #expect(error?.code == .notReachable && error?.sqlState == nil)
      #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test("What libpq says is cut into a message and a code")
    func messages() {
      let here = "connection to server at \"::1\", port 5432 failed: "
      let refused =
        here + "FATAL:  28P01: password authentication failed for user \"x\"\nLOCATION:  auth_failed, auth.c:331\n"
      let cases: [(text: String, state: String?)] = [
        (refused, "28P01"),
        (here + "Connection refused\n\tIs the server running on that host?\n", nil),
        (here + "Connection refused\n" + refused, nil),
        (refused + here + "FATAL:  3D000: database \"y\" does not exist\n", "3D000"),
        (here + "session is read-only\n", nil),
        (here + "FATAL:  password authentication failed\n", nil),
        ("could not translate host name \"ABC12: \" to address\n", nil),
        ("", nil),
      ]
      for (text, state) in cases {
        let refusal = ConnectionRefusal(text)
        #expect(refusal.state == state, "\(text)")
        #expect(!refusal.message.contains("\n") && !refusal.message.contains("LOCATION"))
      }
    }
  }
#endif
