// Versions of rows in PostgreSQL: none is given twice under one key.

#if Postgres
  import Foundation
  import QuireDatabase
  import Testing

  @testable import QuirePostgres

  @Suite(.enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed.")) struct VersionTests {
    let target: TestTarget
    let remote: PostgresDatabase

    init() throws {
      target = try TestTarget()
      remote = try PostgresDatabase(at: target.conninfo)
    }

    private func set(_ year: Int, _ key: String = "a") throws -> Int64 {
      try remote.write { tx in try tx[.songs].set(Song(title: "t", year: year), for: key) }
    }

    @Test("A row that was removed and stored again is not taken for the old one by who has read that")
    func removedAndStoredAgain() throws {
      let remove: [(PostgresWriteTransaction) throws -> Void] = [
        { tx in try tx[.songs].remove("a") }, { tx in try tx[.songs].removeAll() },
        { tx in
          let version = try tx[.songs].row("a")?.version ?? 0
          #expect(try tx[.songs].remove("a", ifVersion: version))
        },
      ]
      for body in remove {
        let old = try set(1)
        try remote.write { tx in try body(tx) }
        let new = try set(2)
        try remote.write { tx throws in
          #expect(try tx[.songs].set(Song(title: "stale", year: 3), for: "a", ifVersion: old) == nil)
          #expect(try !tx[.songs].remove("a", ifVersion: old))
          #expect(try tx[.songs].row("a")?.version == new && tx[.songs].get("a")?.year == 2)
          try tx[.songs].remove("a")
        }
      }
    }

    private func version(_ tx: PostgresWriteTransaction) throws -> Int64 {
      try #require(try tx[.songs].row("a")).version
    }

    @Test("Nor is it within one transaction, after insertions, after many changes, and by another client")
    func neverTwice() throws {
      var seen: Set<Int64> = []
      for round in 0..<20 {
        let client = try PostgresDatabase(at: target.conninfo)
        try client.write { tx throws in
          for change in 0..<5 {
            #expect(try tx[.songs].insert(Song(title: "t", year: round), for: "a"))
            #expect(seen.insert(try version(tx)).inserted)
            for _ in 0..<change {
              #expect(try seen.insert(tx[.songs].set(Song(title: "t", year: change), for: "a")).inserted)
            }
            try tx[.songs].remove("a")
            try tx[.songs].set([("a", Song(title: "many", year: 1)), ("b", Song(title: "many", year: 1))])
            #expect(seen.insert(try version(tx)).inserted)
            try tx[.songs].removeAll()
          }
        }
      }
      #expect(seen.count == 20 * (10 + 10))
    }

    @Test("Versions are whole in a JSON number, and grow with each change")
    func numbers() throws {
      let first = try set(1)
      #expect(first > 0 && first < 1 << 53)
      #expect(try set(2) > first)
    }
  }
#endif
