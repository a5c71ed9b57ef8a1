// Full text search under its original names: the original's own tests, and what its semantics promise.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Full text search") struct FullTextSearchTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection
  let other: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
    other = database.newConnection()
  }

  /// Strings by themselves; an empty one is not found.
  private func contents(
    _ options: [String: String]? = nil, ftsVersion: String? = nil
  ) -> YapDatabaseFullTextSearch {
    YapDatabaseFullTextSearch(
      columnNames: ["content"], options: options,
      handler: .withObjectBlock { _, dict, _, _, object in
        guard let text = object as? String, !text.isEmpty else { return }
        dict["content"] = text
      }, ftsVersion: ftsVersion, versionTag: "1")
  }

  private func text(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseFullTextSearchTransaction {
    try #require(transaction.ext("fts") as? YapDatabaseFullTextSearchTransaction)
  }

  private func keys(_ query: String, _ connection: YapDatabaseConnection) throws -> [String] {
    try connection.read { transaction in
      var keys: [String] = []
      let isFound = try text(transaction).iterateKeys(matching: query) { _, key, _ in keys.append(key) }
      #expect(isFound)
      return keys
    }
  }

  private func fill() throws {
    try connection.readWrite { transaction in
      for (number, text) in ["world", "coffee shop", "laptop", "work"].enumerated() {
        transaction.setObject("hello \(text)", forKey: "key\(number + 1)", inCollection: nil)
      }
    }
  }

  private static let queries = ["hello", "coffee", "hello wor*", "quack"]

  @Test("Searches find what the original's find, before and after a change", arguments: ["fts3", "fts4", "fts5"])
  func test(_ version: String) throws {
    #expect(database.register(contents(ftsVersion: version), withName: "fts"))
    try fill()
    for connection in [connection, other] {
      #expect(try Self.queries.map { try keys($0, connection).count } == [4, 1, 2, 0])
    }
    try connection.readWrite { $0.setObject("hello distraction", forKey: "key4", inCollection: nil) }
    for connection in [connection, other] {
      #expect(try Self.queries.map { try keys($0, connection).count } == [4, 1, 1, 0])
    }
  }

  @Test("Snippets are given for each row, marked as the options say") func testSnippet() throws {
    #expect(database.register(contents(), withName: "fts"))
    try fill()
    try other.read { transaction in
      var snippets: [String] = []
      let text = try text(transaction)
      text.iterateKeys(matching: "hello", with: nil) { snippet, _, _, _ in snippets.append(snippet) }
      #expect(snippets.count == 4)
      #expect(snippets.first == "<b>hello</b> world")
      let options = YapDatabaseFullTextSearchSnippetOptions()
      (options.startMatchText, options.endMatchText) = ("[[", "]]")
      (options.columnName, options.numberOfTokens) = ("content", 2)
      snippets = []
      text.iterateKeys(matching: "coffee", with: options) { snippet, _, _, _ in snippets.append(snippet) }
      #expect(snippets == ["hello [[coffee]]…"])
    }
  }

  @Test("Rows that were there before, emptied ones and removed ones") func changes() throws {
    try fill()
    #expect(database.register(contents(), withName: "fts"))
    #expect(try keys("hello", other).count == 4)
    try connection.readWrite { transaction in
      transaction.setObject("", forKey: "key1", inCollection: nil)
      transaction.removeObject(forKey: "key2", inCollection: nil)
      var found: [String] = []
      try text(transaction).iterateRows(matching: "hello") { _, key, object, _, _ in found.append("\(key) \(object)") }
      #expect(found == ["key3 hello laptop", "key4 hello work"])
    }
  }

  @Test("Rows are ranked on fts5 only") func ranking() throws {
    #expect(database.register(contents(ftsVersion: "fts5"), withName: "fts"))
    try fill()
    try other.read { transaction in
      var keys: [String] = []
      let isFound = try text(transaction).iterateBm25OrderedKeys(
        matching: "hello OR laptop", withWeights: [2]
      ) { _, key, _ in keys.append(key) }
      #expect(isFound)
      #expect(keys == ["key3", "key1", "key4", "key2"])
    }
    database.unregisterExtension(withName: "fts")
    #expect(database.register(contents(), withName: "fts"))
    let code = errorCode {
      try other.read { transaction in
        _ = try text(transaction).iterateBm25OrderedKeys(matching: "hello") { _, _, _ in }
      }
    }
    #expect(code == .invalidOption)
  }

  @Test("A search that cannot be read is answered with false") func malformed() throws {
    #expect(database.register(contents(), withName: "fts"))
    try fill()
    let isFound = try other.read { try text($0).iterateKeys(matching: "\"hello") { _, _, _ in } }
    #expect(!isFound)
  }

  @Test("Options choose the tokenizer, and unknown ones are refused") func options() throws {
    #expect(!database.register(contents(["tokenize": "icu de"]), withName: "fts"))
    #expect(!database.register(contents(["content": ""]), withName: "fts"))
    #expect(
      database.register(
        contents(["tokenize": "unicode61 \"remove_diacritics=0\"", "prefix": "2"], ftsVersion: "fts5"),
        withName: "fts"))
    try connection.readWrite { $0.setObject("café", forKey: "key", inCollection: nil) }
    #expect(try keys("café", other).count == 1)
    #expect(try keys("cafe", other).isEmpty)
  }
}
