// Rewriting rows on a disk that loses power: whatever is left is a database with the same content.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct RewriteCrashTests {
  private static let rowCount = 120

  private func options(_ durability: Durability) -> Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false)
    options.buildStepRowCount = 9
    return options
  }

  /// A disk with a database that older versions of the program have written.
  private func makeDisk(_ durability: Durability) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    for isSecond in [false, true] {
      let db = try disk.openDatabase(seed: 1, options(durability))
      try Tracks.fill(db, 0..<Self.rowCount, isSecond: isSecond)
      try db.close()
    }
    return disk
  }

  /// Checks that every row is there, with its value, and returns how many are of today's version.
  private func check(_ db: Database) throws -> Int {
    try db.checkInvariants()
    return try db.read { tx throws in
      let rows = Array(tx[Tracks.third(.lz4(above: 100))].rows)
      #expect(rows.count == Self.rowCount)
      for row in rows {
        let number = try #require(Int(row.key.dropFirst()))
        #expect((row.object, row.metadata) == Tracks.expected(number))
      }
      return Tracks.versions(tx).values.filter { $0 == 2 }.count
    }
  }

  @Test(arguments: [Durability.full, .relaxed]) func aRunThatIsCutOffIsGoneOnWith(_ durability: Durability) throws {
    var random = SeededRandom(seed: 20)
    let start = try makeDisk(durability)
    // A whole run, to know how many changes of the disk there are to be cut off.
    let whole = start.copy()
    let db = try whole.openDatabase(seed: 2, options(durability))
    let first = whole.changeCount
    try db.rewriteRows(of: Tracks.third(.lz4(above: 100)))
    let changeCount = whole.changeCount - first
    #expect(try check(db) == Self.rowCount)
    try db.close()
    #expect(changeCount >= (durability == .full ? 10 : 1))

    var unfinished = 0
    let cuts = TestSize.some(0...(changeCount + 1), of: 7)
    for cut in cuts {
      var disk = start.copy()
      var done = 0
      // Cut off again and again, until a run gets to its end.
      for attempt in 0..<4 {
        let db = try disk.openDatabase(seed: UInt64(cut), options(durability))
        let found = try check(db)
        #expect(durability == .relaxed || found >= done, "a durable step was lost")
        done = found
        if attempt < 3 { disk.powerOff(beforeChange: disk.changeCount + (attempt == 0 ? cut : random.below(30))) }
        let result = try? db.rewriteRows(of: Tracks.third(.lz4(above: 100)))
        let image = disk.crashImage(.random(random.next()))
        try? db.close()
        disk = image
        guard let result else {
          unfinished += 1
          continue
        }
        #expect(result.checkedCount == Self.rowCount && result.rewrittenCount <= Self.rowCount - found)
        let again = try disk.openDatabase(seed: 3, options(durability))
        #expect(try check(again) == Self.rowCount, "a run that returned was undone")
        #expect(try again.rewriteRows(of: Tracks.third(.lz4(above: 100))).rewrittenCount == 0)
        try again.close()
        break
      }
    }
    #expect(unfinished > (cuts.count - 2) / 2)
  }
}
