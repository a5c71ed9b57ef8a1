// Storing a row looks for its place as seldom as can be: counted, not timed.

import QuireStorage
import QuireTesting
import Testing

@testable import QuireDatabase

#if DEBUG
  @Suite("Work of storing rows") struct RowWorkTests {
    private struct Listener: DatabaseExtension {
      static let kind = "test.listener"
      let name = "listener"
      var collections: CollectionFilter = .only(["texts"])
      var needsWillChange = true
      func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
      func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store, needsWillChange) }

      final class Writer: ExtensionWriter {
        let store: ExtensionStore
        let needsWillChange: Bool
        init(_ store: ExtensionStore, _ needsWillChange: Bool) {
          self.store = store
          self.needsWillChange = needsWillChange
        }
        func willBuild(_ reason: ExtensionBuildReason) throws {}
      }
    }

    /// How often `body` looks for places in the key index and in the row tree.
    private func walks(
      _ db: Database, _ body: (QuireDatabase.WriteTransaction) throws -> Void
    ) throws -> (keys: Int, rows: Int) {
      let (context, trees) = (db.core.engine.core.context, db.core.trees)
      return try db.write { tx throws in
        // The collection is looked up at its first use.
        _ = tx[.texts("texts")].count
        context.walkCounts = [:]
        try body(tx)
        let counts = try #require(context.walkCounts)
        context.walkCounts = nil
        return (counts[trees.keys.id, default: 0], counts[trees.rows.id, default: 0])
      }
    }

    @Test("A row that is new, one that is there, and one that is long", arguments: [nil, false, true])
    func store(needsWillChange: Bool?) throws {
      let db = try Database.inMemory()
      try db.write { tx in try tx[.texts("texts")].set("first", for: "a") }
      if let needsWillChange { try db.register(Listener(needsWillChange: needsWillChange)) }
      let heard = needsWillChange == true ? 1 : 0
      // Who hears of a row before it is stored is told whether it is new.
      #expect(try walks(db) { tx in try tx[.texts("texts")].set("new", for: "b") } == (1 + heard, 1))
      #expect(try walks(db) { tx in try tx[.texts("texts")].set("again", for: "b") } == (1, 1))
      // So long that it gets pages of its own, compressed or not.
      var random = SeededRandom(seed: 1)
      let long = String((0..<20_000).map { _ in Character(UnicodeScalar(UInt8(33 + random.below(90)))) })
      #expect(try walks(db) { tx in try tx[.texts("texts")].set(long, for: "c") } == (2 + heard, 1))
      #expect(try walks(db) { tx in try tx[.texts("texts")].set(long + long, for: "c") } == (1, 1))
      #expect(try db.read { tx in try tx[.texts("texts")].get("b") } == "again")
      #expect(try db.read { tx in try tx[.texts("texts")].get("c") } == long + long)
      try db.verify()
    }
  }
#endif
