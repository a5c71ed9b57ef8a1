// Which rows views of what a search finds show, and what of them outlives a rollback and an opening.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Scope of search results views") struct SearchResultsScopeTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
    try Self.registerFullText(database)
    try connection.readWrite { transaction in
      for collection in ["letters", "drafts", "notes"] {
        for number in 1...4 {
          transaction.setObject(
            "the \(collection) of day \(number)", forKey: "\(collection)\(number)", inCollection: collection)
        }
      }
    }
  }

  private static func registerFullText(_ database: YapDatabase) throws {
    let fullText = YapDatabaseFullTextSearch(
      columnNames: ["content"],
      handler: .withObjectBlock { _, dict, _, _, object in dict["content"] = object as? String }, versionTag: "1")
    try #require(database.register(fullText, withName: "fts"))
  }

  /// Rows by their collections.
  private static let grouping = YapDatabaseViewGrouping.withKeyBlock { _, collection, _ in collection }
  private static let sorting = YapDatabaseViewSorting.withKeyBlock { _, _, _, left, _, right in
    left < right ? .orderedAscending : .orderedDescending
  }

  /// Registers the results, of a parent or with an order of their own.
  private static func register(
    _ database: YapDatabase, parent: Bool = false, _ change: (YapDatabaseSearchResultsViewOptions) -> Void
  ) throws -> Bool {
    let options = YapDatabaseSearchResultsViewOptions()
    change(options)
    guard parent else {
      let view = YapDatabaseSearchResultsView(
        fullTextSearchName: "fts", grouping: grouping, sorting: sorting, versionTag: "1", options: options)
      return database.register(view, withName: "results")
    }
    let order = YapDatabaseAutoView(grouping: grouping, sorting: sorting, versionTag: "1")
    try #require(database.register(order, withName: "order"))
    let view = YapDatabaseSearchResultsView(
      fullTextSearchName: "fts", parentViewName: "order", versionTag: "1", options: options)
    return database.register(view, withName: "results")
  }

  private func view(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseSearchResultsViewTransaction {
    try #require(transaction.ext("results") as? YapDatabaseSearchResultsViewTransaction)
  }

  /// The keys of each group.
  private func groups(_ connection: YapDatabaseConnection) throws -> [String: [String]] {
    try connection.read { transaction in
      let view = try view(transaction)
      var groups: [String: [String]] = [:]
      for group in view.allGroups() {
        view.iterateKeys(inGroup: group) { _, key, _, _ in groups[group, default: []].append(key) }
      }
      return groups
    }
  }

  private func search(_ text: String) throws {
    try connection.readWrite { try view($0).performSearch(for: text) }
  }

  private func set(_ text: String, _ key: String, in collection: String) throws {
    try connection.readWrite { $0.setObject(text, forKey: key, inCollection: collection) }
  }

  @Test("Of a parent's groups those that are allowed are shown, also of rows that come later")
  func allowedGroups() throws {
    #expect(
      try Self.register(database, parent: true) {
        $0.allowedGroups = YapWhitelistBlacklist(whitelist: ["notes", "later"])
      })
    try search("day")
    let notes = ["notes1", "notes2", "notes3", "notes4"]
    #expect(try groups(connection) == ["notes": notes])
    try set("another day", "letters5", in: "letters")
    try set("another day", "notes5", in: "notes")
    try set("another day", "a", in: "later")
    #expect(try groups(connection) == ["notes": notes + ["notes5"], "later": ["a"]])
    try search("\"day 3\"")
    #expect(try groups(connection) == ["notes": ["notes3"]])
  }

  @Test("Groups that are no whitelist are refused")
  func blacklistedGroups() throws {
    #expect(
      try !Self.register(database, parent: true) { $0.allowedGroups = YapWhitelistBlacklist(blacklist: ["notes"]) })
  }

  @Test("Rows of the collections that are allowed are shown", arguments: [false, true])
  func allowedCollections(isWhitelist: Bool) throws {
    let allowed: YapWhitelistBlacklist<String> =
      isWhitelist ? .init(whitelist: ["notes", "later"]) : .init(blacklist: ["letters", "drafts"])
    #expect(try Self.register(database) { $0.allowedCollections = allowed })
    try search("day")
    let notes = ["notes1", "notes2", "notes3", "notes4"]
    #expect(try groups(connection) == ["notes": notes])
    try set("another day", "letters5", in: "letters")
    try set("another night", "notes1", in: "notes")
    try set("another day", "a", in: "later")
    #expect(try groups(connection) == ["notes": Array(notes.dropFirst()), "later": ["a"]])
  }

  @Test("A search and changes that are rolled back leave what was shown", arguments: [false, true])
  func rollback(isPersistent: Bool) throws {
    #expect(try Self.register(database) { $0.isPersistent = isPersistent })
    try search("\"day 1\"")
    let before = try groups(connection)
    #expect(before == ["letters": ["letters1"], "drafts": ["drafts1"], "notes": ["notes1"]])
    try connection.readWrite { transaction in
      transaction.setObject("day 1 again", forKey: "notes9", inCollection: "notes")
      transaction.removeObject(forKey: "drafts1", inCollection: "drafts")
      try view(transaction).performSearch(for: "day")
      #expect(try view(transaction).query() == "day")
      #expect(try view(transaction).numberOfItems(inGroup: "notes") == 5)
      transaction.rollback()
    }
    #expect(try groups(connection) == before)
    #expect(try connection.read { try view($0).query() } == "\"day 1\"")
    try set("day 1 again", "notes9", in: "notes")
    #expect(try groups(connection)["notes"] == ["notes1", "notes9"])
  }

  @Test(
    "A view that is stored shows the same after an opening, one that is not begins empty", arguments: [false, true])
  func reopening(isPersistent: Bool) throws {
    func register(_ database: YapDatabase) throws -> Bool {
      try Self.register(database, parent: true) {
        $0.isPersistent = isPersistent
        $0.allowedGroups = YapWhitelistBlacklist(whitelist: ["notes"])
      }
    }
    #expect(try register(database))
    try search("\"day 2\" OR \"day 3\"")
    #expect(try groups(connection) == ["notes": ["notes2", "notes3"]])
    try database.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    try Self.registerFullText(again)
    #expect(try register(again))
    let connection = again.newConnection()
    #expect(try groups(connection) == (isPersistent ? ["notes": ["notes2", "notes3"]] : [:]))
    try connection.readWrite { transaction in
      transaction.setObject("day 3 again", forKey: "notes9", inCollection: "notes")
      if !isPersistent { try view(transaction).performSearch(for: "\"day 2\" OR \"day 3\"") }
    }
    #expect(try groups(connection) == ["notes": ["notes2", "notes3", "notes9"]])
  }
}
