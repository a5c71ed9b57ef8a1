// Each read of the disk fails once while a cursor goes through a tree: the step throws, and made again it gives what it
// would have given. No entry is passed over, none comes twice, and the end is the end.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct ReadFaultCursorTests {
  /// Whose cursor it is.
  enum Owner: CaseIterable {
    case reader
    /// A reader's where memory is short: the cursor works on a copy of its leaf.
    case readerOfCopies
    case writer
  }

  private static let seeds: Range<UInt64> = 0..<6

  /// Lets the reads of a walk fail, one in each walk, until there is none left to fail.
  ///
  /// - Parameter least: so many reads there have to be, or the pages were in memory.
  private func failEachRead(
    of keys: KeyKind, by owner: Owner, least: Int, seed: UInt64 = 0, _ walk: (FaultyWalk, inout Cursor) throws -> Void
  ) throws {
    let database = try ClosedTree(keys, count: 260, seed: seed)
    var (readCount, thrownCount) = (0, 0)
    while true {
      let faulty = try database.walk(by: owner, failing: readCount, seed: seed, walk)
      if !faulty.hasFailed { break }
      readCount += 1
      thrownCount += faulty.thrownCount
    }
    #expect(readCount >= least, "there were \(readCount) reads")
    // Of pages that are read ahead of a scan an error is told by their own visit, if it comes to that.
    #expect(thrownCount * 4 >= readCount, "of \(readCount) errors \(thrownCount) were told")
  }

  @Test("Each entry comes once, forwards", arguments: Owner.allCases)
  func forwards(owner: Owner) throws {
    try failEachRead(of: .bytes, by: owner, least: 20) { walk, cursor in
      for rank in 0..<walk.model.count {
        let isOnEntry = try walk.step { try cursor.next() }
        try require(isOnEntry, "the end in front of entry \(rank)")
        try walk.look(&cursor, at: rank)
      }
      let isOnEntry = try walk.step { try cursor.next() }
      try require(!isOnEntry, "no end behind the last entry")
    }
  }

  @Test("Each entry comes once, backwards", arguments: Owner.allCases)
  func backwards(owner: Owner) throws {
    try failEachRead(of: .int64, by: owner, least: 20) { walk, cursor in
      for rank in (0..<walk.model.count).reversed() {
        let isOnEntry = try walk.step { try cursor.previous() }
        try require(isOnEntry, "the end behind entry \(rank)")
        try walk.look(&cursor, at: rank)
      }
      let isOnEntry = try walk.step { try cursor.previous() }
      try require(!isOnEntry, "no end in front of the first entry")
    }
  }

  @Test("Runs have each entry once", arguments: Owner.allCases, [1, 7, 100, Int.max])
  func runs(owner: Owner, limit: Int) throws {
    try failEachRead(of: .bytes, by: owner, least: 20) { walk, cursor in
      var rank = 0
      repeat { rank += try walk.takeRun(&cursor, from: rank, limit: limit) } while rank < walk.model.count
      let more = try walk.step { try cursor.forEach { _, _ in true } }
      try require(more == 0 && !cursor.isOnEntry, "there is more behind the last entry")
    }
  }

  @Test("Runs of numbers have each entry once", arguments: Owner.allCases)
  func numbers(owner: Owner) throws {
    try failEachRead(of: .int64, by: owner, least: 20) { walk, cursor in
      var rank = 0
      while rank < walk.model.count { rank += try walk.takeNumbers(&cursor, from: rank, limit: .max) }
    }
  }

  @Test("Spans have each key once", arguments: Owner.allCases)
  func spans(owner: Owner) throws {
    try failEachRead(of: .bytes, by: owner, least: 10) { walk, cursor in
      var rank = 0
      for end in stride(from: 5, through: walk.model.count, by: 5) {
        rank = try walk.advance(&cursor, to: rank, from: rank)
        try walk.look(&cursor, at: rank)
        rank += try walk.takeKeys(&cursor, from: rank, below: min(end, walk.model.count - 1))
      }
      rank += try walk.takeKeys(&cursor, from: rank, below: nil)
      try require(rank == walk.model.count && !cursor.isOnEntry, "the last span ends at entry \(rank)")
    }
  }

  @Test(
    "Any steps lead where they would have led", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Owner.allCases,
    seeds)
  func anySteps(owner: Owner, seed: UInt64) throws {
    try failEachRead(of: seed % 2 == 0 ? .bytes : .int64, by: owner, least: 20, seed: seed) { walk, cursor in
      for _ in 0..<80 { try walk.takeAnyStep(&cursor) }
    }
  }

  @Test(
    "A key that cannot be read is told by the next step, unless it is asked for again",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [false, true])
  func keysAreNotPassedOver(asksAgain: Bool) throws {
    let database = try ClosedTree(.bytes, count: 6000, seed: 1)
    let model = database.model
    let disk = database.disk.processKillImage()
    let engine = try disk.openEngine(ClosedTree.options)
    var missedCount = 0
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
      var cursor = try tx.cursor(tree)
      let walk = FaultyWalk(model, seed: 1)
      for round in 0..<24 {
        var rank = 1 + round * 240
        let isThere = try cursor.seek(toIndex: rank)
        #expect(isThere)
        // All other leaves come in, and the cursor's has to go.
        for other in stride(from: round, to: model.count, by: 5) {
          let value = try tx.modelValue(model.keys[other], in: tree)
          try require(equal(value, model.values[other]), "entry \(other) has another value")
        }
        guard isMissed(cursor, round, disk) else { continue }
        missedCount += 1
        let isStillOnEntry = cursor.isOnEntry
        #expect(isStillOnEntry)
        if asksAgain {
          try walk.look(&cursor, at: rank)
          let byteCount = cursor.valueByteCount
          #expect(byteCount == model.values[rank].count)
        } else {
          let isOnEntry = try round % 8 < 4 ? cursor.next() : cursor.previous()
          #expect(isOnEntry)
          try walk.look(&cursor, at: rank)
        }
        let isOnOther = try round % 8 < 4 ? cursor.next() : cursor.previous()
        #expect(isOnOther)
        rank += round % 8 < 4 ? 1 : -1
        try walk.look(&cursor, at: rank)
      }
    }
    #expect(missedCount >= 8, "only \(missedCount) entries had to be read again")
    try engine.close()
  }

  /// Whether the cursor cannot tell something of its entry, as the disk fails.
  private func isMissed(_ cursor: borrowing Cursor, _ round: Int, _ disk: SimulatedDisk) -> Bool {
    disk.intercept { operation in operation.kind == .read ? .error(SystemCode.inputOutput) : nil }
    defer { disk.removeInterceptors() }
    switch round % 4 {
    case 0: return cursor.key == nil
    case 1: return cursor.valueByteCount == nil
    case 2: return cursor.withKey { _ in true } == nil
    default:
      do throws(StorageError) { return try cursor.borrowedEntry == nil } catch { return true }
    }
  }
}
