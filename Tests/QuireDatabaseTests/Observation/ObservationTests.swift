// Reads that are repeated when what they have read has changed, and only then.

import Foundation
import QuireDatabase
import Testing

@Suite struct ObservationTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.write { tx throws in
      for number in 10..<30 {
        try tx[.songs].set(Song("\(number)"), metadata: PlayState(plays: number), for: "s\(number)")
      }
      try tx[.texts("other")].set("0", for: "k")
    }
  }

  // MARK: What is read

  /// A closure, what does not concern it, and what does.
  struct Reading: Sendable, CustomTestStringConvertible {
    let name: String
    let body: @Sendable (ReadTransaction) throws -> String
    let unrelated: @Sendable (WriteTransaction) throws -> Void
    let related: @Sendable (WriteTransaction) throws -> Void
    var testDescription: String { name }

    init(
      _ name: String, _ body: @escaping @Sendable (ReadTransaction) throws -> String,
      unrelated: @escaping @Sendable (WriteTransaction) throws -> Void,
      related: @escaping @Sendable (WriteTransaction) throws -> Void
    ) {
      self.name = name
      self.body = body
      self.unrelated = unrelated
      self.related = related
    }
  }

  static let readings: [Reading] = [
    Reading("an object") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
      try tx[.songs].set(Song("x"), for: "s11")
      try tx[.songs].remove("s12")
    } related: { tx in
      try tx[.songs].replace(Song("y"), for: "s10")
    },
    Reading("an object that is removed") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s1")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    Reading("an object that is not there") { tx in
      try tx[.songs].get("new")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "newer")
    } related: { tx in
      try tx[.songs].set(Song("y"), for: "new")
    },
    Reading("a collection that is not there") { tx in
      try tx[.texts("no")].get("k") ?? "none"
    } unrelated: { tx in
      try tx[.texts("yes")].set("x", for: "k")
    } related: { tx in
      try tx[.texts("no")].set("y", for: "k")
    },
    Reading("metadata") { tx in
      "\(try tx[.songs].metadata("s10")?.plays ?? -1)"
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s10")
      try tx[.songs].touchObject("s10")
    } related: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
    },
    Reading("a row") { tx in
      "\(try tx[.songs].row("s10").map { "\($0.object.title)\($0.metadata?.plays ?? -1)" } ?? "")"
    } unrelated: { tx in
      try tx[.songs].remove("s11")
    } related: { tx in
      try tx[.songs].replaceMetadata(PlayState(plays: 0), for: "s10")
    },
    Reading("a row as bytes") { tx in
      "\(try tx.rawRows("songs").row("s10")?.object ?? [])"
    } unrelated: { tx in
      try tx[.songs].remove("s11")
    } related: { tx in
      try tx[.songs].replace(Song("longer"), for: "s10")
    },
    Reading("whether there is a row") { tx in
      "\(try tx[.songs].contains("s10"))"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].touch("s10")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    Reading("a row's id") { tx in
      guard let id = try tx.rowID(of: RowKey("songs", "s10")) else { return "none" }
      return "\(try tx.key(of: id)?.key ?? "gone")"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].set(Song("x"), for: "s9")
    } related: { tx in
      try tx[.songs].remove("s10")
    },
    Reading("a count") { tx in
      "\(tx[.songs].count)"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), metadata: PlayState(plays: 1), for: "s10")
      try tx[.texts("other")].set("1", for: "new")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "s99")
    },
    Reading("a count that does not change") { tx in
      "\(tx[.songs].count)"
    } unrelated: { tx in
      try tx[.songs].touch("s10")
    } related: { tx in
      try tx[.songs].remove("s10")
      try tx[.songs].set(Song("x"), for: "s99")
    },
    Reading("the count of a part") { tx in
      "\(try tx[.songs].count("s12"..<"s14"))"
    } unrelated: { tx in
      try tx[.songs].remove(["s11", "s14"])
      try tx[.songs].set(Song("x"), for: "s13")
    } related: { tx in
      try tx[.songs].remove("s13")
    },
    Reading("the count of a prefix") { tx in
      "\(try tx[.songs].count(prefix: "s1"))"
    } unrelated: { tx in
      try tx[.songs].remove(["s20", "s29"])
      try tx[.songs].set(Song("x"), for: "s0")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "s1")
    },
    Reading("keys") { tx in
      tx[.songs].keys(prefix: "s1").joined()
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
      try tx[.songs].remove("s20")
    } related: { tx in
      try tx[.songs].remove("s19")
    },
    Reading("keys with metadata") { tx in
      tx[.songs].metadata("s10"..."s12").map { "\($0.metadata?.plays ?? -1)" }.joined()
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s11")
      try tx[.songs].remove("s13")
    } related: { tx in
      try tx[.songs].replaceMetadata(nil, for: "s12")
    },
    Reading("rows of a part") { tx in
      tx[.songs].rows("s10"..<"s12").map(\.object.title).joined()
    } unrelated: { tx in
      try tx[.songs].replace(Song("x"), for: "s12")
    } related: { tx in
      try tx[.songs].replace(Song("x"), for: "s11")
    },
    Reading("the first row") { tx in
      tx[.songs].rows.first { _ in true }?.object.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].remove(["s11", "s20"])
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "a")
    },
    Reading("the last rows") { tx in
      tx[.songs].keys.reversed().prefix(2).joined()
    } unrelated: { tx in
      try tx[.songs].remove(["s10", "s20", "s27"])
      try tx[.songs].set(Song("x"), for: "a")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "t")
    },
    Reading("several rows") { tx in
      try tx[.songs].objects(for: ["s10", "no"]).map(\.title).joined()
    } unrelated: { tx in
      try tx[.songs].remove("s11")
      try tx[.songs].replaceMetadata(nil, for: "s10")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "no")
    },
    Reading("the list of collections") { tx in
      tx.collections.joined(separator: ",")
    } unrelated: { tx in
      try tx[.songs].remove("s10")
      try tx[.songs].set(Song("x"), for: "s99")
    } related: { tx in
      try tx[.texts("brand new")].set("x", for: "k")
    },
    Reading("collections with a key") { tx in
      try tx.collections(containing: "k").joined()
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s99")
    } related: { tx in
      try tx[.songs].set(Song("x"), for: "k")
    },
    Reading("the number of all rows") { tx in
      "\(tx.count)"
    } unrelated: { tx in
      try tx[.songs].set(Song("x"), for: "s10")
    } related: { tx in
      try tx[.texts("other")].set("x", for: "new")
    },
    Reading("a row in a collection that is cleared") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.texts("other")].removeAll()
    } related: { tx in
      try tx[.songs].removeAll()
    },
    Reading("a row when everything is cleared") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.texts("other")].set("1", for: "k")
    } related: { tx in
      try tx.removeAll()
    },
    Reading("a row that is touched") { tx in
      try tx[.songs].get("s10")?.title ?? "none"
    } unrelated: { tx in
      try tx[.songs].touchMetadata("s10")
    } related: { tx in
      try tx[.songs].touch("s10")
    },
  ]

  @Test("Runs again for what was read, and for nothing else", arguments: readings)
  func runsAgain(reading: Reading) async throws {
    let runs = Shared(0)
    let body = reading.body
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try body(tx)
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == (try await db.read { tx in try body(tx) }))
    // Each in a transaction of its own, so that each is looked at.
    try await db.write(reading.unrelated)
    try await settle()
    #expect(runs.withLock { $0 } == 1)
    try await db.write(reading.related)
    #expect(try await iterator.next() == (try await db.read { tx in try body(tx) }))
    #expect(runs.withLock { $0 } == 2)
    try db.checkObservers()
  }

  /// Returns when all that was committed has been looked at.
  private func settle() async throws {
    // With an observer of everything that waits, and after a change has got it: commits are looked at in their order.
    var sentinel = db.observe { tx in try tx[.texts("sentinel")].get("k") }.makeAsyncIterator()
    _ = try await sentinel.next()
    try await db.write { tx in try tx[.texts("sentinel")].set("\(UInt64.random(in: 0 ... .max))", for: "k") }
    _ = try await sentinel.next()
  }

  // MARK: Extensions

  private static func makeIndex() -> ValueIndex<String, String> {
    var index = ValueIndex("byTitle", { RowCollection<String, String>.texts($0) }) { text, _ in text }
    index.collections = .only(["other"])
    return index
  }

  @Test func runsAgainWhenAnExtensionHasChanged() async throws {
    let byTitle = Self.makeIndex()
    try await db.register(byTitle)
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx.access(to: byTitle).all().count
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    try await db.write { tx in try tx[.songs].remove("s10") }
    try await settle()
    #expect(runs.withLock { $0 } == 1)
    try await db.write { tx in try tx[.texts("other")].set("1", for: "new") }
    #expect(try await iterator.next() == 2)
  }

  @Test func runsAgainWhenAnExtensionIsRegistered() async throws {
    let byTitle = Self.makeIndex()
    let observation = db.observe { tx in (try? tx.access(to: byTitle).all().count) ?? -1 }.removingDuplicates()
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == -1)
    try await db.register(byTitle)
    #expect(try await iterator.next() == 1)
    try await db.unregister(extensionNamed: "byTitle")
    #expect(try await iterator.next() == -1)
  }

  @Test func commitsOfExtensionsAloneAreNotTold() async throws {
    let pin = try db.pin()
    let stream = db.commits
    try await db.register(Self.makeIndex())
    #expect(try pin.advance().isEmpty)
    try await db.write { tx in try tx[.texts("other")].set("1", for: "k") }
    var iterator = stream.makeAsyncIterator()
    #expect(try await iterator.next()?.changes.keys(in: .texts("other")) == ["k"])
    #expect(try pin.advance().count == 1)
  }

  // MARK: When it runs

  @Test func aSlowConsumerGetsTheNewestState() async throws {
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx[.texts("other")].get("k")
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    for value in 1...50 { _ = try await db.write { tx in try tx[.texts("other")].set("\(value)", for: "k") } }
    #expect(runs.withLock { $0 } == 1)
    #expect(try await iterator.next() == "50")
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func keepsNoSnapshotBetweenResults() async throws {
    var iterator = db.observe { tx in tx[.songs].count }.makeAsyncIterator()
    #expect(try await iterator.next() == 20)
    #expect(db.statistics.readers == 0)
    try await db.write { tx in try tx[.songs].remove("s10") }
    try await settle()
    #expect(db.statistics.readers == 0)
    #expect(try await iterator.next() == 19)
  }

  @Test func aChangeDuringARunIsNotMissed() async throws {
    let runs = Shared(0)
    let observation = db.observe { [db] tx in
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      let value = try tx[.texts("other")].get("k")
      // Committed by another thread while this snapshot stays.
      if run == 1 {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          try? db.write { tx throws in try tx[.texts("other")].set("1", for: "k") }
          done.signal()
        }
        done.wait()
      }
      return value
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    #expect(try await iterator.next() == "1")
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func runsAgainWhenTheHistoryWasOutrun() async throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: .relaxed, readerThreadCount: 1))
    let key = String(repeating: "k", count: 1000)
    try await db.write { tx in
      try tx[.texts("long")].set("", for: key)
      try tx[.texts("other")].set("0", for: "k")
    }
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx[.texts("other")].get("k")
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    // Nobody can look at commits while the one thread that does is busy.
    let gate = DispatchSemaphore(value: 0)
    let begun = AsyncStream.makeStream(of: Void.self)
    let busy = Task {
      try await db.read { _ in
        begun.continuation.yield()
        gate.wait()
      }
    }
    for await _ in begun.stream { break }
    // The third one finds that the history is too long.
    for _ in 0..<3 {
      try await db.write { tx in for _ in 0..<(Limits.historyByteCount / 1800) { try tx[.texts("long")].touch(key) } }
    }
    gate.signal()
    try await busy.value
    #expect(try await iterator.next() == "0")
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func resultsThatRepeatCanBeLeftOut() async throws {
    let observation = db.observe { tx in try tx[.texts("other")].get("k") }.removingDuplicates()
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    try await db.write { tx in try tx[.texts("other")].touch("k") }
    try await settle()
    let next = Task { [db] in
      try await db.write { tx in try tx[.texts("other")].set("0", for: "k") }
      try await db.write { tx in try tx[.texts("other")].set("1", for: "k") }
    }
    #expect(try await iterator.next() == "1")
    try await next.value
  }
}
