// The settings of views: what each of them does, for each kind of view.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Settings of views") struct ViewOptionTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
  }

  /// All rows in one group, sorted by their keys.
  private func makeParent(_ options: YapDatabaseViewOptions = YapDatabaseViewOptions()) -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withKeyBlock { _, _, _ in "all" },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1",
      options: options)
  }

  /// The rows of a view whose keys do not begin with "x"; `asked` is told of each that the block was called for.
  private func makeFiltered(
    _ options: YapDatabaseViewOptions, of parent: String = "parent", asked: Recorder? = nil
  ) -> YapDatabaseFilteredView {
    YapDatabaseFilteredView(
      parentViewName: parent,
      filtering: .withObjectBlock { _, _, collection, key, _ in
        asked?.append(collection)
        return !key.hasPrefix("x")
      }, versionTag: "1", options: options)
  }

  private func options(
    _ allowed: YapWhitelistBlacklist<String>? = nil, skips: Bool = false
  ) -> YapDatabaseViewOptions {
    let options = YapDatabaseViewOptions()
    (options.allowedCollections, options.skipInitialViewPopulation) = (allowed, skips)
    return options
  }

  private func store(_ keys: [String], in collection: String, _ database: YapDatabase? = nil) throws {
    try (database?.newConnection() ?? connection).readWrite { transaction in
      for key in keys { transaction.setObject("object", forKey: key, inCollection: collection) }
    }
  }

  /// The keys that a view shows, with those of its group's rows in their order.
  private func keys(_ name: String, _ database: YapDatabase? = nil) throws -> [String] {
    try (database?.newConnection() ?? connection).read { transaction in
      let view = try #require(transaction.ext(name) as? YapDatabaseViewTransaction)
      var keys: [String] = []
      view.iterateGroups { group, _ in view.iterateKeys(inGroup: group) { _, key, _, _ in keys.append(key) } }
      return keys
    }
  }

  private func reopen(_ database: YapDatabase) throws -> YapDatabase {
    try database.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    return again
  }

  // MARK: Collections

  @Test("A filtered view shows no rows of other collections, and does not ask about them", arguments: [true, false])
  func collectionsOfAFilteredView(isWhitelist: Bool) throws {
    try store(["a1", "x1"], in: "left")
    try store(["b1"], in: "right")
    #expect(database.register(makeParent(), withName: "parent"))
    let asked = Recorder()
    let allowed: YapWhitelistBlacklist<String> =
      isWhitelist ? YapWhitelistBlacklist(whitelist: ["left"]) : YapWhitelistBlacklist(blacklist: ["right"])
    #expect(database.register(makeFiltered(options(allowed), asked: asked), withName: "child"))
    #expect(try keys("parent") == ["a1", "b1", "x1"] && keys("child") == ["a1"])
    try store(["a2"], in: "left")
    try store(["b1", "b2"], in: "right")
    #expect(try keys("child") == ["a1", "a2"])
    #expect(Set(asked.values) == ["left"])
    // Another filter, another grouping of the parent, a view of this one.
    #expect(database.register(makeFiltered(options(), of: "child"), withName: "grandchild"))
    try connection.readWrite { transaction in
      let parent = try #require(transaction.ext("parent") as? YapDatabaseAutoViewTransaction)
      let child = try #require(transaction.ext("child") as? YapDatabaseFilteredViewTransaction)
      child.setFiltering(.withKeyBlock { _, _, _, _ in true }, versionTag: "2")
      #expect(child.numberOfItemsInAllGroups() == 3)
      parent.setGrouping(
        .withKeyBlock { _, _, key in String(key.suffix(1)) },
        sorting: .withKeyBlock { _, _, _, _, _, _ in .orderedSame },
        versionTag: "2")
      #expect(child.numberOfItemsInAllGroups() == 3 && parent.numberOfItemsInAllGroups() == 5)
    }
    #expect(try Set(keys("child")) == ["a1", "a2", "x1"] && Set(keys("grandchild")) == ["a1", "a2"])
  }

  @Test("A filtered view over other collections than it is stored for is built anew") func otherCollections() throws {
    try store(["a1"], in: "left")
    try store(["b1"], in: "right")
    #expect(database.register(makeParent(), withName: "parent"))
    let narrow = options(YapWhitelistBlacklist(whitelist: ["left"]))
    #expect(database.register(makeFiltered(narrow), withName: "child"))
    let wide = try reopen(database)
    #expect(wide.register(makeParent(), withName: "parent"))
    #expect(wide.register(makeFiltered(options()), withName: "child"))
    #expect(try keys("child", wide) == ["a1", "b1"])
    let again = try reopen(wide)
    #expect(again.register(makeParent(), withName: "parent"))
    #expect(again.register(makeFiltered(narrow), withName: "child"))
    #expect(try keys("child", again) == ["a1"])
  }

  @Test("A view that groups by itself shows no rows of other collections, and does not ask about them")
  func collectionsOfAnAutoView() throws {
    try store(["a1"], in: "left")
    try store(["b1"], in: "right")
    func view(_ options: YapDatabaseViewOptions, _ asked: Recorder) -> YapDatabaseAutoView {
      YapDatabaseAutoView(
        grouping: .withKeyBlock { _, collection, _ in
          asked.append(collection)
          return "all"
        },
        sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1",
        options: options)
    }
    let asked = Recorder()
    let narrow = options(YapWhitelistBlacklist(blacklist: ["right"]))
    #expect(database.register(view(narrow, asked), withName: "view"))
    try store(["a2"], in: "left")
    try store(["b1", "b2"], in: "right")
    #expect(try keys("view") == ["a1", "a2"])
    #expect(Set(asked.values) == ["left"])
    let wide = try reopen(database)
    #expect(wide.register(view(options(), Recorder()), withName: "view"))
    #expect(try keys("view", wide) == ["a1", "a2", "b1", "b2"])
  }

  @Test("A list keeps what the app has put into it when it may hold rows of more collections, and refuses fewer")
  func collectionsOfAManualView() throws {
    try store(["a1", "a2"], in: "left")
    try store(["b1"], in: "right")
    func add(_ key: String, _ collection: String, _ database: YapDatabase) throws -> Bool {
      var isAdded = false
      try database.newConnection().readWrite { transaction in
        let list = transaction.ext("list") as? YapDatabaseManualViewTransaction
        isAdded = list?.addKey(key, inCollection: collection, toGroup: "all") ?? false
      }
      return isAdded
    }
    let narrow = options(YapWhitelistBlacklist(whitelist: ["left"]))
    #expect(database.register(YapDatabaseManualView(options: narrow), withName: "list"))
    #expect(try add("a2", "left", database) && add("a1", "left", database) && !add("b1", "right", database))
    let wide = try reopen(database)
    #expect(wide.register(YapDatabaseManualView(options: options()), withName: "list"))
    #expect(try add("b1", "right", wide) && keys("list", wide) == ["a2", "a1", "b1"])
    // What the app has put there is not thrown away by a setting.
    let refusing = try reopen(wide)
    #expect(!refusing.register(YapDatabaseManualView(options: narrow), withName: "list"))
    let again = try reopen(refusing)
    #expect(again.register(YapDatabaseManualView(options: options()), withName: "list"))
    #expect(try keys("list", again) == ["a2", "a1", "b1"])
  }

  // MARK: Rows from before

  @Test("A filtered view that skips its population is empty, and filled by later changes") func skipped() throws {
    try store(["a1", "a2", "a3"], in: "left")
    #expect(database.register(makeParent(), withName: "parent"))
    #expect(database.register(makeFiltered(options(skips: true)), withName: "child"))
    #expect(try keys("child").isEmpty && keys("parent").count == 3)
    try store(["a4", "x4"], in: "left")
    try connection.readWrite { transaction in
      transaction.replace("other", forKey: "a2", inCollection: "left")
      // Nothing that the block asks for.
      transaction.replaceMetadata("metadata", forKey: "a1", inCollection: "left")
    }
    #expect(try keys("child") == ["a2", "a4"])
    // It keeps them when it is registered anew, also after changes that it has not seen.
    let again = try reopen(database)
    #expect(again.register(makeParent(), withName: "parent"))
    #expect(again.register(makeFiltered(options(skips: true)), withName: "child"))
    #expect(try keys("child", again) == ["a2", "a4"])
    let late = try reopen(again)
    try store(["a5"], in: "left", late)
    try late.newConnection().readWrite { $0.removeObject(forKey: "a2", inCollection: "left") }
    #expect(late.register(makeParent(), withName: "parent"))
    #expect(late.register(makeFiltered(options(skips: true)), withName: "child"))
    #expect(try keys("child", late) == ["a4"])
  }

  @Test("A view of all collections that skips its population follows those that come later")
  func newCollection() throws {
    try store(["before"], in: "left")
    #expect(database.register(makeParent(options(skips: true)), withName: "parent"))
    try store(["after"], in: "left")
    #expect(try keys("parent") == ["after"])
    try store(["elsewhere"], in: "new")
    let again = try reopen(database)
    #expect(again.register(makeParent(options(skips: true)), withName: "parent"))
    #expect(try keys("parent", again) == ["after", "elsewhere"])
    try store(["later"], in: "new", again)
    #expect(try keys("parent", again) == ["after", "elsewhere", "later"])
    // A version that the app gives is another matter.
    try again.newConnection().readWrite { transaction in
      (transaction.ext("parent") as? YapDatabaseAutoViewTransaction)?.setSorting(
        .withKeyBlock { _, _, _, key1, _, key2 in key2.compare(key1, options: .literal) }, versionTag: "2")
    }
    #expect(try keys("parent", again) == ["later", "elsewhere", "after"])
  }

  @Test("A view goes on with the settings that it was made with") func copies() throws {
    let options = YapDatabaseViewOptions()
    options.skipInitialViewPopulation = true
    let view = makeParent(options)
    options.skipInitialViewPopulation = false
    options.isPersistent = false
    #expect(view.options.skipInitialViewPopulation && view.options.isPersistent && view.options !== options)
    let rules = YapDatabaseRelationshipOptions()
    rules.disableYapDatabaseRelationshipNodeProtocol = true
    let graph = YapDatabaseRelationship(versionTag: "1", options: rules)
    rules.disableYapDatabaseRelationshipNodeProtocol = false
    #expect(graph.options.disableYapDatabaseRelationshipNodeProtocol)
    #expect(graph.options.allowedCollections?.isAllowed("x") == nil)
  }
}
