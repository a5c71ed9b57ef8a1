// What transactions keep of an extension for those after them is what these would find themselves.

import QuireDatabase
import QuireTesting
import Testing

/// Counts: its value and the name of its newest tree follow the one row that the tests change.
private struct Tally: DatabaseExtension {
  static var kind: String { "test.tally" }
  var name: String { "tally" }
  var isPersistent: Bool

  final class Seen: Sendable {
    let count: Int
    init(_ count: Int) { self.count = count }
  }

  struct Reader {
    let store: ExtensionStore

    /// The count as it is kept for other transactions, as it is stored, and in the newest tree.
    func counts() throws -> [Int] {
      let kept = try store.keeping { Seen(try store.value("count") ?? 0) }.count
      let stored = try store.value("count") ?? 0
      let tree = try store.tree("tree\(stored / 8)", of: [UInt8].self)
      return [kept, stored, try tree.value(for: [1]).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0]
    }
  }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    init(_ store: ExtensionStore) { self.store = store }

    func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

    func didChange(_ change: RowChange) throws {
      guard change.collection == "t", let text = try change.object(in: .texts("t")), let count = Int(text) else {
        return
      }
      try store.set(count, for: "count")
      try store.tree("tree\(count / 8)", of: [UInt8].self).put(Array("\(count)".utf8), for: [1])
    }
  }

  func makeReader(_ store: ExtensionStore) throws -> Reader { Reader(store: store) }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(store) }
}

private struct Undone: Error {}

@Suite struct ThreadedKnownExtensionTests {
  /// What a transaction sees agrees with the row that it sees.
  private static func check(_ tally: Tally, _ tx: ReadTransaction) throws {
    let count = try tx[.texts("t")].get("count").flatMap { Int($0) } ?? 0
    let seen = try tx.access(to: tally).counts()
    #expect(seen == [count, count, count])
  }

  private static func set(_ count: Int, _ tx: WriteTransaction) throws {
    try tx[.texts("t")].set("\(count)", for: "count")
  }

  @Test(arguments: [true, false]) func readersSeeWhatTheirSnapshotHas(isPersistent: Bool) async throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: .relaxed))
    let tally = Tally(isPersistent: isPersistent)
    try await db.register(tally)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var random = SeededRandom(seed: 7)
        for count in 1..<400 {
          switch random.below(4) {
          case 0:
            // What is undone was noted as a change, and is none.
            do {
              try await db.write { tx in
                try Self.set(1_000_000, tx)
                throw Undone()
              }
            } catch is Undone {}
          case 1:
            try await db.write { tx in
              try? tx.savepoint {
                try Self.set(2_000_000, tx)
                throw Undone()
              }
              try Self.set(count, tx)
            }
          case 2: try await db.write { tx in try tx[.texts("other")].set("x", for: "y") }
          default: try await db.write { tx in try Self.set(count, tx) }
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<400 { try await db.read { tx in try Self.check(tally, tx) } }
        }
      }
      group.addTask {
        // Old snapshots between new ones.
        for _ in 0..<20 {
          let pin = try await Task { try db.pin() }.value
          for _ in 0..<10 {
            try await Task { try pin.read { tx in try Self.check(tally, tx) } }.value
            try await db.read { tx in try Self.check(tally, tx) }
          }
        }
      }
      try await group.waitForAll()
    }
    try await db.read { tx in try Self.check(tally, tx) }
    try db.close()
  }

  @Test func whatIsKeptIsMadeOnce() throws {
    let db = try Database.inMemory()
    let tally = Tally(isPersistent: true)
    try db.register(tally)
    func kept() throws -> ObjectIdentifier {
      try db.read { tx in
        let store = try tx.access(to: tally).store
        return ObjectIdentifier(try store.keeping { Tally.Seen(try store.value("count") ?? 0) })
      }
    }
    try db.write { tx in try Self.set(1, tx) }
    let first = try kept()
    #expect(try kept() == first)
    // Rows that the extension does not read change nothing of what it stores.
    try db.write { tx in try tx[.texts("other")].set("x", for: "y") }
    #expect(try kept() == first)
    try db.write { tx in try Self.set(2, tx) }
    try db.read { tx in try Self.check(tally, tx) }
    let second = try kept()
    #expect(try kept() == second)
    // What could not be made is not kept: the next transaction makes it.
    try db.write { tx in try Self.set(3, tx) }
    #expect(throws: Undone.self) {
      try db.read { tx in
        let make: () throws -> Tally.Seen = { throw Undone() }
        _ = try tx.access(to: tally).store.keeping(make)
      }
    }
    try db.read { tx in try Self.check(tally, tx) }
  }
}
