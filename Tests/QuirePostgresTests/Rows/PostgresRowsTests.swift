// Rows in PostgreSQL alone, by their types.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Testing

  @testable import QuirePostgres

  private struct Recording: Codable, Hashable, Sendable {
    var title: String
    var year: Int
    var rating: Double?
    var added = Date(timeIntervalSinceReferenceDate: 0)
    var cover: Data?
  }

  private struct Plays: Codable, Hashable, Sendable { var count: Int }

  extension RowCollection where Object == Recording, Metadata == Plays {
    fileprivate static var recordings: Self { .init("songs") }
  }

  private let table = PostgresTable(.recordings) {
    $0.column("year", \.year)
    $0.column("title", \.title)
    $0.column("rating", \.rating)
    $0.column("plays", metadata: \.count)
    $0.index("year", "title")
  }

  @Suite(.enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed.")) struct PostgresRowsTests {
    let target: TestTarget
    let remote: PostgresDatabase

    init() throws {
      target = try TestTarget()
      remote = try PostgresDatabase(at: target.conninfo, tables: [table])
    }

    private static let naima = Recording(title: "Naima", year: 1959, rating: 4.5, cover: Data([0, 255]))

    @Test("Rows that are stored come back by their types, also values that JSON has no numbers for")
    func identity() throws {
      let songs = [
        "a": Self.naima, "ü\"'\\": Recording(title: "'; DROP TABLE quire_songs; --", year: -1, rating: .infinity),
        "n": Recording(title: "", year: .max, rating: -.infinity),
        "d": Recording(title: "d", year: 0, added: Date(timeIntervalSince1970: 0.1)),
      ]
      try remote.write { tx throws in
        for (key, song) in songs { try tx[.recordings].set(song, metadata: Plays(count: 3), for: key) }
      }
      try remote.read { tx throws in
        for (key, song) in songs { #expect(try tx[.recordings].get(key) == song) }
        #expect(try tx[.recordings].metadata("a") == Plays(count: 3) && tx[.recordings].count == 4)
        #expect(
          try tx[.recordings].get("b") == nil && tx[.recordings].get("\u{0}") == nil
            && !tx[.recordings].contains("\u{0}"))
        #expect(try tx[.recordings].rows().map(\.key) == ["a", "d", "n", "ü\"'\\"])
      }
      #expect(try target.value("SELECT plays FROM quire_songs WHERE key = 'a'") == "3")
    }

    @Test("A collection without a table has no rows, and gets one by the first row")
    func noTable() throws {
      try remote.read { tx throws in
        #expect(try tx[.recordings].get("a") == nil && tx[.recordings].count == 0 && tx[.recordings].rows().isEmpty)
        #expect(try tx[.recordings].find { $0.year > 3 }.all.isEmpty)
      }
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      #expect(try remote.read { tx in try tx[.recordings].count } == 1)
    }

    @Test("Rows are inserted, updated, replaced by version and removed, and versions grow")
    func changes() throws {
      try remote.write { tx throws in
        #expect(try tx[.recordings].insert(Self.naima, metadata: Plays(count: 1), for: "a"))
        #expect(try !tx[.recordings].insert(Recording(title: "x", year: 0), for: "a"))
        #expect(try tx[.recordings].update("a") { $0.year = 1960 } && !tx[.recordings].update("b") { _ in })
        #expect(try tx[.recordings].row("a")?.metadata == Plays(count: 1))
        let version = try #require(try tx[.recordings].row("a")?.version)
        #expect(try tx[.recordings].set(Self.naima, for: "a", ifVersion: version - 1) == nil)
        #expect(try tx[.recordings].set(Self.naima, for: "b", ifVersion: version) == nil)
        #expect(try tx[.recordings].set(Self.naima, for: "a", ifVersion: version) == version + 1)
        #expect(try tx[.recordings].row("a")?.metadata == nil)
        #expect(try !tx[.recordings].remove("a", ifVersion: version))
        #expect(try tx[.recordings].remove("a", ifVersion: version + 1))
        #expect(try !tx[.recordings].remove("a") && tx[.recordings].count == 0)
        try tx[.recordings].set(
          (0..<2500).map { ("s\($0)", Recording(title: "t\($0 % 7)", year: $0)) } + [("s0", Self.naima)])
        #expect(try tx[.recordings].count == 2500 && tx[.recordings].get("s0") == Self.naima)
        #expect(try tx[.recordings].rows(prefix: "s24").count == 111 && tx[.recordings].rows(limit: 5).count == 5)
        #expect(try tx[.recordings].rows().map(\.key) == (0..<2500).map { "s\($0)" }.sorted())
        #expect(try tx[.recordings].remove { $0.year < 1000 && $0.title == "t3" } == 143)
        #expect(try tx[.recordings].removeAll() == 2357)
      }
    }

    @Test("Conditions find what they find in a database, as do their counts and orders")
    func conditions() throws {
      var random = SeededRandom(seed: 3)
      let songs = (0..<300).map { number in
        (
          key: "k\(number)",
          object: Recording(
            title: "t\(random.below(20))", year: 1950 + random.below(30),
            rating: random.oneIn(4) ? nil : Double(random.below(5)))
        )
      }
      try remote.write { tx in try tx[.recordings].set(songs) }
      func check(
        _ condition: (PostgresFields<Recording, Plays>) -> PostgresCondition, _ expected: (Recording) -> Bool,
        line: Int = #line
      ) throws {
        try remote.read { tx throws in
          let keys = songs.filter { expected($0.object) }.map(\.key).sorted()
          #expect(try tx[.recordings].find(condition).keys == keys, "line \(line)")
          #expect(try tx[.recordings].find(condition).count == keys.count)
        }
      }
      try check({ $0.year == 1960 }) { $0.year == 1960 }
      try check({ $0.year != 1960 && $0.title <= "t15" }) { $0.year != 1960 && $0.title <= "t15" }
      try check({ $0.rating == nil }) { $0.rating == nil }
      try check({ $0.rating != nil }) { $0.rating != nil }
      try check({ $0.rating != 3 }) { $0.rating != 3 }
      try check({ $0.rating > 2 || $0.year >= 1975 }) { ($0.rating ?? 0) > 2 || $0.year >= 1975 }
      try check({ !($0.rating > 2) }) { !(($0.rating ?? 0) > 2) }
      try check({ $0.rating.isIn([nil, 4]) }) { $0.rating == nil || $0.rating == 4 }
      try check({ $0.year.isIn([Int]()) }) { _ in false }
      try remote.read { tx throws in
        let found = try tx[.recordings].find { $0.year < 1960 }.order(by: .descending(\.year), .ascending(\.title))
          .limit(10)
          .all
        let expected = songs.filter { $0.object.year < 1960 }.sorted {
          ($1.object.year, $0.object.title, $0.key) < ($0.object.year, $1.object.title, $1.key)
        }
        #expect(found.map(\.key) == expected.prefix(10).map(\.key))
      }
    }

    @Test("A field without a column, and a table that lacks a declared one, say so")
    func undeclared() throws {
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      let error = #expect(throws: PostgresError.self) {
        try remote.read { tx in try tx[.recordings].find { $0.added == Date() }.all }
      }
      #expect(error?.code == .invalidDeclaration && error?.message.contains("added") == true)
      let other = try PostgresDatabase(
        at: target.conninfo, tables: [PostgresTable(.recordings) { $0.column("added", \.added) }])
      let lacking = #expect(throws: PostgresError.self) { try other.read { tx in try tx[.recordings].count } }
      #expect(lacking?.code == .invalidDeclaration)
    }

    @Test("A row that its type does not read is told with collection and key")
    func otherType() throws {
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      try target.run("UPDATE quire_songs SET object = '[1]'")
      let error = #expect(throws: PostgresError.self) { try remote.read { tx in try tx[.recordings].get("a") } }
      #expect(error?.code == .otherType && error?.message.contains("“a” of “songs”") == true)
    }

    @Test("What throws changes nothing, also an error of the server's that was passed over")
    func rollback() throws {
      struct Refusal: Error {}
      #expect(throws: Refusal.self) {
        try remote.write { tx throws in
          try tx[.recordings].set(Self.naima, for: "a")
          throw Refusal()
        }
      }
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "b") }
      let error = #expect(throws: PostgresError.self) {
        try remote.write { tx throws in
          try tx[.recordings].set(Self.naima, for: "c")
          _ = try? tx[.recordings].set(Recording(title: "with \u{0}", year: 1), for: "d")
          _ = try? tx[.recordings].set(Self.naima, for: "e")
        }
      }
      #expect(error?.code == .refused)
      #expect(try remote.read { tx in try tx[.recordings].rows().map(\.key) } == ["b"])
    }

    @Test("Transactions of many threads are as if each were alone")
    func serializable() async throws {
      try await remote.write { tx in try tx[.recordings].set(Recording(title: "counter", year: 0), for: "c") }
      let remote = remote
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<5 {
              try await remote.write { tx throws in
                let count = try tx[.recordings].get("c")?.year ?? 0
                try tx[.recordings].set(Recording(title: "counter", year: count + 1), for: "c")
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let count = try await remote.read { tx in try tx[.recordings].get("c")?.year }
      #expect(count == 20)
    }

    @Test("A transaction that is used behind its end says so, and sends nothing")
    func ended() throws {
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      let (reading, writing) = (try remote.read { $0 }, try remote.write { $0 })
      for body in [
        { _ = try reading[.recordings].get("a") }, { try writing[.recordings].set(Self.naima, for: "b") },
        { _ = try writing[.recordings].remove("a") },
      ] as [() throws -> Void] {
        #expect(postgresCode(body) == .transactionEnded)
      }
      #expect(try remote.read { tx in try tx[.recordings].rows().map(\.key) } == ["a"])
    }

    @Test("Keys and collections that look alike are told apart")
    func lookAlikes() throws {
      let names = ["caf\u{e9}", "cafe\u{301}"]
      try remote.write { tx throws in
        try tx[.recordings].set(names.map { (key: $0, object: Self.naima) })
        for (number, name) in names.enumerated() {
          try tx[RowCollection<Int, NoMetadata>(name)].set(number, for: "k")
        }
      }
      try remote.read { tx throws in
        #expect(try tx[.recordings].count == 2)
        for (number, name) in names.enumerated() {
          #expect(try tx[RowCollection<Int, NoMetadata>(name)].get("k") == number)
        }
      }
    }

    @Test("A connection that is lost between transactions is made anew; in a transaction the loss is told")
    func lostConnection() throws {
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      #expect(try target.endSessions() == 1)
      try remote.write { tx in try tx[.recordings].set(Self.naima, for: "d") }
      #expect(try target.endSessions() == 1)
      #expect(try remote.read { tx in try tx[.recordings].count } == 2)
      let error = #expect(throws: PostgresError.self) {
        try remote.write { tx throws in
          try tx[.recordings].set(Self.naima, for: "b")
          #expect(try target.endSessions() == 1)
          try tx[.recordings].set(Self.naima, for: "c")
        }
      }
      #expect(error?.code == .notReachable)
      #expect(try remote.read { tx in try tx[.recordings].rows().map(\.key) } == ["a", "d"])
    }

    @Test("A mirrored collection is read, is not written, and is when it was adopted")
    func adopting() throws {
      let feed = ChangeFeed("sql")
      let db = try Database.inMemory(options: DatabaseOptions(feeds: [feed]))
      try db.write { tx throws in
        for number in 0..<20 {
          try tx[.recordings].set(Recording(title: "t", year: number, cover: Data([1])), for: "s\(number)")
        }
      }
      let mirror = try PostgresMirror(of: db, feed: feed, to: target.conninfo, tables: [table])
      try mirror.catchUp()
      #expect(try remote.read { tx in try tx[.recordings].find { $0.year >= 18 }.keys } == ["s18", "s19"])
      let error = #expect(throws: PostgresError.self) { try remote.write { tx in try tx[.recordings].remove("s0") } }
      #expect(error?.code == .refused && error?.message.contains("adopt") == true)
      #expect(try remote.adopt(.recordings) && !remote.adopt(.recordings))
      try remote.write { tx throws in
        #expect(try tx[.recordings].update("s1") { $0.year = 99 })
        #expect(try tx[.recordings].remove("s0"))
      }
      #expect(
        try remote.read { tx in try tx[.recordings].get("s1") } == Recording(title: "t", year: 99, cover: Data([1])))
      #expect(try target.value("SELECT raw FROM quire_songs WHERE key = 's1'") == nil)
      // A feeder that begins anew, and should have been told to leave the collection out, writes elsewhere.
      try db.write { tx in try tx[.recordings].set(Recording(title: "late", year: 1), for: "s1") }
      try mirror.catchUp()
      #expect(try remote.read { tx in try tx[.recordings].get("s1")?.year } == 99)
    }

    @Test("A feeder that is at work stops when its collection is adopted, and has changed nothing of it since")
    func adoptingFromAFeeder() async throws {
      let feed = ChangeFeed("sql")
      let db = try Database.inMemory(options: DatabaseOptions(feeds: [feed]))
      try await db.write { tx in try tx[.recordings].set(Self.naima, for: "a") }
      let mirror = try PostgresMirror(of: db, feed: feed, to: target.conninfo, tables: [table])
      let feeding = Task { try await mirror.run() }
      while (try? target.value("SELECT state FROM quire_feed")) != "consistent" {
        try await Task.sleep(for: .milliseconds(5))
      }
      try remote.adopt(.recordings)
      try await db.write { tx in try tx[.recordings].set(Recording(title: "late", year: 1), for: "a") }
      let error = await #expect(throws: PostgresError.self) { try await feeding.value }
      #expect(error?.code == .anotherFeeder)
      let found = try await remote.read { tx in try tx[.recordings].get("a") }
      #expect(found == Self.naima)
    }
  }
#endif
