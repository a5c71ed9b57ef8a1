// Commits that come while others are being looked at.

import Logging
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

/// Holds up the thread that looks at commits while it says that an observer has missed some.
private struct HoldingLog: LogHandler {
  let gate: Gate
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.warning

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    if let follower = event.metadata?["follower"], "\(follower)" == "observer" { gate.pass() }
  }
}

@Suite struct ThreadedLookTests {
  /// Waits until all of so many observers wait for a change.
  private func settle(_ db: Database, _ observerCount: Int) async {
    while !(db.observerCount == observerCount && db.areObserversWaiting) {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Between taking the commits and the end of the look, a commit asks for a look of its own.
  @Test func aCommitDuringALookIsLookedAtAfterIt() async throws {
    let (look, reading) = (Gate(), Gate())
    let logger = Logger(label: "test") { _ in HoldingLog(gate: look) }
    let db = try Database.inMemory(options: Database.Options(logger: logger))
    try await db.register(LargeTeller())
    // For nobody no commits are looked at.
    let other = Task { for try await _ in db.observe({ tx in try tx[.texts("other")].get("k") }) {} }
    await settle(db, 1)
    // More than is kept: the look at it says so, in the middle.
    try await db.write { tx in try tx[.texts(LargeTeller.collection)].set("1", for: "k") }
    await look.waitForEntries()
    // What the look has taken is known to this observer: its snapshot is newer.
    try await db.write { tx in try tx[.texts("t")].set("old", for: "k") }
    let newest = Shared<String?>(nil)
    let observer = Task {
      let observation = db.observe { tx in
        defer { reading.pass() }
        return try tx[.texts("t")].get("k")
      }
      for try await found in observation { newest.withLock { $0 = found } }
    }
    await reading.waitForEntries()
    try await db.write { tx in try tx[.texts("t")].set("new", for: "k") }
    look.open()
    while db.hasLooksDue { try await Task.sleep(for: .milliseconds(1)) }
    for _ in 0..<2 { reading.open() }
    await settle(db, 2)
    #expect(newest.withLock { $0 } == "new")
    #expect(!look.hasTimedOut && !reading.hasTimedOut)
    for task in [other, observer] {
      task.cancel()
      try await task.value
    }
  }

  /// A closure that takes long is run again for what any of the looks meanwhile has found, not for the last one alone.
  @Test func twoLooksDuringOneRunAreBothHeard() async throws {
    let reading = Gate()
    let db = try Database.inMemory()
    try await db.write { tx in try tx[.texts("t")].set("old", for: "k") }
    let newest = Shared<String?>(nil)
    let observer = Task {
      let observation = db.observe { tx in
        defer { reading.pass() }
        return try tx[.texts("t")].get("k")
      }
      for try await found in observation { newest.withLock { $0 = found } }
    }
    await reading.waitForEntries()
    // The second one is of a row that the closure has not read.
    for (key, text) in [("k", "new"), ("other", "1")] {
      try await db.write { tx in try tx[.texts("t")].set(text, for: key) }
      while db.hasLooksDue { try await Task.sleep(for: .milliseconds(1)) }
    }
    for _ in 0..<2 { reading.open() }
    await settle(db, 1)
    #expect(newest.withLock { $0 } == "new")
    #expect(!reading.hasTimedOut)
    observer.cancel()
    try await observer.value
  }
}
