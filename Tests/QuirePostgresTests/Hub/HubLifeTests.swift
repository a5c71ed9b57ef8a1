// What apps do with their database while it takes part in a hub.

#if Postgres
  import QuireTesting
  import Synchronization
  import Testing

  @testable import QuireDatabase
  @testable import QuirePostgres

  @Suite struct HubLifeTests {
    private static let options = DatabaseOptions(
      durability: .relaxed, maintainsWhenIdle: false, feeds: [PostgresHub.feed(over: ["notes"])])

    /// Waits until a database has a note.
    private func becomes(_ text: String, _ key: String, _ db: Database) async throws {
      for _ in 0..<1000 {
        if try await db.read({ tx in try tx[.notes].get(key)?.text }) == text { return }
        try await Task.sleep(for: .milliseconds(5))
      }
      Issue.record("\(key) does not become \(text)")
    }

    @Test("Who follows a hub waits while its database is suspended, goes on after that, and ends when it is closed")
    func suspended() async throws {
      let (server, folder) = (FakeHub(), try TestFolder())
      let db = try await Database.open(at: folder.path, options: Self.options)
      let other = try Database.inMemory(options: Self.options)
      func hub(_ db: Database, _ name: String) throws -> PostgresHub {
        try PostgresHub(db, over: ["notes"], as: name, server: server.connection(), rule: HubHistory.rule)
      }
      let (mine, theirs) = (try hub(db, "a"), try hub(other, "b"))
      let hasEnded = Atomic(false)
      let run = Task {
        defer { hasEnded.store(true, ordering: .relaxed) }
        try await mine.run(every: .milliseconds(5))
      }
      for round in 1...3 {
        try await db.suspend()
        try await other.write { tx in try tx[.notes].set(Note(text: "\(round)"), for: "theirs") }
        try theirs.synchronize()
        try await Task.sleep(for: .milliseconds(50))
        let isOver = hasEnded.load(ordering: .relaxed)
        #expect(!isOver)
        try await db.resume()
        try await db.write { tx in try tx[.notes].set(Note(text: "\(round)"), for: "mine") }
        try await becomes("\(round)", "theirs", db)
        for _ in 0..<1000 where try await other.read({ tx in try tx[.notes].get("mine")?.text }) != "\(round)" {
          try theirs.synchronize()
          try await Task.sleep(for: .milliseconds(5))
        }
        #expect(try await other.read { tx in try tx[.notes].get("mine")?.text } == "\(round)")
      }
      try await db.suspend()
      try db.close()
      try await run.value
    }

    @Test(
      "A collection that is renamed here is not removed from the hub", arguments: [["notes"], ["notes", "texts"]])
    func renamed(shared: [String]) throws {
      let (server, folder) = (FakeHub(), try TestFolder())
      func options(_ renamed: [String: String] = [:]) -> DatabaseOptions {
        DatabaseOptions(
          durability: .relaxed, maintainsWhenIdle: false, renamedCollections: renamed,
          feeds: [PostgresHub.feed(over: shared)])
      }
      func hub(_ db: Database, _ name: String) throws -> PostgresHub {
        try PostgresHub(db, over: shared, as: name, server: server.connection(), rule: HubHistory.rule)
      }
      func texts(_ db: Database, _ name: String) throws -> [String: String] {
        try db.read { tx in
          let rows = RowCollection<Note, NoMetadata>(name)
          return Dictionary(uniqueKeysWithValues: tx[rows].map { ($0.key, $0.object.text) })
        }
      }
      let all = Dictionary(uniqueKeysWithValues: (1...9).map { ("n\($0)", "\($0)") })
      let other = try Database.inMemory(options: options())
      let theirs = try hub(other, "b")
      do {
        let db = try folder.open(options())
        try db.write { tx throws in for (key, text) in all { try tx[.notes].set(Note(text: text), for: key) } }
        try hub(db, "a").synchronize()
        try theirs.synchronize()
        #expect(try texts(other, "notes") == all)
        try db.close()
      }
      let db = try folder.open(options(["notes": "texts"]))
      let mine = try hub(db, "a")
      for _ in 0..<3 {
        try mine.synchronize()
        try theirs.synchronize()
      }
      #expect(try texts(db, "texts") == all)
      #expect(try texts(other, "notes") == all)
      #expect(try texts(db, "notes") == all)
      #expect(try texts(other, "texts") == (shared.contains("texts") ? all : [:]))
      // A change there still comes here.
      try other.write { tx throws in try tx[.notes].set(Note(text: "new"), for: "new") }
      try theirs.synchronize()
      try mine.synchronize()
      #expect(try texts(db, "notes")["new"] == "new")
      try db.close()
    }
  }
#endif
