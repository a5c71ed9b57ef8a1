// Full texts of rows of many collections.

import Foundation
import QuireDatabase
import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Full texts of many collections") struct FamilyTextTests {
  private let folder: TestFolder
  private let database: Database
  private let words = FamilyText("words", over: .all, tokenizer: .words, fields: ["content"]) { change in
    guard change.collection != "words" else { return nil }
    let text = try change.object(in: RowCollection<String, NoMetadata>(change.collection))
    return text.map { $0.isEmpty ? nil : [$0] } ?? nil
  }

  init() throws {
    folder = try TestFolder()
    database = try Database(
      at: folder.url.appendingPathComponent("test.quire").path, options: .init(durability: .relaxed))
  }

  private func store(_ texts: KeyValuePairs<String, String>, in collection: String = "a") throws {
    try database.write { tx in
      for (key, text) in texts { try tx[RowCollection<String, NoMetadata>(collection)].set(text, for: key) }
    }
  }

  private func count(_ text: String) throws -> Int {
    try database.read { try $0.access(to: words).count(matching: SearchExpression(text)) }
  }

  private let greetings: KeyValuePairs = [
    "key1": "hello world", "key2": "hello coffee shop", "key3": "hello laptop", "key4": "hello work",
  ]

  @Test("Rows are found in all collections, built or changed") func spansCollections() throws {
    try store(greetings)
    try database.register(words)
    try store(["key1": "hello wordy world"], in: "b")
    #expect(try count("hello") == 5)
    #expect(try count("hello wor*") == 3)
    #expect(try count("* NOT hello") == 0)
  }

  @Test("Changed, emptied and removed rows are found by their new words") func changes() throws {
    try database.register(words)
    try store(greetings)
    try store(["key4": "hello distraction", "key3": ""])
    try database.write { tx in
      let rows = tx[RowCollection<String, NoMetadata>("a")]
      try rows.remove("key2")
      #expect(try tx.access(to: words).reader.count(matching: SearchExpression("coffee")) == 0)
    }
    #expect(try count("hello") == 2)
    #expect(try count("work") == 0)
    #expect(try count("distraction") == 1)
  }

  @Test("A cleared collection is found no more, and others are") func clearing() throws {
    try database.register(words)
    try store(greetings)
    try store(["key1": "hello world"], in: "b")
    try database.write { tx in try tx[RowCollection<String, NoMetadata>("a")].removeAll() }
    #expect(try count("hello") == 1)
  }

  @Test("Snippets are of the stored texts") func snippets() throws {
    try database.register(words)
    try store(greetings)
    try database.read { tx in
      let reader = try tx.access(to: words)
      let coffee = try SearchExpression("coffee")
      let row = try #require(try reader.rowIDs(matching: coffee).first)
      let snippets = try reader.snippets(matching: coffee, of: "content", in: row, tokens: 2)
      #expect(snippets?.marked("[[", "]]") == "hello [[coffee]]…")
    }
  }

  @Test("A rare word scores above a frequent one") func scores() throws {
    try database.register(words)
    try store(greetings)
    try database.read { tx in
      let scores = try tx.access(to: words).scores(matching: SearchExpression("hello OR coffee"))
      #expect(scores.count == 4)
      let coffee = try tx.access(to: words).rowIDs(matching: SearchExpression("coffee"))
      #expect(scores.first?.rowID == coffee.first)
    }
  }
}
