// The built tool over a file of YapDatabase's: what it makes is read by types, and by YapCompat.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct ImporterToolTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func run(_ source: SampleFile, _ options: String...) throws -> CommandResult {
    let tool = try #require(toolPath("quire-import"))
    let before = try source.state()
    let result = try #require(runProgram(tool, ["yapdatabase", source.path, target] + options))
    #expect(try source.state() == before)
    return result
  }

  @Test func bytesAreReadByYapCompat() throws {
    let result = try run(try YapDatabaseSample.file(folder), "--json")
    #expect(result.status == 0 && result.output.contains(#""rows":210"#), "\(result.output)")
    let db = try YapDatabase(path: target, serializer: nil, deserializer: nil)
    try db.newConnection().read { tx in
      let song = tx.object(forKey: "song-7", inCollection: "songs") as? NSDictionary
      #expect(song?["title"] as? String == "Song 7")
      #expect((tx.metadata(forKey: "song-7", inCollection: "songs") as? NSNumber)?.intValue == 7)
      #expect(tx.object(forKey: "only in the log", inCollection: "songs") as? String == "text")
    }
  }

  private struct Song: Codable, Equatable, Sendable {
    var title: String
  }

  @Test func recordsAreReadByTypes() throws {
    let note = PropertyListValue.archive([
      .string("$null"), .dictionary([("$class", .uid(2)), ("text", .uid(3))]), .type("App.Note"), .string("own"),
    ])
    let insert = "INSERT INTO database2 VALUES (NULL, 'notes', 'n', \(YapDatabaseSample.hex(note)), NULL)"
    let result = try run(try YapDatabaseSample.file(folder, [insert]), "--decode")
    #expect(result.status == 0 && result.output.contains("100 values became records of property lists"))
    let db = try Database(at: target)
    try db.read { tx throws in
      let songs = tx[RowCollection<Song, Int>("songs")]
      #expect(try songs.get("song-7") == Song(title: "Song 7") && songs.metadata("song-7") == 7)
      let books = tx[RowCollection<YapDatabaseSample.Book, NoMetadata>("books")]
      #expect(try books.get("book-42") == YapDatabaseSample.Book(title: "Ж", pages: 42))
      #expect(try tx[RowCollection<String, NoMetadata>("odd")].get("far") == "text")
      let own = try tx.values(in: "notes").row("n")?.object.value
      #expect(own == ["$class": "App.Note", "text": "own"])
      #expect(try tx[RowCollection<Edge, NoMetadata>("quire.import.edges.graph")].get("1")?.name == "of")
    }
    try db.close()
  }

  @Test func anArchiveThatIsDamagedIsTold() throws {
    let bytes = YapDatabaseSample.hex(Data("bplist00 and no more than that".utf8))
    let insert = "INSERT INTO database2 VALUES (NULL, 'notes', 'n', \(bytes), NULL)"
    let sample = try YapDatabaseSample.file(folder, [insert])
    let stopped = try run(sample, "--decode")
    #expect(stopped.status == 1 && stopped.output.contains("“n” of “notes”"), "\(stopped.output)")
    #expect(stopped.output.contains("Without --decode its bytes come over"))
    #expect(!FileManager.default.fileExists(atPath: target))
    #expect(try run(sample).status == 0)
  }
}
