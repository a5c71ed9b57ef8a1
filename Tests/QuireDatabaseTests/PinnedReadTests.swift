// Pinned snapshots read by tasks, and rows as the sequences that they are.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct PinnedReadTests {
  let db: Database

  init() throws {
    db = try Database.inMemory()
    try db.write { tx throws in for number in 0..<50 { try tx[.texts("t")].set("\(number)", for: "k\(number)") } }
  }

  @Test("An awaited read of a pin shows the snapshot that the pin had at the call, on a thread of the database's")
  func awaited() async throws {
    let pin = try db.pin()
    try await db.write { tx in try tx[.texts("t")].set("new", for: "k0") }
    let old = try await pin.read { tx in
      withUnsafeCurrentTask { task in #expect(task?.unownedTaskExecutor != nil) }
      return try tx[.texts("t")].get("k0")
    }
    try pin.advance()
    let new = try await pin.read { tx in try tx[.texts("t")].get("k0") }
    #expect(old == "0" && new == "new")
  }

  @Test("A task that was cancelled before an awaited read of a pin begins does not run it")
  func cancelled() async throws {
    let pin = try db.pin()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await pin.read { _ in Issue.record("It ran.") }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(
    "What a pin was awaited for is over: the database closes as soon as the pin has gone",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: AwaitedUse.allCases)
  func closesAfterAwaitedUses(_ use: AwaitedUse) async throws {
    for _ in 0..<100 {
      let db = try Database.inMemory()
      try await use.run(on: db)
      try db.close()
    }
  }

  @Test("The rows of a collection are a sequence, in both kinds of transactions")
  func rowsAreASequence() throws {
    let expected = (0..<50).map { "k\($0)" }.sorted()
    try db.write { tx throws in
      var keys: [String] = []
      for row in tx[.texts("t")] { keys.append(row.key) }
      #expect(keys == expected)
      try tx[.texts("t")].remove("k0")
      #expect(tx[.texts("t")].map(\.key) == Array(expected.dropFirst()))
    }
    try db.read { tx throws in
      #expect(tx[.texts("t")].reduce(0) { $0 + (Int($1.object) ?? 0) } == 49 * 25)
    }
  }

  @Test("A loop over rows ends with an error when its transaction changes them")
  func changedMeanwhile() throws {
    let code = errorCode {
      try db.write { tx throws in for row in tx[.texts("t")] { try tx[.texts("t")].remove(row.key) } }
    }
    #expect(code == .mutatedDuringIteration)
  }

  @Test("Statistics are encoded by the names of their properties, and come back as they were")
  func statistics() throws {
    let statistics = db.statistics
    let data = try JSONEncoder().encode(statistics)
    let fields = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(fields["commits"] as? Int == statistics.commits && fields["publishedCSN"] is Int)
    #expect(try JSONDecoder().decode(type(of: statistics), from: data) == statistics)
  }
}

/// Work on a thread of the database's that holds something, and is awaited.
enum AwaitedUse: CaseIterable, Sendable {
  case readOfThePin, read, write, cancelledRead

  /// Awaits it; the pin goes when this returns.
  func run(on db: Database) async throws {
    let pin = try db.pin()
    let isGone = Atomic(false)
    let end: @Sendable () -> Void = { isGone.store(true, ordering: .releasing) }
    switch self {
    case .readOfThePin: _ = try await pin.read { [held = Held(end)] tx in held.look(tx.csn) }
    case .read: _ = try await db.read { [held = Held(end)] _ in held.look(pin.csn) }
    case .write:
      try await db.write { [held = Held(end)] tx in try tx[.texts("t")].set("\(held.look(pin.csn))", for: "k") }
    case .cancelledRead:
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        _ = try await db.read { [held = Held(end)] _ in held.look(pin.csn) }
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    let ended = isGone.load(ordering: .acquiring)
    #expect(ended, "a thread holds on to what the work held")
  }
}

/// Something that work holds, and that says when it ends.
private final class Held: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  deinit { end() }

  func look(_ csn: CSN) -> CSN { csn }
}
