// Registering twice, and what extensions of the new API see of collections with blocks.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Registering with YapCompat") struct RegistrationTests {
  private let fixture: YapFixture

  init() throws { fixture = try YapFixture() }

  /// The same line, however often it runs.
  private func registerView(_ versionTag: String = "1", _ name: String = "view") -> Bool {
    fixture.database.register(
      YapDatabaseAutoView(
        grouping: .withKeyBlock { _, _, _ in "all" },
        sorting: .withKeyBlock { _, _, _, key1, _, key2 in
          key1.compare(key2, options: .literal)
        }, versionTag: versionTag), withName: name)
  }

  @Test("The same line may register the same view again, and the first stays") func sameLine() throws {
    #expect(registerView())
    let first = try #require(fixture.database.registeredExtension("view"))
    try fixture.connection.readWrite { transaction in
      transaction.setObject("x", forKey: "k", inCollection: "texts")
      (transaction.ext("view") as? YapDatabaseAutoViewTransaction)?.setSorting(
        .withKeyBlock { _, _, _, key1, _, key2 in key2.compare(key1, options: .literal) }, versionTag: "live")
    }
    #expect(registerView() && registerView())
    #expect(fixture.database.registeredExtension("view") === first && first.registeredName == "view")
    #expect(fixture.errors.values == [])
    // Another version, another line, another kind, or the same object.
    #expect(!registerView("2"))
    let other = YapDatabaseAutoView(
      grouping: .withKeyBlock { _, _, _ in "all" }, sorting: .withKeyBlock { _, _, _, _, _, _ in .orderedSame },
      versionTag: "1")
    #expect(!fixture.database.register(other, withName: "view"))
    #expect(!fixture.database.register(first, withName: "view"))
    #expect(fixture.errors.values == ["extensionExists", "extensionExists", "extensionExists"])
    fixture.database.unregisterExtension(withName: "view")
    #expect(registerView("2") && fixture.database.registeredExtension("view") !== first)
  }

  @Test("Another view is not taken for the first, also by the same helper") func helpers() throws {
    func add(_ view: YapDatabaseExtension, _ name: String) -> Bool {
      fixture.database.register(view, withName: name)
    }
    func make(_ options: YapDatabaseViewOptions? = nil) -> YapDatabaseManualView {
      YapDatabaseManualView(versionTag: "1", options: options)
    }
    func makeFilter(_ parent: String) -> YapDatabaseFilteredView {
      YapDatabaseFilteredView(
        parentViewName: parent, filtering: .withKeyBlock { _, _, _, _ in true }, versionTag: "1")
    }
    #expect(add(make(), "list") && add(make(), "list") && add(make(), "other"))
    #expect(!add(YapDatabaseManualView(versionTag: "1"), "list"))
    let options = YapDatabaseViewOptions()
    options.isPersistent = false
    #expect(!add(make(options), "list"))
    options.isPersistent = true
    #expect(add(make(options), "list"))
    options.allowedCollections = YapWhitelistBlacklist(whitelist: ["songs"])
    #expect(!add(make(options), "list"))
    #expect(add(makeFilter("list"), "filter") && add(makeFilter("list"), "filter"))
    #expect(!add(makeFilter("other"), "filter"))
    let edges = YapDatabaseRelationshipOptions()
    edges.allowedCollections = YapWhitelistBlacklist(whitelist: ["songs"])
    #expect(add(YapDatabaseRelationship(options: edges), "graph"))
    #expect(add(YapDatabaseRelationship(options: edges), "graph") && !add(YapDatabaseRelationship(), "graph"))
    edges.allowedCollections = YapWhitelistBlacklist { _ in true }
    #expect(add(YapDatabaseRelationship(options: edges), "chosen"))
    #expect(!add(YapDatabaseRelationship(options: edges), "chosen"))
  }

  @Test("So may relationships, and what is registered in the background") func others() async throws {
    for _ in 0..<2 {
      #expect(fixture.database.register(YapDatabaseRelationship(versionTag: "1"), withName: "graph"))
      let isReady = await withCheckedContinuation { continuation in
        fixture.database.asyncRegister(
          YapDatabaseManualView(versionTag: "1"), withName: "list", completionQueue: .global()
        ) { continuation.resume(returning: $0) }
      }
      #expect(isReady)
    }
    // Blocks have no version that could tell whether they are the same.
    for isFirst in [true, false] {
      #expect(fixture.database.register(YapDatabaseHooks(), withName: "hooks") == isFirst)
    }
  }

  /// Notes the objects that it is told of.
  private struct Observer: DatabaseExtension {
    static var kind: String { "test.observer" }
    let name: String
    let database: YapDatabase
    let seen: Recorder
    var isPersistent: Bool { false }
    var isBuiltFromRows: Bool { true }

    func makeReader(_ store: ExtensionStore) -> Int { 0 }
    func makeWriter(_ store: ExtensionStore) -> Writer { Writer(self, store) }

    final class Writer: ExtensionWriter {
      private let value: Observer
      let store: ExtensionStore

      init(_ value: Observer, _ store: ExtensionStore) {
        self.value = value
        self.store = store
      }

      func willBuild(_ reason: ExtensionBuildReason) {}

      func build(_ row: RowChange) throws { try note(row) }

      func didChange(_ change: RowChange) throws { try note(change) }

      private func note(_ change: RowChange) throws {
        let (object, metadata) = (try value.database.object(of: change), try value.database.metadata(of: change))
        value.seen.append("\(change.key) \(object ?? "nothing") \(metadata ?? "nothing")")
      }
    }
  }

  @Test("Extensions of the new API see the objects of collections with blocks") func decodedObjects() throws {
    let database = fixture.database
    database.registerSerializer({ _, _, object in Data("<\(object)>".utf8) }, forCollection: "raw")
    database.registerDeserializer(
      { _, _, data in String(data: data, encoding: .utf8).map { String($0.dropFirst().dropLast()) } },
      forCollection: "raw")
    try fixture.connection.readWrite { $0.setObject("old", forKey: "a", inCollection: "raw", withMetadata: "m") }
    let seen = Recorder()
    let observer = YapDatabaseCustomExtension(Observer(name: "observer", database: database, seen: seen))
    #expect(database.register(observer, withName: "observer"))
    try fixture.connection.readWrite { transaction in
      transaction.setObject("new", forKey: "a", inCollection: "raw")
      transaction.setObject("text", forKey: "b", inCollection: "texts", withMetadata: "n")
      transaction.touchObject(forKey: "b", inCollection: "texts")
      transaction.removeObject(forKey: "a", inCollection: "raw")
    }
    #expect(
      seen.values == ["a old m", "a new nothing", "b text n", "b text n", "a nothing nothing"], "\(seen.values)")
  }
}
