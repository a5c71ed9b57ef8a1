// Code of the app's that nobody calls by name: what runs when the last reference to an object goes.

import QuireDatabase
import QuireTesting
import Synchronization
import Testing

/// Calls the database when it goes.
private final class Parting: Codable, Sendable {
  static let database = Mutex<Database?>(nil)
  static let count = Atomic<Int>(0)

  deinit {
    guard let db = Self.database.withLock({ $0 }) else { return }
    if (try? db.extensions()) != nil, db.statistics.commits >= 0 {
      Self.count.wrappingAdd(1, ordering: .relaxed)
    }
    // Asks the history of commits.
    _ = try? db.pin()
  }
}

@Suite(.serialized) struct CallOutTests {
  private func watch(_ body: (Database) throws -> Void) throws -> Int {
    let db = try Database.inMemory()
    Parting.database.withLock { $0 = db }
    defer { Parting.database.withLock { $0 = nil } }
    let before = Parting.count.load(ordering: .relaxed)
    try body(db)
    return Parting.count.load(ordering: .relaxed) - before
  }

  @Test("What a commit tells may use the database when it goes") func commitInfo() throws {
    let count = try watch { db in
      for number in 0..<5 {
        try db.write { tx throws in
          tx.commitInfo = Parting()
          try tx[.texts("t")].set("\(number)", for: "k")
        }
      }
    }
    #expect(count >= 4)
  }

  @Test("What an extension's closures hold may use the database when it goes") func extensions() throws {
    let count = try watch { db in
      func register() throws {
        let parting = Parting()
        var hooks = Hooks("hooks")
        hooks.didModify = { _, _, _ in withExtendedLifetime(parting) {} }
        try db.register(hooks)
      }
      try register()
      try db.unregister(extensionNamed: "hooks")
    }
    #expect(count == 1)
  }
}
