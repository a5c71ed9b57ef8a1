// Storing a row unless there is one.

import QuireDatabase
import QuireTesting
import Testing

/// Notes the keys of all changes.
private struct Listener: DatabaseExtension {
  static let kind = "test.listener"
  let name = "listener"
  let heard: Shared<[String]>
  var isBuiltFromRows: Bool { false }

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store, heard) }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    private let heard: Shared<[String]>

    init(_ store: ExtensionStore, _ heard: Shared<[String]>) { (self.store, self.heard) = (store, heard) }

    func willBuild(_ reason: ExtensionBuildReason) throws {}
    func didChange(_ change: RowChange) throws { heard.withLock { $0.append(change.key) } }
  }
}

@Suite struct InsertTests {
  private let texts = RowCollection<String, Int>("texts", compression: .none)

  @Test(arguments: [3, 40_000]) func aRowThatIsThereStays(length: Int) throws {
    let db = try Database.inMemory()
    let (one, two) = (String(repeating: "1", count: length), String(repeating: "2", count: length))
    try db.write { tx throws in
      let rows = tx[texts]
      #expect(try rows.insert(one, metadata: 1, for: "a"))
      #expect(try !rows.insert(two, metadata: 2, for: "a"))
      #expect(try rows.get("a") == one && rows.metadata("a") == 1 && rows.count == 1)
    }
    try db.write { tx throws in
      #expect(try !tx[texts].insert(two, for: "a") && tx[texts].insert(two, for: "b"))
    }
    #expect(try db.read { tx throws in try tx[texts].get("a") } == one)
    #expect(try db.read { tx throws in try tx[texts].get("b") } == two)
    try db.close()
  }

  @Test func sanitizersAndExtensionsSeeWhatIsStored() throws {
    let db = try Database.inMemory()
    let heard = Shared<[String]>([])
    try db.register(Listener(heard: heard))
    let clean = texts.sanitizing { key, text in text + " of " + key }
    try db.write { tx throws in
      #expect(try tx[clean].insert("x", for: "a") && !tx[clean].insert("y", for: "a"))
      #expect(try tx[texts].insert("x", for: "b") && !tx[texts].insert("y", for: "b"))
    }
    #expect(try db.read { tx throws in try tx[texts].get("a") } == "x of a")
    #expect(try db.read { tx throws in try tx[texts].get("b") } == "x")
    #expect(heard.withLock { $0 } == ["a", "b"])
    try db.close()
  }
}
