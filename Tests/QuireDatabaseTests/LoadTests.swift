// Loading many rows leaves what storing them one by one leaves.

import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite("Loading rows") struct LoadTests {
  private typealias Element = (String, Song, PlayState?)

  private static func elements(_ random: inout SeededRandom, _ count: Int) -> [Element] {
    (0..<count).map { number in
      // Keys that share beginnings, come again, and are each other's beginnings.
      let key = String(repeating: "k", count: random.below(12)) + "\(random.below(count * 2))"
      let title = String(repeating: "title ", count: random.below(100) == 0 ? 2000 : random.below(8))
      return (key, Song("\(title)\(number)"), random.below(3) == 0 ? PlayState(plays: number) : nil)
    }
  }

  private static func content(_ db: Database) throws -> [String] {
    try db.read { tx in tx[.songs].rows.map { "\($0.key) \($0.object.title) \($0.metadata?.plays ?? -1)" } }
  }

  /// What hooks were told, in its order.
  private static func listen(_ db: Database) throws -> Shared<[String]> {
    let calls = Shared<[String]>([])
    var hooks = Hooks("hooks", collections: .only(["songs"]))
    hooks.willModify = { _, change, flags in
      calls.withLock { $0.append("will \(change.key) \(flags.rawValue)") }
    }
    hooks.didModify = { tx, change, flags throws in
      let title = try tx[.songs].get(change.key)?.title ?? ""
      calls.withLock { $0.append("did \(change.key) \(flags.rawValue) \(title)") }
    }
    try db.register(hooks)
    return calls
  }

  @Test(
    "Content, changes, counts and hooks are those of repeated set",
    arguments: [nil, 1, 300, 5000], TestSize.some([1, 2, 3] as [UInt64], of: 1))
  func same(batchByteCount: Int?, seed: UInt64) throws {
    for isHeard in [false, true] {
      var random = SeededRandom(seed: seed)
      let (one, other) = (try Database.inMemory(), try Database.inMemory())
      let calls = isHeard ? [try Self.listen(one), try Self.listen(other)] : []
      for count in [3, TestSize.trials(150, divisor: 2), TestSize.trials(400, divisor: 2), 1] {
        let elements = Self.elements(&random, count)
        let pins = [try one.pin(), try other.pin()]
        let gained = try one.write { tx throws in
          let before = tx[.songs].count
          for (key, song, state) in elements { try tx[.songs].set(song, metadata: state, for: key) }
          return tx[.songs].count - before
        }
        let loaded = try other.write { tx throws in
          try tx[.songs].load(elements, batchByteCount: batchByteCount, nil) { $0 }
        }
        #expect(loaded == gained)
        let changes = try pins.map { try #require(try $0.advance().first).changes }
        #expect(changes[0].changedKeys(in: .songs) == changes[1].changedKeys(in: .songs))
        #expect(changes[0].insertedKeys(in: .songs) == changes[1].insertedKeys(in: .songs))
        for halves in [RowHalves.object, .metadata] {
          #expect(changes[0].changedKeys(in: .songs, halves) == changes[1].changedKeys(in: .songs, halves))
        }
        #expect(try Self.content(one) == Self.content(other))
        if isHeard { #expect(calls[0].withLock { $0 } == calls[1].withLock { $0 }) }
      }
      try other.verify()
      try other.checkInvariants()
    }
  }

  @Test("Rows are numbered in the order of the sequence") func numbers() throws {
    let db = try Database.inMemory()
    let keys = ["c", "a", "b", "a"]
    try db.write { tx in try tx[.albums].load(keys.map { ($0, Album(name: $0)) }) }
    let numbers = try db.read { tx in tx[.albums].rows.map { ($0.key, $0.rowID) } }
    #expect(numbers.sorted { $0.1 < $1.1 }.map(\.0) == ["c", "a", "b"])
  }

  @Test("Errors of a coder leave the rows before it", arguments: [1, 1 << 20]) func errors(batchByteCount: Int) throws {
    struct Refusal: Error {}
    struct Text: Codable {
      let text: String
      init(_ text: String) { self.text = text }
      init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
      func encode(to encoder: any Encoder) throws {
        if text == "bad" { throw Refusal() }
        var container = encoder.singleValueContainer()
        try container.encode(text)
      }
    }
    let texts = RowCollection<Text, NoMetadata>("texts")
    let db = try Database.inMemory()
    try db.write { tx throws in
      let rows = ["x", "y", "bad", "z"].map { ($0, Text($0), NoMetadata?.none) }
      #expect(
        errorCode { _ = try tx[texts].load(rows, batchByteCount: batchByteCount, nil) { $0 } } == .encodingFailed)
      #expect(tx[texts].count == 2)
    }
    #expect(try db.read { tx in Array(tx[texts].keys) } == ["x", "y"])
  }

  @Test("Progress is told, and ends a load") func progress() throws {
    struct Stop: Error {}
    let db = try Database.inMemory()
    let rows = (0..<100).map { ("\($0)", Album(name: "\($0)"), NoMetadata?.none) }
    let reports = try db.write { tx in
      var reports: [StorageProgress] = []
      _ = try tx[.albums].load(rows, batchByteCount: 100, { reports.append($0) }) { $0 }
      return reports
    }
    #expect(reports.count > 10 && reports.last?.done == 100 && reports.allSatisfy { $0.total == 100 })
    #expect(throws: Stop.self) {
      try db.write { tx in
        _ = try tx[.albums].load(rows, batchByteCount: 100, { if $0.done > 50 { throw Stop() } }) { $0 }
      }
    }
    #expect(try db.read { tx in tx[.albums].count } == 100)
  }

  @Test("A sequence that changes rows is refused, and the transaction with it") func disturbed() throws {
    let db = try Database.inMemory()
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx in
        let rows = sequence(state: 0) { number -> (String, Album)? in
          number += 1
          if number == 3 { try? tx[.texts("other")].set("text", for: "key") }
          return number < 9 ? ("\(number)", Album(name: "")) : nil
        }
        try tx[.albums].load(rows)
      }
    }
    #expect(error?.code == .transactionFailed)
    #expect(try db.read { tx in tx[.albums].count } == 0)
  }

  @Test("Sanitizers see each row") func sanitized() throws {
    let db = try Database.inMemory()
    let albums = RowCollection<Album, NoMetadata>("albums").sanitizing { key, album in
      Album(name: album.name + " of " + key)
    }
    try db.write { tx in try tx[albums].load([("a", Album(name: "one")), ("b", Album(name: "two"))]) }
    #expect(try db.read { tx in tx[albums].rows.map { $0.object.name } } == ["one of a", "two of b"])
  }

  @Test("No more than an eighth of the cache waits") func eighth() throws {
    let db = try Database.inMemory(options: Database.Options(cacheSize: 8 << 20))
    var reports = 0
    try db.write { tx in
      let rows = (0..<20_000).lazy.map { ("\($0)", Album(name: String(repeating: "x", count: 200))) }
      try tx[.albums].load(rows) { _ in reports += 1 }
    }
    #expect(reports >= 5)
  }
}
