// Extensions that come and go while others write and read; run under the thread sanitizer by the gate.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct ThreadedExtensionTests {
  @Test(arguments: [true, false]) func extensionsComeAndGoWhileOthersWork(_ isPersistent: Bool) async throws {
    let folder = try TestFolder()
    var options = Database.Options(durability: .relaxed)
    options.buildStepRowCount = 50
    let db = try folder.open(options)
    try await db.write { tx in
      for number in 0..<400 { try tx[.texts("t")].set("\(number)", for: "k\(number)") }
    }
    var index = ValueIndex<String, String>("index", { .texts($0) }) { object, _ in String(object.prefix(1)) }
    index.isPersistent = isPersistent
    let shared = index
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(writer))
          for _ in 0..<150 {
            let key = "k\(random.below(500))"
            let value = "\(random.below(1000))"
            try await db.write { tx in
              if value.hasSuffix("7") {
                try tx[.texts("t")].remove(key)
              } else {
                try tx[.texts("t")].set(value, for: key)
              }
            }
          }
        }
      }
      group.addTask {
        for _ in 0..<8 {
          try await db.register(shared)
          try await db.unregister(extensionNamed: "index")
        }
        try await db.register(shared)
      }
      group.addTask {
        for _ in 0..<200 { try await db.read { tx in try Self.check(db, shared, tx) } }
      }
      try await group.waitForAll()
    }
    try await db.read { tx in try Self.check(db, shared, tx) }
    let states = try await Task { try db.extensions().map(\.state) }.value
    #expect(states == [.ready])
    try db.checkInvariants()
    try db.close()
  }

  /// Whatever a snapshot shows of the extension agrees with its rows.
  private static func check(_ db: Database, _ index: ValueIndex<String, String>, _ tx: ReadTransaction) throws {
    let reader: ValueIndex<String, String>.Reader
    do { reader = try tx.access(to: index) } catch {
      guard error.code == .extensionNotReady || error.code == .extensionNotRegistered else { throw error }
      return
    }
    let expected = try db.expected(index, ["t"], tx)
    let found = try reader.all()
    #expect(found == expected)
  }
}
