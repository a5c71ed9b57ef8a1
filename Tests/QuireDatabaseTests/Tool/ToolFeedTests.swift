// What the operators' tool tells of feeds that lack their beginnings.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolFeedTests {
    private let folder: TestFolder
    private static let rows = RowCollection<String, NoMetadata>("a")

    init() throws { folder = try TestFolder() }

    private func run(
      _ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation
    ) throws -> ToolResult {
      let all = ["feed", folder.path] + arguments
      let result = try #require(try runTool(all), "quiredb does not run", sourceLocation: line)
      #expect(result.status == status, "\(result)", sourceLocation: line)
      return result
    }

    private func open(_ feeds: [ChangeFeed]) throws -> Database {
      try folder.open(Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds))
    }

    private func write(_ db: Database, _ numbers: Range<Int>) throws {
      for number in numbers { try db.write { tx throws in try tx[Self.rows].set("text", for: "key \(number)") } }
    }

    @Test func aFeedWhoseBeginningHasExpiredBeginsWithTheOldestThereIs() throws {
      let small = ChangeFeed("small", retention: .init(bytes: 64 << 10))
      let db = try open([small])
      let early = try db.newestCursor(of: small)
      try write(db, 0..<2_000)
      let status = try db.status(of: small)
      try db.close()
      let result = try run("small")
      #expect(try result.records.count == status.kept.changes + 1)
      #expect(try result.records.first?["key"]?.text == "key \(2_000 - status.kept.changes)")
      #expect(try result.records.last?["cursor"]?.text == status.newest.description)
      #expect(result.errors.contains("the feed “small” tells nothing of what was up to \(status.oldest.csn)"))
      // A cursor that has expired is one, and the oldest is none that needs a word.
      let refused = try run("small", "--from", early.description, status: 1)
      #expect(refused.errors.contains("cursorExpired") && refused.output.isEmpty)
      let oldest = try run("small", "--from", status.oldest.description)
      #expect(oldest.output == result.output && oldest.errors.isEmpty)
    }

    @Test func aFeedThatBeganWhenThereWereRowsSaysSo() throws {
      var db = try open([])
      try write(db, 0..<2)
      try db.close()
      db = try open([ChangeFeed("late"), ChangeFeed("other", over: .only(["b"]))])
      try write(db, 2..<3)
      try db.close()
      let late = try run("late")
      #expect(try late.records.map { $0["key"]?.text ?? "" } == ["key 2", ""])
      #expect(late.errors.contains("the feed “late” tells nothing of what was up to CSN "))
      #expect(try run("other").errors.isEmpty && run().errors.isEmpty)
    }
  }
#endif
