// What the operators' tool shows of views, relationships and feeds.

import Foundation
import Quire
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolObjectTests {
    let library: ToolLibrary

    init() throws { library = try ToolLibrary() }

    private func run(
      _ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation
    ) throws -> ToolResult {
      let all = [arguments[0], library.path] + arguments.dropFirst()
      let result = try #require(try runTool(all), sourceLocation: line)
      #expect(result.status == status, "\(result)", sourceLocation: line)
      return result
    }

    @Test func viewsAreShownAsTheAppSeesThem() throws {
      let all = try run("views").output
      #expect(
        all.contains("songs.byAlbum  version “1”, of “songs”\n          10  a0\n          10  a1\n           9  a2"))
      #expect(all.contains("of the rows of “songs.byAlbum”"))
      let filtered = try run("views", "songs.old", "--json").records
      #expect(filtered[0]["parent"]?.text == "songs.byAlbum" && filtered[0]["rows"] == 5 && filtered.count == 4)
      let db = try library.open()
      try db.register(ToolLibrary.byAlbum)
      let keys = try db.read { tx throws in try tx.view(ToolLibrary.byAlbum).rows(in: "a1").map(\.row.key) }
      try db.close()
      let rows = try run("views", "songs.byAlbum", "--group", "a1", "--json").records
      #expect(rows.map { $0["key"]?.text } == keys && rows.allSatisfy { $0["collection"]?.text == "songs" })
      let some = try run("views", "songs.byAlbum", "--group", "a1", "--offset", "3", "--limit", "2", "--json").records
      #expect(some.map { $0["key"]?.text } == Array(keys[3..<5]) && some[0]["index"] == 3)
      #expect(try run("views", "songs.byAlbum", "--group", "a1", "--offset", "10").output.isEmpty)
      #expect(try run("views", "none", status: 1).errors.contains("no view “none” in \(library.path): it has songs."))
      #expect(try run("views", "songs.old", "--group", "x", status: 1).errors.contains("no group “x”"))
      _ = try run("views", "--group", "x", status: 64)
    }

    @Test func edgesAreShownWithTheirEnds() throws {
      #expect(
        try run("edges").output
          == "song.album  version “”\n          29  album\n          29  cover\n           1  likes\n")
      let from = try run("edges", "song.album", "--from", "songs", "s1").output
      #expect(from.contains("songs/s1 –album→ albums/a1  [deleteSourceIfDestinationDeleted]  derived\n"))
      #expect(from.contains("songs/s1 –cover→ file /covers/a1  derived\n") && from.split(separator: "\n").count == 2)
      let to = try run("edges", "song.album", "--to", "songs", "s1", "--json").records
      #expect(to.count == 1 && to[0]["source"] == ["collection": "albums", "key": "a0"])
      #expect(to[0]["derived"] == false && to[0]["name"] == "likes" && to[0]["rules"] == [])
      #expect(
        try run("edges", "song.album", "--edge", "album", "--limit", "7").output.split(separator: "\n").count == 7)
      #expect(try run("edges", "song.album", "--to-file", "/covers/a2").output.split(separator: "\n").count == 9)
      #expect(try run("edges", "song.album", "--from", "songs", "s99", status: 1).errors.contains("no row “s99”"))
      #expect(try run("edges", "song.album", "--edge", "none", status: 1).errors.contains("no edge “none”"))
      _ = try run("edges", "song.album", "--from", "songs", status: 64)
    }

    /// Rows that have gone while nothing was registered are shown by their numbers.
    @Test func whatIsOutOfDateIsShownAsItStands() throws {
      let db = try library.open()
      try db.write { tx throws in try tx[ToolLibrary.albums].remove("a0") }
      try db.write { tx throws in try tx[ToolLibrary.songs].remove("s0") }
      try db.close()
      #expect(try run("edges").output.contains("out of date"))
      #expect(try run("edges", "song.album").output.contains("which is no more, –"))
      #expect(try run("views", "songs.byAlbum", "--group", "a0").output.contains("which is no more"))
    }

    @Test func changesOfAFeedAreTold() throws {
      let list = try run("feed").output
      #expect(list.hasPrefix("sql  of “songs”, keeping both values\n           2  entries, 2 commits, 31 changes\n"))
      let all = try run("feed", "sql").records
      #expect(all.count == 32 && all[0]["kind"] == "inserted" && all[0]["metadata"] == 0)
      #expect(all[0]["object"]?["album"] == "a0")
      #expect(all[30]["kind"] == "removed" && all[30]["key"] == "s29" && all[30]["old object"]?["year"] == 1979)
      let cursor = try #require(all[31]["cursor"]?.text)
      #expect(try run("feed", "sql", "--from", cursor).records == [["cursor": .text(cursor)]])
      let first = try run("feed", "sql", "--limit", "1").records
      let middle = try #require(first.last?["cursor"]?.text)
      #expect(first.count == 31)
      #expect(try run("feed", "sql", "--from", "\"\(middle)\"").records == Array(all[30...]))
      #expect(try run("feed", "none", status: 1).errors.contains("no feed “none” in \(library.path): it has sql."))
      _ = try run("feed", "sql", "--from", "00", status: 64)
    }

    @Test func cursorsOfOtherLivesAreRefused() throws {
      let cursor = try #require(try run("feed", "sql").records.last?["cursor"]?.text)
      let other = try ToolLibrary()
      let foreign = try #require(try runTool(["feed", other.path, "sql", "--from", cursor]))
      #expect(foreign.status == 1 && foreign.errors.contains("cursorForeign") && foreign.output.isEmpty)
      let copy = library.folder.url.appendingPathComponent("copy").path
      _ = try run("backup", copy)
      #expect(try runTool(["feed", copy])?.output.contains("begins anew") == true)
      let backup = try #require(try runTool(["feed", copy, "sql"]))
      #expect(backup.status == 1 && backup.errors.contains("feedNotFound") && backup.output.isEmpty)
    }

    /// What is committed while somebody follows is told, also after the app has had the file for itself.
    @Test func aFollowerHearsWhatComes() async throws {
      let tool = try #require(toolPath("quiredb"))
      let path = library.path
      async let followed = runProgram(
        "/usr/bin/timeout", ["30", tool, "feed", path, "sql", "--follow", "--limit", "32"])
      try await Task.sleep(for: .milliseconds(300))
      try await removeSong()
      let lines = try #require(await followed).output.split(separator: "\n")
      let changes = lines.filter { $0.hasPrefix(#"{"csn":"#) }
      #expect(changes.count == 32, "\(lines.suffix(3))")
      #expect(changes.last?.contains(#""kind":"removed","collection":"songs","key":"s3""#) == true)
      #expect(lines.last?.hasPrefix(#"{"cursor":""#) == true)
    }

    /// Removes a song, as soon as nobody reads the file.
    private func removeSong() async throws {
      while true {
        do {
          let db = try library.open()
          try await db.write { tx throws in try tx[ToolLibrary.songs].remove("s3") }
          return try db.close()
        } catch let error as DatabaseError where error.code == .alreadyOpen {
          try await Task.sleep(for: .milliseconds(50))
        }
      }
    }
  }
#endif
