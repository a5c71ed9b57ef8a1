// Building a full text from the rows that are there: alone, beside writers, stopped, and begun again.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Synchronization
import Testing

@Suite("Building a full text") struct BuildTests {
  struct Stopped: Error {}

  @Test(
    "Built in one go it has what rows make that come one by one", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PostingDetail.allCases)
  func equalsRowByRow(_ detail: PostingDetail) throws {
    var random = SeededRandom(seed: 3)
    let (db, other) = (try Database.inMemory(), try Database.inMemory())
    var same = random
    let count = TestSize.trials(2_000, divisor: 12)
    try db.storeMemos(0..<count, &random)
    try other.storeMemos(0..<count, &same)
    // Such a small memory makes many pieces.
    let built = MemoText.building(detail, byteCount: TestSize.isFull ? 1 << 16 : 1 << 14)
    try db.register(built)
    try other.register(MemoText.building(detail, rowByRow: true))
    let (found, expected) = (try db.contents(of: built), try other.contents(of: MemoText.building(detail)))
    #expect(found.0 == expected.0)
    #expect(found.1 == expected.1)
    try db.verify(built)
    let recentCount = try db.read { tx in try tx.access(to: built).trees().recent.count }
    #expect(recentCount == 0)
    try db.storeMemos(count / 2..<count * 5 / 4, &random)
    try db.verify(built)
    try db.close()
    try other.close()
  }

  @Test("Memory that suffices makes the same as one that does not")
  func needsNoFile() throws {
    var random = SeededRandom(seed: 4)
    let db = try Database.inMemory()
    try db.storeMemos(0..<(TestSize.isFull ? 800 : 300), &random)
    let first = MemoText.building(byteCount: 32 << 20)
    try db.register(first)
    let expected = try db.contents(of: first)
    try db.unregister(extensionNamed: first.name)
    let second = MemoText.building(byteCount: 0)
    try db.register(second)
    let found = try db.contents(of: second)
    #expect(found.0 == expected.0 && found.1 == expected.1)
    try db.close()
  }

  @Test("No rows, and rows without words, are a full text that finds nothing")
  func withoutRows() throws {
    for count in [0, 3] {
      let db = try Database.inMemory()
      try db.write { tx in
        for number in 0..<count { try tx[.memos].set(Memo(title: "", body: " . ", tags: []), for: "\(number)") }
      }
      try db.register(MemoText.building())
      try db.verify(MemoText.building())
      #expect(try db.read { try $0.access(to: MemoText.building()).documentCount } == 0)
      try db.close()
    }
  }

  @Test(
    "What writers change while it is built is in it", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: 0..<TestSize.trials(12, divisor: 4))
  func takesChangesMeanwhile(_ number: Int) throws {
    var random = SeededRandom(seed: UInt64(number))
    let db = try Database.inMemory()
    let count = TestSize.trials(3_000, divisor: 30)
    try db.storeMemos(0..<count, &random)
    let built = MemoText.building(PostingDetail.allCases[number % 3], byteCount: number % 2 == 0 ? 1 << 15 : 32 << 20)
    var callCount = 0
    try db.register(built) { _ in
      callCount += 1
      // The writer is another thread, as the builder may be reading.
      try onAnotherThread { try db.changeMemos(below: count, &random) }
    }
    #expect(callCount >= 3)
    try db.verify(built)
    try db.write { tx in _ = try tx.access(to: built).merge() }
    try db.verify(built)
    try db.storeMemos(0..<count / 2, &random)
    try db.verify(built)
    try db.close()
  }

