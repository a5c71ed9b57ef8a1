// The examples of the original's page on extensions, with what takes the place of subclasses.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

/// What the page calls `MyAwesomeYDBExtension`: it notes what its hooks are told, by the numbers of rows.
private struct AwesomeExtension: DatabaseExtension {
  static let kind = "test.awesome"
  let name = "awesome_sauce"
  var version = "1"
  let told: Recorder

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> AwesomeWriter { AwesomeWriter(store, told) }
}

private final class AwesomeWriter: ExtensionWriter {
  let store: ExtensionStore
  private let told: Recorder

  init(_ store: ExtensionStore, _ told: Recorder) { (self.store, self.told) = (store, told) }

  func willBuild(_ reason: ExtensionBuildReason) throws {
    told.append("build")
    try store.removeEverything()
  }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    let rows = try store.tree("rows", of: RowID.self)
    told.append("\(change.kind) \(change.collection)/\(change.key)")
    if change.kind == .remove { try rows.remove(rowID) } else { try rows.put(Array(change.key.utf8), for: rowID) }
    // The number leads to everything else.
    if change.kind != .remove {
      let row = try store.row(rowID)
      #expect(row?.key == change.key && row?.collection == change.collection)
    }
  }
}

@Suite struct ExtensionPageTests {
  private let fixture: YapFixture
  private let told = Recorder()
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws { fixture = try YapFixture() }

  private func register(version: String = "1") -> Bool {
    let ext = YapDatabaseCustomExtension(AwesomeExtension(version: version, told: told))
    return fixture.database.register(ext, withName: "awesome_sauce")
  }

  @Test("Hooks tell inserts, updates, replacements, touches and removals apart, in the transaction") func hooks() throws
  {
    #expect(register())
    #expect(told.values == ["build"])
    let steps: [((YapDatabaseReadWriteTransaction) -> Void, String)] = [
      ({ $0.setObject("o", forKey: "k", inCollection: "c") }, "insert"),
      ({ $0.setObject("p", forKey: "k", inCollection: "c", withMetadata: "m") }, "update"),
      ({ $0.replace("q", forKey: "k", inCollection: "c") }, "replaceObject"),
      ({ $0.replaceMetadata("n", forKey: "k", inCollection: "c") }, "replaceMetadata"),
      ({ $0.touchRow(forKey: "k", inCollection: "c") }, "touchRow"),
      ({ $0.removeObject(forKey: "k", inCollection: "c") }, "remove"),
    ]
    for (call, kind) in steps {
      let before = told.values.count
      try connection.readWrite { transaction in
        call(transaction)
        #expect(told.values.count == before + 1, "\(kind)")
      }
    }
    #expect(told.values == ["build"] + steps.map { "\($0.1) c/k" })
  }

  @Test("A row's number outlives compaction, and leads to key and row") func rowNumbers() throws {
    #expect(register())
    try fixture.fill("c", 3)
    func rows() throws -> [RowID: String] {
      try connection.read { transaction in
        let ext = transaction.ext("awesome_sauce") as? YapDatabaseCustomExtensionTransaction<AwesomeExtension>
        let rows = try #require(try ext?.reader?.tree("rows", of: RowID.self))
        var found: [RowID: String] = [:]
        while let entry = try rows.entry(at: found.count) {
          found[entry.key] = String(decoding: entry.value, as: UTF8.self)
        }
        return found
      }
    }
    let before = try rows()
    #expect(Set(before.values) == ["key1", "key2", "key3"])
    try connection.vacuum()
    #expect(try rows() == before)
    let keys = try fixture.database.quire.read { tx in try before.keys.compactMap { try tx.key(of: $0) } }
    #expect(Set(keys) == Set(before.values.map { RowKey("c", $0) }))
  }

  @Test("Registration goes over the rows that are there, once for each version") func setUp() throws {
    try fixture.fill("c", 3)
    #expect(register())
    #expect(told.values == ["build"] + (1...3).map { "insert c/key\($0)" })
    #expect(fixture.database.registeredExtension("awesome_sauce") != nil)
  }

  @Test("Values of an extension are there at the next opening: its version, say", arguments: ["1", "2"])
  func configuration(_ newVersion: String) throws {
    let folder = try TestFolder()
    var seen: [String?] = []
    for version in ["1", newVersion] {
      let database = try YapDatabase(path: folder.path)
      YapFixture.register(database)
      let view = YapDatabaseAutoView(
        grouping: .withKeyBlock { _, _, _ in "all" },
        sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1 < key2 ? .orderedAscending : .orderedDescending },
        versionTag: version)
      #expect(database.register(view, withName: "awesome_sauce"))
      try database.newConnection().readWrite { transaction in
        let ext = try #require(transaction.ext("awesome_sauce"))
        seen.append(ext.stringValue(forExtensionKey: "foo", persistent: true))
        #expect(ext.stringValue(forExtensionKey: "memory", persistent: false) == nil)
        ext.setStringValue("bar", forExtensionKey: "foo", persistent: true)
        ext.setStringValue("bar", forExtensionKey: "memory", persistent: false)
        #expect((ext as? YapDatabaseViewTransaction)?.versionTag() == version)
      }
      try database.close()
    }
    #expect(seen == [nil, "bar"])
  }
}
