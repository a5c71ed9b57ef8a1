// Extensions that change rows when a transaction is about to commit.

import QuireDatabase
import Testing

/// Calls a closure whenever a transaction settles rows.
private struct Settler: DatabaseExtension {
  static let kind = "test.settler"

  let name: String
  let settle: @Sendable (WriteTransaction) throws -> Void
  var isBuiltFromRows: Bool { false }

  init(_ name: String, _ settle: @escaping @Sendable (WriteTransaction) throws -> Void) {
    (self.name, self.settle) = (name, settle)
  }

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store, settle) }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    private let settle: @Sendable (WriteTransaction) throws -> Void

    init(_ store: ExtensionStore, _ settle: @escaping @Sendable (WriteTransaction) throws -> Void) {
      (self.store, self.settle) = (store, settle)
    }

    func willBuild(_ reason: ExtensionBuildReason) throws {}
    func settleRows() throws { if let tx = store.writeTransaction { try settle(tx) } }
  }
}

@Suite("Rows that extensions change at the end of a transaction") struct SettlingRowsTests {
  /// Keeps the number of texts in a row.
  private static let counter = Settler("counter") { tx in
    let count = "\(tx[.texts("texts")].count)"
    if try tx[.texts("counts")].get("texts") != count { try tx[.texts("counts")].set(count, for: "texts") }
  }

  /// Keeps a copy of the text “a”.
  private static let copier = Settler("copier") { tx in
    guard let text = try tx[.texts("texts")].get("a"), try tx[.texts("texts")].get("copy") != text else { return }
    try tx[.texts("texts")].set(text, for: "copy")
  }

  @Test("An extension settles again after rows that another one has changed", arguments: [true, false])
  func settlesAgain(isCounterFirst: Bool) throws {
    let db = try Database.inMemory()
    for settler in isCounterFirst ? [Self.counter, Self.copier] : [Self.copier, Self.counter] {
      try db.register(settler)
    }
    try db.write { tx throws in try tx[.texts("texts")].set("1", for: "a") }
    try db.read { tx throws in
      #expect(try tx[.texts("texts")].get("copy") == "1")
      #expect(try tx[.texts("counts")].get("texts") == "2")
    }
    try db.checkInvariants()
  }
}