  @Test("It is built anew where all rows are removed meanwhile", arguments: [true, false])
  func survivesClearing(removesCollection: Bool) throws {
    for clearedCall in 1...3 {
      var random = SeededRandom(seed: 11)
      let db = try Database.inMemory()
      try db.storeMemos(0..<500, &random)
      var callCount = 0
      try db.register(MemoText.building()) { _ in
        callCount += 1
        guard callCount == clearedCall else { return }
        try onAnotherThread {
          try db.write { tx in if removesCollection { try tx[.memos].removeAll() } else { try tx.removeAll() } }
          var other = SeededRandom(seed: 12)
          try db.storeMemos(100..<200, &other)
        }
      }
      try db.verify(MemoText.building())
      #expect(callCount >= clearedCall)
      let rowCount = try db.read { $0[.memos].count }
      #expect(rowCount == 100)
      try db.close()
    }
  }

  @Test("Stopped anywhere, it is built when it is registered again", .enabled(if: TestSize.hasSlowTests, "slow"))
  func stopsAndGoesOn() throws {
    let rowCount = TestSize.isFull ? 700 : 210
    let text = MemoText.building()
    var isDone = false
    var lastCall = 0
    while !isDone {
      lastCall += 1
      var random = SeededRandom(seed: 21)
      var options = Database.Options()
      options.buildStepRowCount = rowCount * 3 / 7
      let db = try Database.inMemory(options: options)
      try db.storeMemos(0..<rowCount, &random)
      var callCount = 0
      do {
        try db.register(text) { _ in
          callCount += 1
          if callCount == lastCall { throw Stopped() }
        }
        isDone = true
      } catch is Stopped {
        #expect(callCount == lastCall)
        #expect(throws: (any Error).self) { try db.verify(text) }
        try db.changeMemos(below: rowCount, &random)
        try db.register(text)
      }
      try db.verify(text)
      try db.close()
    }
    #expect(lastCall > 4)
  }

  @Test(
    "After a crash while it was built, it is built when it is registered again",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func survivesCrashes() throws {
    let disk = SimulatedDisk()
    var options = Database.Options(durability: .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)
    options.buildStepRowCount = 300
    let db = try disk.openDatabase(seed: 1, options)
    var random = SeededRandom(seed: 31)
    try db.storeMemos(0..<900, &random)
    var images: [SimulatedDisk] = []
    try db.register(MemoText.building()) { _ in
      try onAnotherThread { try db.changeMemos(below: 900, &random) }
      images.append(disk.processKillImage())
      images.append(disk.crashImage(.random(UInt64(images.count))))
    }
    images.append(disk.processKillImage())
    try db.close()
    for (number, image) in TestSize.some(images, of: 3).enumerated() {
      let again = try image.openDatabase(seed: 2, options)
      var generator = SeededRandom(seed: UInt64(number))
      if number % 2 == 0 { try again.changeMemos(below: 900, &generator) }
      try again.register(MemoText.building())
      try again.verify(MemoText.building())
      try again.close()
    }
  }

  @Test("Progress goes from no row to all rows")
  func reportsProgress() throws {
    var random = SeededRandom(seed: 41)
    let disk = SimulatedDisk()
    var options = Database.Options(durability: .relaxed, maintainsWhenIdle: false)
    let rowCount = TestSize.isFull ? 9_000 : 900
    if !TestSize.isFull { options.buildStepRowCount = 200 }
    let db = try disk.openDatabase(seed: 1, options)
    try db.storeMemos(0..<rowCount, &random)
    var seen: [Database.Progress] = []
    try db.register(MemoText.building()) { seen.append($0) }
    // Rows are handed over first, which is told, too.
    let start = try #require(seen.lastIndex { $0.done == 0 })
    let ownCalls = seen[start...]
    #expect(ownCalls.last?.done == rowCount && ownCalls.allSatisfy { $0.total == rowCount && $0.phase == .building })
    #expect(zip(ownCalls, ownCalls.dropFirst()).allSatisfy { $0.done <= $1.done })
    #expect(Set(ownCalls.map(\.done)).count >= 4)
    try db.close()
    // In the next opening nothing is to be done.
    let again = try disk.openDatabase(seed: 1, options)
    let before = try again.read { $0.csn }
    try again.register(MemoText.building())
    #expect(try again.read { $0.csn } == before)
    try again.verify(MemoText.building())
    try again.close()
  }
}
