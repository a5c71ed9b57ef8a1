// Dictionaries on a disk that loses power: a row that is there has the dictionary that it names.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct DictionaryCrashTests {
  private static let options = Database.Options(
    durability: .relaxed, cacheSize: 4 << 20, logLimit: TestSize.trials(256 << 10, divisor: 2),
    maintainsWhenIdle: false)

  /// More than it takes for a dictionary.
  private static let noteCount = TestSize.trials(2_400, divisor: 2)

  /// Checks all rows, and returns how many there are.
  private func check(_ db: Database) throws -> Int {
    try db.checkInvariants()
    var random = SeededRandom(seed: 1)
    return try db.read { tx throws in
      let count = tx[.notes].count
      for index in 0..<count {
        let expected = FileNote(&random)
        #expect(try tx[.notes].get("n\(index)") == expected)
      }
      return count
    }
  }

  @Test(arguments: TestSize.some(0..<6 as Range<UInt64>, of: 1)) func whateverIsLeftIsReadable(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let whole = SimulatedDisk()
    let db = try whole.openDatabase(seed: seed, Self.options)
    let first = whole.changeCount
    try db.storeNotes(0..<Self.noteCount, together: 60)
    try db.checkpoint()
    #expect(try db.dictionaryNumbers("notes") == [1])
    let changeCount = whole.changeCount - first
    try db.close()
    var counts: Set<Int> = []
    for trial in 0..<12 {
      // In the short size no more than what shows that crashes differ.
      if !TestSize.isFull, trial >= 3, counts.count > 2 { break }
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: seed, Self.options)
      disk.powerOff(beforeChange: disk.changeCount + random.below(changeCount))
      try? db.storeNotes(0..<Self.noteCount, together: 60)
      try? db.checkpoint()
      let image = disk.crashImage(.random(random.next()))
      try? db.close()
      let again = try image.openDatabase(seed: seed, Self.options)
      let count = try check(again)
      counts.insert(count)
      #expect(count % 60 == 0)
      // It goes on with whatever dictionary there is.
      try again.storeNotes(0..<Self.noteCount, together: 60)
      #expect(try check(again) == Self.noteCount)
      try again.close()
    }
    #expect(counts.count > 2)
  }

  @Test func theSameHistoryWritesTheSameBytes() throws {
    func run() throws -> (changes: Int, statistics: String) {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: 7, Self.options)
      try db.storeNotes(0..<Self.noteCount, together: 60)
      try db.trainDictionary(for: .notes)
      let storages = try db.read { tx throws in tx.rawRows("notes").map { "\($0.objectStorage)" }.joined() }
      try db.close()
      return (disk.changeCount, storages)
    }
    let (first, second) = (try run(), try run())
    #expect(first.changes == second.changes && first.statistics == second.statistics)
  }
}
