// Kinds of extensions: texts that their authors write down.

import QuireDatabase
import QuireTesting
import Testing

/// Follows nothing, and keeps what is there.
private final class IdleWriter: ExtensionWriter {
  let store: ExtensionStore
  init(_ store: ExtensionStore) { self.store = store }
  func willBuild(_ reason: ExtensionBuildReason) throws {}
}

/// An extension whose kind is what the language calls the type, which has no name of its own.
private struct Anonymous: DatabaseExtension {
  static var kind: String { String(reflecting: Self.self) }
  let name = "anonymous"

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> IdleWriter { IdleWriter(store) }
}

/// An extension of values that no row tells.
private struct Notes: DatabaseExtension {
  static let kind = "test.notes"
  let name: String
  var version = ""
  var collections = CollectionFilter.all
  var isBuiltFromRows: Bool { false }

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> IdleWriter { IdleWriter(store) }
}

@Suite struct ExtensionKindTests {
  @Test("A kind that contains an address is refused, before anything is stored or dropped") func addresses() throws {
    let db = try Database.inMemory()
    let error = #expect(throws: DatabaseError.self) { try db.register(Anonymous()) }
    #expect(error?.code == .invalidOption && error?.message.contains("stays the same") == true)
    #expect(try db.extensions().isEmpty)
  }

  @Test("A filter by closure is not stored: every change counts", arguments: [true, false])
  func closures(_ isStored: Bool) throws {
    let folder = try TestFolder()
    let notes = Notes(
      name: "notes", collections: isStored ? .except(["t"]) : .matching { $0 != "t" })
    var db = try folder.open()
    try db.register(notes)
    try db.write { tx throws in try tx.access(to: notes).store.set("kept", for: "note") }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in try tx[.texts("t")].set("x", for: "k") }
    #expect(try db.extensions().map(\.state) == [isStored ? .ready : .stale])
    try db.write { tx throws in try tx[.texts("u")].set("x", for: "k") }
    #expect(try db.extensions().map(\.state) == [.stale])
    try db.register(notes)
    #expect(try db.read { tx throws in try tx.access(to: notes).value("note") } == "kept")
    try db.close()
  }
}
