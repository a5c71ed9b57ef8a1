// Building a full text from the rows that are there: alone, beside writers, stopped, and begun again.

import Dispatch
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Synchronization
import Testing

@Suite("Building a full text") struct BuildTests {
  struct Stopped: Error {}

  /// Rows of random texts.
  private func store(_ numbers: Range<Int>, in db: Database, _ random: inout SeededRandom) throws {
    let memos = numbers.map { _ in random.memo(400) }
    let remarks = numbers.map { _ in random.oneIn(3) ? nil : Remark(text: random.words(3, of: 50)) }
    try db.write { tx in
      for (place, number) in numbers.enumerated() {
        try tx[.memos].set(memos[place], metadata: remarks[place], for: "k\(number)")
      }
    }
  }

  private func text(_ detail: PostingDetail = .positions, byteCount: Int = 1 << 16, rowByRow: Bool = false) -> MemoText
  {
    var text = MemoText.memos(detail, tokenizer: PlainTokenizer(hasOtherForms: true))
    text.building.gatheredByteCount = byteCount
    text.building.goesRowByRow = rowByRow
    return text
  }

  /// All postings, by term and row, and the records of all rows.
  private func contents(_ db: Database, _ text: MemoText) throws -> ([[UInt8]: PostingList], [RowID: TextRecord]) {
    try db.read { tx in
      let trees = try tx.access(to: text).trees()
      var found: [[UInt8]: PostingList] = [:]
      let stored = try StoredPostings(trees)
      while try stored.next() {
        for index in 0..<stored.list.count {
          found[stored.term ?? [], default: PostingList()].append(stored.list, at: index)
        }
      }
      var records: [RowID: TextRecord] = [:]
      try trees.rows.forEach(from: nil) { row, bytes in
        records[row] = try trees.record(bytes, of: row, inTree: "rows")
        return true
      }
      return (found, records)
    }
  }

  @Test("Built in one go it has what rows make that come one by one", arguments: PostingDetail.allCases)
  func equalsRowByRow(_ detail: PostingDetail) throws {
    var random = SeededRandom(seed: 3)
    let (db, other) = (try Database.inMemory(), try Database.inMemory())
    var same = random
    try store(0..<2_000, in: db, &random)
    try store(0..<2_000, in: other, &same)
    // Such a small memory makes many pieces.
    let built = text(detail)
    try db.register(built)
    try other.register(text(detail, rowByRow: true))
    let (found, expected) = (try contents(db, built), try contents(other, text(detail)))
    #expect(found.0 == expected.0)
    #expect(found.1 == expected.1)
    try db.verify(built)
    let recentCount = try db.read { tx in try tx.access(to: built).trees().recent.count }
    #expect(recentCount == 0)
    try store(1_000..<2_500, in: db, &random)
    try db.verify(built)
    try db.close()
    try other.close()
  }

