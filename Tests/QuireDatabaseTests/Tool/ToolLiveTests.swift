// The operators' tool on a database that an app has open, and writes.

import Foundation
import Quire
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolLiveTests {
    private let library: ToolLibrary
    private let db: Database
    private static let counts = RowCollection<Int, NoMetadata>("counts")

    init() throws {
      library = try ToolLibrary()
      db = try library.open()
      try db.register(ToolLibrary.byAlbum)
      try db.register(ToolLibrary.old)
      try db.register(ToolLibrary.albumOf)
      try db.register(ToolLibrary.indexes)
      try Self.fill(db, 0)
    }

    /// All rows have the same number: half of a commit would be seen.
    private static func fill(_ db: Database, _ number: Int) throws {
      try db.write { tx throws in for key in 0..<50 { try tx[counts].set(number, for: "\(key)") } }
    }

    private func run(
      _ arguments: [String], status: Int32 = 0, at line: SourceLocation = #_sourceLocation
    ) throws -> ToolResult {
      let result = try #require(try runTool(arguments), "quiredb does not run", sourceLocation: line)
      #expect(result.status == status, "\(result)", sourceLocation: line)
      return result
    }

    @Test func commandsReadWhatTheAppHolds() throws {
      let control = try db.openControl()
      let path = library.path
      let commands: [(words: [String], says: String)] = [
        (["collections", path], "songs"), (["count", path, "songs"], "29"), (["get", path, "songs", "s7"], "Song 77"),
        (["scan", path, "songs", "--limit", "3"], "s1"), (["extensions", path], "songs.byAlbum"),
        (["views", path], "songs.byAlbum"), (["edges", path], "album"), (["feed", path], "sql"),
        (["feed", path, "sql"], "cursor"), (["indexes", path, "--pages"], "year"),
        (["plan", path, "songs", "year = 1955"], "year"), (["stats", path], "quire.rows"),
        (["check", path], "no defects"),
      ]
      for (words, says) in commands {
        let result = try run(words)
        #expect(result.output.contains(says), "\(words): \(result)")
        #expect(result.errors.contains("is open in process \(getpid())"), "\(words): \(result.errors)")
      }
      #expect(try run(["count", path, "songs", "--control", control.path]).output == "29\n")
      try Self.fill(db, 1)
      let commit = db.statistics.publishedCSN.rawValue
      let before = db.statistics.checkpoints
      #expect(try run(["checkpoint", path]).output.contains("commit \(commit) is in the data file"))
      #expect(db.statistics.checkpoints == before + 1)
      #expect(try run(["info", path]).output.contains("  commit        \(commit)\n"))
      let record = try #require(try run(["info", path, "--json"]).records.first)
      #expect(record["app"]?["commit"]?.integer == Int128(commit))
      _ = try run(["compact", path])
      control.close()
      try db.close()
      // Nobody has it open: no word about that.
      #expect(try run(["count", path, "songs"]).errors.isEmpty)
    }

    @Test func exportsAndCopiesAreOfOneCommit() throws {
      let control = try db.openControl()
      let writer = Writer()
      writer.start { [db] number in
        try Self.fill(db, number)
        if number % 10 == 0 { try db.checkpoint() }
      }
      for round in 0..<3 {
        let lines = try run(["export", library.path, "counts"]).records
        let numbers = Set(lines.compactMap { $0["object"]?.integer })
        #expect(numbers.count == 1 && lines.last?["rows"]?.integer == 50, "\(numbers)")
        let copy = library.folder.url.appendingPathComponent("copy \(round)").path
        _ = try run(["backup", library.path, copy])
        let copied = try Database(at: copy, options: Database.Options(isReadOnly: true))
        let found = try copied.read { tx throws in Set(tx[Self.counts].rows.map(\.object)) }
        #expect(found.count == 1)
        try copied.verify()
        try copied.close()
      }
      #expect(writer.stop() > 0)
      control.close()
      try db.close()
    }

    /// The app lets go before the tool is done: what it has read does not count, and it says so.
    @Test func whatIsNotHeldToTheEndDoesNotCount() throws {
      let control = try db.openControl(options: .init(holdLimit: .microseconds(1)))
      let export = try run(["export", library.path], status: 1)
      #expect(!export.output.contains("{\"rows\""), "\(export.output)")
      #expect(export.errors.contains("does not count"), "\(export.errors)")
      let copy = library.folder.url.appendingPathComponent("copy").path
      #expect(try run(["backup", library.path, copy], status: 1).errors.contains("does not count"))
      #expect(!library.folder.hasFile("copy"))
      #expect(try run(["count", library.path, "songs"], status: 1).errors.contains("does not count"))
      control.close()
      try db.close()
    }

    @Test func withoutASocketTheToolSaysWhatHelps() throws {
      let result = try run(["count", library.path, "songs"], status: 1)
      #expect(result.errors.contains("openControl()") && result.errors.contains("process \(getpid())"))
      let wrong = try run(["count", library.path, "songs", "--control", "/nowhere"], status: 1)
      #expect(wrong.errors.contains("/nowhere"))
      try db.close()
    }

    @Test func defectsOfALiveDatabaseAreTold() throws {
      let notes = RowCollection<[String: Int], NoMetadata>("notes", coder: .json)
      try db.write { tx throws in try tx[notes].set(["n": 1], encoded: [UInt8(ascii: "{"), 1], for: "bad") }
      let control = try db.openControl()
      let result = try run(["check", library.path], status: 1)
      #expect(result.output.contains("collection “notes”, key “bad”"))
      control.close()
      try db.close()
    }
  }
#endif
