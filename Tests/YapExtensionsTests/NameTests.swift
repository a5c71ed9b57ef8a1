// What names mean in files that import everything.

import Foundation
import Quire
import Testing
import YapCompat
import YapExtensions

/// One type of each kind of item, and one with Swift's identity.
private struct Book: Quire.Persistable {
  static let collection = RowCollection<Book, NoMetadata>("books")
  var id: String
}

private struct Page: YapExtensions.Persistable, Codable, Swift.Identifiable {
  static let collection = "pages"
  var identifier: Int
  var id: Int { identifier }
}

/// Unqualified, it is the one of the imported module rather than of the standard library.
private struct Line: Identifiable {
  let identifier: Identifier
}

@Suite struct NameTests {
  @Test("Both kinds of items live in one database") func beside() throws {
    let fixture = try Fixture()
    fixture.database.register(Page.self)
    let db = fixture.database.quire
    try Book(id: "b1").save(in: db)
    try Page(identifier: 7).write(fixture.connection)
    #expect(try Book.find("b1", in: db)?.id == "b1")
    #expect(try Page.read(fixture.connection).byKey("7")?.id == 7)
    #expect(Line(identifier: "l1").identifier == "l1")
  }

  @Test("Blocks go to the connection's own calls, which note where they are made") func ownCalls() throws {
    let fixture = try Fixture()
    let count = try fixture.connection.read { transaction in transaction.numberOfCollections() }
    #expect(count == 0)
  }

  @Test("The guide names every public verb") func guide() throws {
    let top = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
    let guide = try String(
      contentsOf: top.appendingPathComponent("Sources/Quire/Quire.docc/ComingFromYapDatabaseExtensions.md"),
      encoding: .utf8)
    let sources = top.appendingPathComponent("Sources/YapExtensions")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
    var names: Set<String> = []
    for path in paths {
      let text = try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
      for line in text.split(separator: "\n") {
        let words = line.split { !$0.isLetter }
        let isCode = !line.contains("//") && words.contains("public")
        let keyword = words.firstIndex { ["func", "var", "protocol", "struct"].contains($0) }
        if isCode, let keyword { names.insert(String(words[keyword + 1])) }
      }
    }
    #expect(names.count > 30)
    for name in names.subtracting(["description", "left", "none", "object", "value", "codable", "rowKey"]) {
      #expect(guide.contains("`\(name)") || guide.contains(".\(name)"), "the guide does not name \(name)")
    }
  }
}
