// The listings of “When one machine is not enough”, `PostgresMirror` and `PostgresTable`.

#if Postgres
  import Quire
  import QuirePostgres

  /// What the rows hold.
  private struct Song: Codable, Sendable {
    var title: String
    var year: Int
  }

  extension RowCollection where Object == Song, Metadata == NoMetadata {
    fileprivate static var songs: Self { .init("songs") }
  }

  enum PostgresListings {
    static func catchUp() throws {
      let feed = ChangeFeed("sql")
      let db = try Database(at: "library.quire", options: .init(feeds: [feed]))
      let mirror = try PostgresMirror(
        of: db, feed: feed, to: "host=/run/postgresql dbname=library",
        tables: [PostgresTable(.songs) { $0.column("title", \.title) }])
      try mirror.catchUp()
    }

    static func table() -> PostgresTable {
      PostgresTable(.songs) {
        $0.column("title", \.title)
        $0.column("year", \.year)
        $0.index("year", "title")
      }
    }

    static func remote() throws {
      let remote = try PostgresDatabase(
        at: "host=db1,db2 dbname=music target_session_attrs=read-write",
        tables: [PostgresTable(.songs) { $0.column("year", \.year) }])
      let song = try remote.read { tx in try tx[.songs].get("s1") }
      let old = try remote.read { tx in
        try tx[.songs].find { $0.year < 1970 }.order(by: .descending(\.year)).limit(10).objects
      }
      print(song?.title ?? "", old.count)
      try remote.adopt(.songs)
      try remote.write { tx in
        try tx[.songs].update("s1") { song in song.year = 1959 }
      }
    }

    static func remoteInOneLine() throws {
      let remote = try PostgresDatabase(at: "dbname=app", tables: [PostgresTable(.songs) { $0.column("year", \.year) }])
      let song = try remote.read { tx in try tx[.songs].get("s1") }
      if let song { try remote.write { tx in try tx[.songs].set(song, for: "s2") } }
    }

    static func find(_ tx: PostgresReadTransaction) throws {
      let found = try tx[.songs].find { $0.year == 1990 && $0.title >= "N" }.order(by: .descending(\.year)).limit(10)
      for row in try found.all { print(row.key, row.object.title) }
    }

    static func hub(_ file: String) throws {
      let feed = PostgresHub.feed(over: ["notes"])
      let db = try Database(at: file, options: .init(feeds: [feed]))
      let hub = try PostgresHub(db, over: ["notes"], as: "laptop", at: "host=hub.example dbname=notes") { _ in .theirs }
      try hub.synchronize()
    }

    static func rule() -> HubRule {
      let rule: HubRule = { conflict in
        if conflict.mine == nil { return .theirs }
        return conflict.theirs == nil ? .mine : .undecided
      }
      return rule
    }

    static func follow(_ db: Database, _ feed: ChangeFeed) async throws {
      let mirror = try PostgresMirror(
        of: db, feed: feed, to: "host=db1,db2 dbname=music target_session_attrs=read-write",
        tables: [PostgresTable(.songs) { $0.column("year", \.year) }])
      try await mirror.run()
    }
  }
#endif
