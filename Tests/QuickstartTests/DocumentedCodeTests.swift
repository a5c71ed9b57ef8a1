// What the README and the first article show is what compiles and runs.

import Foundation
import Quire
import Testing

/// A path for a database, in a folder that goes with the value.
private final class DatabaseFolder {
  private let file: TemporaryFile
  let path: String

  init() throws {
    file = try TemporaryFile("")
    path = file.folder.appendingPathComponent("library.quire").path
  }
}

@Suite struct DocumentedCodeTests {
  /// The lines of the Swift code in a document, without what surrounds them.
  private static func codeLines(_ document: String) throws -> [String] {
    let text = try String(contentsOf: repository.appendingPathComponent(document), encoding: .utf8)
    var lines: [String] = []
    var isCode = false
    for line in text.split(separator: "\n") {
      if line.hasPrefix("```") {
        isCode = line == "```swift"
      } else if isCode {
        lines.append(line.trimmingCharacters(in: .whitespaces))
      }
    }
    return lines
  }

  @Test(
    "Every line of code in the documents is compiled",
    arguments: [
      "README.md", "Sources/Quire/Quire.docc/GettingStarted.md",
    ])
  func documentsCompile(document: String) throws {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("DocumentedCode.swift")
    let text = try String(contentsOf: source, encoding: .utf8)
      .replacingOccurrences(of: "ReadmeCode.", with: "")
      .replacingOccurrences(of: "Database(at: path)", with: "Database(at: \"library.quire\")")
    let compiled = Set(text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    let lines = try Self.codeLines(document)
    #expect(lines.count >= 8)
    for line in lines { #expect(compiled.contains(line), "\(document) has a line that nothing compiles") }
  }

  @Test("The README's code does what it says")
  func readme() throws {
    let folder = try DatabaseFolder()
    #expect(try ReadmeCode.run(folder.path) == "Moby-Dick")
    // On disk it is.
    let db = try Database(at: folder.path)
    #expect(try db.read { tx in tx.collections } == ["books"])
  }

  @Test("The article's code does what it says")
  func article() throws {
    let folder = try DatabaseFolder()
    let db = try ArticleCode.openRelaxed(folder.path)
    try db.write { tx in
      try addSong("Luka", "s2", tx)
      try addSong("Marlene on the Wall", "s3", tx)
    }
    try ArticleCode.write(db)
    #expect(try ArticleCode.read(db) == "Tom's Diner 7 2 2 s2")
    #expect(try db.read { tx in try tx[.songs].get("s2")?.seconds } == 1)
    #expect(try db.read { tx in titles(tx) } == ["Tom's Diner", "Luka"])

    let stale = try ArticleCode.show(db) {
      _ = try db.write { tx in try tx[.songs].update("s1") { song in song.title += "!" } }
    }
    #expect(stale == ("Tom's Diner", true))
    let fresh = try ArticleCode.show(db) {}
    #expect(fresh == ("Tom's Diner!", false))
    try ArticleCode.handle(db, Song(title: "Gypsy", seconds: 244), "s5") { _ in Issue.record("the disk is not full") }
    #expect(try db.read { tx in tx[.songs].count } == 3)
    try db.close()
  }

  @Test("Followers hear of the commits after they asked")
  func follow() async throws {
    let folder = try DatabaseFolder()
    let db = try Database(at: folder.path)
    let writer = Task {
      // The stream begins when it is asked for: one of these comes after that.
      while !Task.isCancelled { try await db.write { tx in try addSong("x", "n", tx) } }
    }
    var heard: [String] = []
    try await ArticleCode.follow(db, limit: 3) { heard.append($0) }
    writer.cancel()
    _ = await writer.result
    #expect(heard.count == 3 && heard.allSatisfy { $0.hasSuffix(" has changed") })
  }

  @Test("Old rows are upgraded as they are read")
  func upgrade() throws {
    let folder = try DatabaseFolder()
    let old = try Database(at: folder.path)
    try old.write { tx in try tx[.oldAlbums].set(AlbumV1(title: "Solitude Standing"), for: "a1") }
    try old.close()
    let new = try Database(at: folder.path)
    let album = try new.read { tx in try tx[.albums].get("a1") }
    #expect(album?.name == "Solitude Standing" && album?.year == nil)
  }
}