  @Test("Memory that suffices makes the same as one that does not")
  func needsNoFile() throws {
    var random = SeededRandom(seed: 4)
    let db = try Database.inMemory()
    try store(0..<800, in: db, &random)
    let first = text(byteCount: 32 << 20)
    try db.register(first)
    let expected = try contents(db, first)
    try db.unregister(extensionNamed: first.name)
    let second = text(byteCount: 0)
    try db.register(second)
    let found = try contents(db, second)
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
      try db.register(text())
      try db.verify(text())
      #expect(try db.read { try $0.access(to: text()).documentCount } == 0)
      try db.close()
    }
  }

  @Test("What writers change while it is built is in it", arguments: 0..<12)
  func takesChangesMeanwhile(_ number: Int) throws {
    var random = SeededRandom(seed: UInt64(number))
    let db = try Database.inMemory()
    let count = TestSize.trials(3_000, divisor: 3)
    try store(0..<count, in: db, &random)
    let built = text(PostingDetail.allCases[number % 3], byteCount: number % 2 == 0 ? 1 << 15 : 32 << 20)
    let queue = DispatchQueue(label: "writer")
    var callCount = 0
    try db.register(built) { _ in
      callCount += 1
      // The writer is another thread, as the builder may be reading.
      try queue.sync { try change(db, count, &random) }
    }
    #expect(callCount >= 3)
    try db.verify(built)
    try db.write { tx in _ = try tx.access(to: built).merge() }
    try db.verify(built)
    try store(0..<count / 2, in: db, &random)
    try db.verify(built)
    try db.close()
  }

  /// Changes some rows: other texts, shorter and longer ones, rows that come, go, and come again.
  private func change(_ db: Database, _ count: Int, _ random: inout SeededRandom) throws {
    var generator = random
    try db.write { tx in
      for _ in 0..<40 {
        let key = "k\(generator.below(count + count / 8))"
        switch generator.below(5) {
        case 0: try tx[.memos].remove(key)
        case 1: try tx[.memos].set(Memo(title: generator.words(1, of: 400), body: nil, tags: []), for: key)
        case 2:
          guard var memo = try tx[.memos].get(key) else { continue }
          memo.body = (memo.body ?? "").split(separator: " ").dropLast(3).joined(separator: " ")
          try tx[.memos].set(memo, for: key)
        default: try tx[.memos].set(generator.memo(400), metadata: Remark(text: generator.words(2, of: 50)), for: key)
        }
      }
    }
    random = generator
  }

  @Test("It is built anew where all rows are removed meanwhile", arguments: [true, false])
  func survivesClearing(removesCollection: Bool) throws {
    for clearedCall in 1...3 {
      var random = SeededRandom(seed: 11)
      let db = try Database.inMemory()
      try store(0..<500, in: db, &random)
      let queue = DispatchQueue(label: "writer")
      var callCount = 0
      try db.register(text()) { _ in
        callCount += 1
        guard callCount == clearedCall else { return }
        try queue.sync {
          try db.write { tx in if removesCollection { try tx[.memos].removeAll() } else { try tx.removeAll() } }
          var other = SeededRandom(seed: 12)
          try store(100..<200, in: db, &other)
        }
      }
      try db.verify(text())
      #expect(callCount >= clearedCall)
      let rowCount = try db.read { $0[.memos].count }
      #expect(rowCount == 100)
      try db.close()
    }
  }

  @Test("Stopped anywhere, it is built when it is registered again")
  func stopsAndGoesOn() throws {
    var isDone = false
    var lastCall = 0
    while !isDone {
      lastCall += 1
      var random = SeededRandom(seed: 21)
      var options = Database.Options()
      options.buildStepRowCount = 300
      let db = try Database.inMemory(options: options)
      try store(0..<700, in: db, &random)
      var callCount = 0
      do {
        try db.register(text()) { _ in
          callCount += 1
          if callCount == lastCall { throw Stopped() }
        }
        isDone = true
      } catch is Stopped {
        #expect(callCount == lastCall)
        #expect(throws: (any Error).self) { try db.verify(text()) }
        try change(db, 700, &random)
        try db.register(text())
      }
      try db.verify(text())
      try db.close()
    }
    #expect(lastCall > 4)
  }

  @Test("After a crash while it was built, it is built when it is registered again")
  func survivesCrashes() throws {
    let disk = SimulatedDisk()
    var options = Database.Options(durability: .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)
    options.buildStepRowCount = 300
    let db = try disk.openDatabase(seed: 1, options)
    var random = SeededRandom(seed: 31)
    try store(0..<900, in: db, &random)
    let queue = DispatchQueue(label: "writer")
    var images: [SimulatedDisk] = []
    try db.register(text()) { _ in
      try queue.sync { try change(db, 900, &random) }
      images.append(disk.processKillImage())
      images.append(disk.crashImage(.random(UInt64(images.count))))
    }
    images.append(disk.processKillImage())
    try db.close()
    for (number, image) in images.enumerated() {
      let again = try image.openDatabase(seed: 2, options)
      var generator = SeededRandom(seed: UInt64(number))
      if number % 2 == 0 { try change(again, 900, &generator) }
      try again.register(text())
      try again.verify(text())
      try again.close()
    }
  }

  @Test("Progress goes from no row to all rows")
  func reportsProgress() throws {
    var random = SeededRandom(seed: 41)
    let disk = SimulatedDisk()
    let options = Database.Options(durability: .relaxed, maintainsWhenIdle: false)
    let db = try disk.openDatabase(seed: 1, options)
    try store(0..<9_000, in: db, &random)
    var seen: [Database.Progress] = []
    try db.register(text()) { seen.append($0) }
    // Rows are handed over first, which is told, too.
    let start = try #require(seen.lastIndex { $0.done == 0 })
    let ownCalls = seen[start...]
    #expect(ownCalls.last?.done == 9_000 && ownCalls.allSatisfy { $0.total == 9_000 && $0.phase == .building })
    #expect(zip(ownCalls, ownCalls.dropFirst()).allSatisfy { $0.done <= $1.done })
    #expect(Set(ownCalls.map(\.done)).count >= 4)
    try db.close()
    // In the next opening nothing is to be done.
    let again = try disk.openDatabase(seed: 1, options)
    let before = try again.read { $0.csn }
    try again.register(text())
    #expect(try again.read { $0.csn } == before)
    try again.verify(text())
    try again.close()
  }
}
