// Views of what a search finds, under their original names: the original's own tests, and what its semantics promise.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Search results views") struct SearchResultsViewTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection
  let other: YapDatabaseConnection

  private static let sentences = [
    "The quick brown fox", "the lazy dog and you", "nothing here", "a cat", "you and the night", "some words",
    "and then none",
  ]

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
    other = database.newConnection()
    let fullText = YapDatabaseFullTextSearch(
      columnNames: ["content"],
      handler: .withObjectBlock { _, dict, _, _, object in dict["content"] = object as? String }, versionTag: "1")
    try #require(database.register(fullText, withName: "fts"))
    try connection.readWrite { transaction in
      for (number, text) in Self.sentences.enumerated() {
        transaction.setObject(text, forKey: "\(number)", inCollection: nil)
      }
    }
  }

  private static let grouping = YapDatabaseViewGrouping.withKeyBlock { _, _, _ in "" }
  private static let sorting = YapDatabaseViewSorting.withKeyBlock { _, _, _, left, _, right in
    (Int(left) ?? 0) < (Int(right) ?? 0) ? .orderedAscending : .orderedDescending
  }

  private func register(parent: Bool, isPersistent: Bool, snippets: Bool) throws {
    let options = YapDatabaseSearchResultsViewOptions()
    options.isPersistent = isPersistent
    if snippets {
      options.snippetOptions = YapDatabaseFullTextSearchSnippetOptions()
      options.snippetOptions?.numberOfTokens = 5
    }
    let view: YapDatabaseSearchResultsView
    if parent {
      let order = YapDatabaseAutoView(grouping: Self.grouping, sorting: Self.sorting, versionTag: "1")
      try #require(database.register(order, withName: "order"))
      view = YapDatabaseSearchResultsView(fullTextSearchName: "fts", parentViewName: "order", options: options)
    } else {
      view = YapDatabaseSearchResultsView(
        fullTextSearchName: "fts", grouping: Self.grouping, sorting: Self.sorting, options: options)
    }
    try #require(database.register(view, withName: "results"))
  }

  private func view(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseSearchResultsViewTransaction {
    try #require(transaction.ext("results") as? YapDatabaseSearchResultsViewTransaction)
  }

  private func keys(_ transaction: YapDatabaseReadTransaction) throws -> [String] {
    var keys: [String] = []
    try view(transaction).iterateKeys(inGroup: "") { _, key, _, _ in keys.append(key) }
    return keys
  }

  @Test(
    "Results follow searches and rows, with snippets if they are wanted", arguments: [true, false], [0, 1, 2, 3])
  func test1(_ parent: Bool, _ settings: Int) throws {
    let (isPersistent, snippets) = (settings & 1 != 0, settings & 2 != 0)
    try register(parent: parent, isPersistent: isPersistent, snippets: snippets)
    func check(_ transaction: YapDatabaseReadTransaction, _ query: String, _ found: [String]) throws {
      #expect(try keys(transaction) == found)
      #expect(try view(transaction).query() == query)
      for key in found {
        #expect(try (view(transaction).snippet(forKey: key, inCollection: nil) != nil) == snippets)
      }
    }
    #expect(try other.read { try keys($0) } == [])
    for (query, found) in [("the", ["0", "1", "4"]), ("the you", ["1", "4"])] {
      try connection.readWrite { transaction in
        try view(transaction).performSearch(for: query)
        try check(transaction, query, found)
      }
      for connection in [connection, other] { try connection.read { try check($0, query, found) } }
    }
    try connection.readWrite { transaction in
      transaction.setObject("the words that you say", forKey: "7", inCollection: nil)
      transaction.setObject("you alone", forKey: "8", inCollection: nil)
    }
    try other.read { try check($0, "the you", ["1", "4", "7"]) }
  }

  @Test("A queue's newest search is shown, and none that was given up") func queue() throws {
    try register(parent: false, isPersistent: false, snippets: false)
    let queue = YapDatabaseSearchQueue()
    queue.enqueueQuery("cat")
    queue.enqueueQuery("the")
    #expect(queue.enqueuedQueries() == ["cat", "the"])
    try connection.readWrite { try view($0).performSearch(with: queue) }
    #expect(try other.read { try keys($0) } == ["0", "1", "4"])
    #expect(queue.enqueuedQueryCount() == 0)
    queue.enqueueQuery("cat")
    queue.abortSearchInProgressAndRollback(false)
    try connection.readWrite { try view($0).performSearch(with: queue) }
    #expect(try other.read { try view($0).query() } == "the")
  }

  @Test("A view is refused whose full text or parent is not registered") func missing() {
    let view = YapDatabaseSearchResultsView(fullTextSearchName: "fts", parentViewName: "nothing")
    #expect(!database.register(view, withName: "results"))
    let other = YapDatabaseSearchResultsView(
      fullTextSearchName: "nothing", grouping: Self.grouping, sorting: Self.sorting)
    #expect(!database.register(other, withName: "results"))
  }

  @Test("The same line may register a view again, and snippets are as they were then") func again() throws {
    let options = YapDatabaseSearchResultsViewOptions()
    options.snippetOptions = YapDatabaseFullTextSearchSnippetOptions()
    func register(_ options: YapDatabaseSearchResultsViewOptions) -> Bool {
      let view = YapDatabaseSearchResultsView(
        fullTextSearchName: "fts", grouping: Self.grouping, sorting: Self.sorting, options: options)
      return database.register(view, withName: "results")
    }
    #expect(register(options))
    #expect(register(options))
    options.snippetOptions?.startMatchText = "["
    #expect(!register(options))
    try connection.readWrite { transaction in
      try view(transaction).performSearch(for: "cat")
      #expect(try view(transaction).snippet(forKey: "3", inCollection: nil) == "a <b>cat</b>")
      #expect(try view(transaction).snippet(forKey: "0", inCollection: nil) == nil)
    }
  }
}
