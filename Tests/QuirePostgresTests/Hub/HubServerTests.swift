// The same with a hub in PostgreSQL.

#if Postgres
  import Foundation
  import QuireDatabase
  import QuireTesting
  import Testing

  @testable import QuirePostgres

  @Suite(.enabled(if: TestServer.isInstalled, "PostgreSQL 15 is not installed.")) struct HubServerTests {
    @Test("Members come to the same rows by way of PostgreSQL, however often answers are lost", arguments: 1...4)
    func histories(seed: Int) throws {
      let info = try TestTarget().conninfo
      let name = UUID().uuidString
      try HubHistory(UInt64(seed), members: 3, .full) { PostgresHubServer(info, hub: name) }.run(
        steps: 60, putsBack: false)
    }

    @Test("Rows that somebody has written by hand are passed over, and what PostgreSQL refuses is told as that")
    func foreignHands() throws {
      let target = try TestTarget()
      func member(_ origin: String, _ info: String? = nil) throws -> (Database, PostgresHub) {
        let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
        return (db, try PostgresHub(db, over: ["notes"], as: origin, at: info ?? target.conninfo) { _ in .mine })
      }
      let ((a, hubA), (b, hubB)) = (try member("a"), try member("b"))
      try a.write { tx throws in for key in ["x", "y", "z"] { try tx[.notes].set(Note(text: key), for: key) } }
      try hubA.synchronize()
      try target.run("UPDATE quire_hub_row SET key = '\\xff80' WHERE key = 'x'")
      try target.run("UPDATE quire_hub_row SET marks = '\\x01' WHERE key = 'y'")
      #expect(try hubB.synchronize() == HubProgress(applied: 1, unusable: 2))
      #expect(try b.read { tx in tx[.notes].map(\.key) } == ["z"])
      #expect(try hubB.synchronize() == HubProgress())
      let wrong = target.conninfo.replacing("user=quire", with: "user=nobody_at_all")
      let error = #expect(throws: HubError.self) { try member("c", wrong).1.synchronize() }
      #expect(error?.code == .refused && (error?.cause as? PostgresError)?.sqlState == "28000")
      try target.run("ALTER TABLE quire_hub_row RENAME COLUMN marks TO other")
      try b.write { tx in try tx[.notes].set(Note(text: "new"), for: "n") }
      #expect(throws: HubError.self) { try hubB.synchronize() }
      try target.run("ALTER TABLE quire_hub_row RENAME COLUMN other TO marks")
      #expect(try hubB.synchronize().pushed == 1)
    }

    @Test("Rows come to the others by way of PostgreSQL, and refused ones are told of")
    func sharing() throws {
      let info = try TestTarget().conninfo
      let name = UUID().uuidString
      func member(_ origin: String) throws -> (Database, PostgresHub) {
        let db = try Database.inMemory(options: DatabaseOptions(feeds: [PostgresHub.feed(over: ["notes"])]))
        return (db, try PostgresHub(db, over: ["notes"], as: origin, at: info, hub: name) { _ in .mine })
      }
      let ((a, hubA), (b, hubB)) = (try member("a"), try member("b"))
      try a.write { tx throws in
        for number in 0..<2500 { try tx[.notes].set(Note(text: "text \(number)"), for: "n\u{0}\(number)") }
      }
      #expect(try hubA.synchronize() == HubProgress(pushed: 2500))
      #expect(try hubB.synchronize() == HubProgress(applied: 2500))
      try a.write { tx in try tx[.notes].set(Note(text: "of a"), for: "n\u{0}7") }
      try b.write { tx throws in
        try tx[.notes].set(Note(text: "of b\u{0}"), for: "n\u{0}7")
        try tx[.notes].remove("n\u{0}8")
      }
      #expect(try hubA.synchronize() == HubProgress(pushed: 1))
      let progress = try hubB.synchronize()
      #expect(progress.resolved == 1 && progress.pushed == 2)
      #expect(try hubA.synchronize().applied == 2)
      let rows = try a.read { tx in Set(tx[.notes].map(\.object)) }
      #expect(try rows == b.read { tx in Set(tx[.notes].map(\.object)) } && rows.count == 2499)
      #expect(rows.contains(Note(text: "of b\u{0}")))
    }
  }
#endif
