// Building a full text that was stopped, killed, or cut off: it goes on behind what it has stored.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Synchronization
import Testing

@Suite("Building a full text that goes on where it was") struct ResumeTests {
  private struct Stopped: Error {}

  private static let rowCount = 600
  private static let options = Database.Options(durability: .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)

  /// A disk with rows.
  private func disk(_ random: inout SeededRandom) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options)
    try db.storeMemos(0..<Self.rowCount, &random)
    try db.close()
    return disk
  }

  /// Registers the full text, and returns how many rows each call told. Hooks hear of changes in between.
  ///
  /// - Parameter body: called with the number of the call, from 0 on.
  @discardableResult
  private func register(
    _ text: MemoText, in db: Database, _ random: inout SeededRandom, _ body: (Int) throws -> Void = { _ in }
  ) throws -> [Int] {
    var seen: [Int] = []
    var generator = random
    defer { random = generator }
    try db.register(text) { progress in
      try db.changeMemos(below: Self.rowCount, &generator)
      seen.append(progress.done)
      try body(seen.count - 1)
    }
    return seen
  }

  /// How far a full text has come by what is stored, which another registration is about to go on with.
  private func walked(_ db: Database, _ text: MemoText) throws -> WalkedRows {
    try db.write { tx in try tx.access(to: text).upkeep.trees.walked }
  }

  /// Compares the full text with the rows, and with one that is built in one go.
  private func check(_ db: Database, _ text: MemoText) throws {
    try db.verify(text)
    let found = try db.contents(of: text)
    try db.unregister(extensionNamed: text.name)
    var whole = text
    whole.building.gatheredByteCount = 32 << 20
    try db.register(whole)
    let expected = try db.contents(of: whole)
    #expect(found.0 == expected.0 && found.1 == expected.1)
  }

  @Test(
    "Stopped at each call, it goes on behind the rows that it has stored", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PostingDetail.allCases)
  func goesOnWhenStopped(_ detail: PostingDetail) throws {
    let text = MemoText.building(detail)
    var random = SeededRandom(seed: 51)
    let disk = try disk(&random)
    var db = try disk.openDatabase(seed: 2, Self.options)
    var (least, stopCount) = (0, 0)
    var isDone = false
    while !isDone {
      var stored = WalkedRows()
      do {
        let seen = try register(text, in: db, &random) { _ in
          stored = try walked(db, text)
          if least < Self.rowCount, stored.rowCount > least { throw Stopped() }
        }
        isDone = true
        #expect(seen[0] > Self.rowCount / 2)
      } catch is Stopped {
        #expect(stored.partCount > 0 && stored.rowCount >= least, "\(stored.rowCount) rows after \(least)")
        #expect(throws: (any Error).self) { try db.verify(text) }
        (least, stopCount) = (stored.rowCount, stopCount + 1)
        guard stopCount % 2 == 0 else { continue }
        try db.close()
        db = try disk.openDatabase(seed: 2, Self.options)
      }
    }
    #expect(stopCount > 4)
    try check(db, text)
    try db.close()
  }

  @Test("A task that is cancelled stops it, and the next one goes on", .enabled(if: TestSize.hasSlowTests, "slow"))
  func goesOnWhenCancelled() async throws {
    let text = MemoText.building()
    var random = SeededRandom(seed: 52)
    let db = try disk(&random).openDatabase(seed: 2, Self.options)
    let seed = random.next()
    await #expect(throws: CancellationError.self) {
      try await Task {
        var random = SeededRandom(seed: seed)
        try register(text, in: db, &random) { number in
          if number == 4 { withUnsafeCurrentTask { $0?.cancel() } }
        }
      }.value
    }
    let seen = try register(text, in: db, &random)
    #expect(seen[0] > 0)
    try check(db, text)
    try db.close()
  }

  @Test(
    "After a crash at any change of the disk it goes on, or begins, and has what the rows say",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func survivesCrashes() throws {
    let text = MemoText.building()
    var random = SeededRandom(seed: 53)
    let first = try disk(&random)
    let whole = first.crashImage(.random(1))
    let changeCount = try changes(whole, text)
    let trialCount = TestSize.trials(400, divisor: 80)
    var resumedCount = 0
    for trial in 0..<trialCount {
      var disk = first.crashImage(.random(UInt64(trial)))
      var (attempt, isCut) = (0, true)
      while isCut {
        // Less of it is left each time.
        let cut = attempt == 0 ? trial * changeCount / trialCount : random.below(changeCount)
        if attempt < 3 { disk.powerOff(beforeChange: disk.changeCount + 1 + cut) }
        do {
          let db = try disk.openDatabase(seed: 3, Self.options)
          let seen = try register(text, in: db, &random)
          if seen[0] > 0, seen[0] < Self.rowCount / 2 { resumedCount += 1 }
          disk.powerOff(beforeChange: nil)
          try check(db, text)
          try db.close()
          isCut = false
        } catch let error as DatabaseError {
          guard attempt < 3 else { throw error }
          attempt += 1
          disk = disk.crashImage(.random(random.next()))
        }
      }
    }
    #expect(resumedCount > trialCount / 8)
  }

  /// How often the disk changes while the full text is built.
  private func changes(_ disk: SimulatedDisk, _ text: MemoText) throws -> Int {
    let db = try disk.openDatabase(seed: 3, Self.options)
    let before = disk.changeCount
    var random = SeededRandom(seed: 1)
    try register(text, in: db, &random)
    defer { try? db.close() }
    return disk.changeCount - before
  }

  @Test("Killed at each call it has lost nothing that it told", .enabled(if: TestSize.hasSlowTests, "slow"))
  func survivesKilling() throws {
    let text = MemoText.building()
    var random = SeededRandom(seed: 54)
    let disk = try disk(&random)
    let db = try disk.openDatabase(seed: 2, Self.options)
    var images: [(SimulatedDisk, WalkedRows)] = []
    try register(text, in: db, &random) { _ in images.append((disk.processKillImage(), try walked(db, text))) }
    try db.close()
    #expect(images.count > 6)
    for (image, stored) in TestSize.some(images, of: 3) {
      let again = try image.openDatabase(seed: 2, Self.options)
      let seen = try register(text, in: again, &random)
      // It tells of no more rows than there are.
      let isNearEnd = stored.rowCount > Self.rowCount * 3 / 4
      #expect(isNearEnd ? seen[0] > Self.rowCount / 2 : seen[0] == stored.rowCount)
      #expect(zip(seen.dropFirst(), seen.dropFirst(2)).allSatisfy { $0 <= $1 + 40 })
      try check(again, text)
      try again.close()
    }
  }

  @Test(
    "Where a closure of the app fails nothing is kept, and it begins anew", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [false, true])
  func beginsAnewAfterAnError(wasBegun: Bool) throws {
    let failingCall = Mutex(Int.max)
    var text = FullText("memos.text", over: .memos, tokenizer: PlainTokenizer()) {
      SearchField("title") { (memo: Memo, _: Remark?) in
        try failingCall.withLock { left in
          left -= 1
          if left < 0 { throw Stopped() }
        }
        return memo.title
      }
      SearchField("body", \.body)
    }
    text.building.gatheredByteCount = 40 << 10
    var random = SeededRandom(seed: 55)
    let calls = Array(stride(from: 1, to: Self.rowCount / 4, by: Self.rowCount / 24))
    for call in TestSize.some(calls, of: 3) {
      let db = try disk(&random).openDatabase(seed: 2, Self.options)
      if wasBegun {
        var callCount = 0
        #expect(throws: Stopped.self) {
          try db.register(text) { _ in
            callCount += 1
            if callCount == 4 {
              #expect(try walked(db, text).partCount > 0)
              throw Stopped()
            }
          }
        }
      }
      failingCall.withLock { $0 = call }
      #expect(throws: DatabaseError.self) { try db.register(text) }
      failingCall.withLock { $0 = .max }
      try db.register(text)
      try db.verify(text)
      try db.close()
    }
  }

  @Test(
    "Parts that are damaged end in an error or in nothing else than before, and are built anew",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func damageIsTold() throws {
    var random = SeededRandom(seed: 56)
    var toldCount = 0
    let trialCount = TestSize.trials(300, divisor: 25)
    for trial in 0..<trialCount {
      let text = MemoText.building(PostingDetail.allCases[trial % 3])
      let db = try Database.inMemory(options: Self.options)
      try db.storeMemos(0..<150, &random)
      do {
        try db.register(text) { progress in
          try db.write { tx in
            let trees = try tx.access(to: text).upkeep.trees
            guard try trees.walked.partCount > 0 else { return }
            try damage(trees, &random)
          }
        }
        // A posting may be another one now: nobody but the rows knows.
        if fullTextError({ try db.verify(text) }) != nil { toldCount += 1 }
        try db.unregister(extensionNamed: text.name)
      } catch let error as DatabaseError {
        #expect(error.code == .extensionFailed && error.cause is FullTextError)
        toldCount += 1
      }
      try db.register(text)
      try db.verify(text)
      try db.close()
    }
    #expect(toldCount > trialCount / 2)
  }

  /// Changes an entry of "parts", or how far they go.
  private func damage(_ trees: FullTextTrees, _ random: inout SeededRandom) throws {
    let parts = try trees.parts
    if random.oneIn(8) {
      var bytes = try trees.walked.bytes ?? []
      bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
      return try trees.store.set(bytes, for: "walked")
    }
    guard var (key, value) = try parts.entry(at: random.below(parts.count)) else { return }
    let known = key
    switch random.below(4) {
    case 0: key[random.below(key.count)] ^= UInt8(1 << random.below(8))
    case 1: key.removeLast(1 + random.below(key.count - 1))
    case 2: value.removeLast(1 + random.below(value.count))
    default: for _ in 0...random.below(3) { value[random.below(value.count)] ^= UInt8(1 << random.below(8)) }
    }
    try parts.remove(known)
    try parts.put(value, for: key)
  }
}
