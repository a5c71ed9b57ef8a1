// Loads that are cancelled, undone, or cut off by the disk, and loads into collections that keep rows in other forms.

import Foundation
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite("Loads that end early, and loads of other forms") struct LoadFaultTests {
  private struct Undo: Error {}

  private static let options = Database.Options(
    durability: .relaxed, cacheSize: 2 << 20, logLimit: 256 << 10, maintainsWhenIdle: false)

  private static func albums(_ numbers: Range<Int>) -> [(String, Album, NoMetadata?)] {
    // In no order, and too many bytes for one record of the log.
    numbers.map { ("\(($0 &* 7919) % 10_007)", Album(name: String(repeating: "\($0) ", count: 40)), nil) }
  }

  private static func load(_ db: Database, _ numbers: Range<Int>) throws {
    try db.write { tx throws in _ = try tx[.albums].load(albums(numbers), batchByteCount: 8 << 10, nil) { $0 } }
  }

  /// Whether the albums below `count` are there, and nothing else.
  private static func expectAlbums(_ db: Database, below count: Int) throws {
    try db.checkInvariants()
    try db.read { tx throws in
      #expect(tx[.albums].count == count)
      for (key, album, _) in albums(0..<count) { #expect(try tx[.albums].get(key)?.name == album.name) }
    }
  }

  @Test("A cancelled task ends its load after the batch", arguments: [false, true])
  func cancelled(hasProgress: Bool) async throws {
    let db = try Database.inMemory()
    let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
    let (isCancelled, taken) = (Shared(false), Shared(0))
    let task = Task {
      try await db.write { tx throws in
        let rows = (0..<100_000).lazy.map { number -> (String, Album, NoMetadata?) in
          taken.withLock { $0 = number }
          if number == 100 {
            continuation.yield()
            while !isCancelled.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
          }
          return ("\(number)", Album(name: "\(number)"), nil)
        }
        let progress: ((StorageProgress) throws -> Void)? = hasProgress ? { _ in } : nil
        return try tx[.albums].load(rows, batchByteCount: 4000, progress) { $0 }
      }
    }
    for await _ in begun { break }
    task.cancel()
    isCancelled.withLock { $0 = true }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(taken.withLock { $0 } < 1000)
    #expect(try await db.read { tx in tx[.albums].count } == 0)
    try await db.verify()
  }

  @Test("What a crash leaves is whole loads", arguments: TestSize.some(0..<4 as Range<UInt64>, of: 2))
  func crash(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let whole = SimulatedDisk()
    let db = try whole.openDatabase(seed: seed, Self.options)
    let first = whole.changeCount
    for start in [0, 500, 1000] { try Self.load(db, start..<start + 500) }
    try db.checkpoint()
    let changeCount = whole.changeCount - first
    try db.close()
    var counts: Set<Int> = []
    for trial in 0..<12 {
      // In the short size no more than what shows that crashes differ.
      if !TestSize.isFull, trial >= 3, counts.count > 1 { break }
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: seed, Self.options)
      disk.powerOff(beforeChange: disk.changeCount + random.below(changeCount))
      for start in [0, 500, 1000] { try? Self.load(db, start..<start + 500) }
      try? db.checkpoint()
      let image = disk.crashImage(.random(random.next()))
      try? db.close()
      let again = try image.openDatabase(seed: seed, Self.options)
      let count = try again.read { tx in tx[.albums].count }
      #expect(count % 500 == 0)
      try Self.expectAlbums(again, below: count)
      counts.insert(count)
      try Self.load(again, 0..<1500)
      try Self.expectAlbums(again, below: 1500)
      try again.close()
    }
    #expect(counts.count > 1)
  }

  @Test("A disk that is full in the middle of a load leaves nothing of it, or all") func fullDisk() throws {
    let calm = SimulatedDisk()
    let db = try calm.openDatabase(seed: 1, Self.options)
    try Self.load(db, 0..<100)
    let first = calm.operationCount
    try Self.load(db, 100..<1500)
    let count = calm.operationCount - first
    try db.close()
    var outcomes: Set<Int> = []
    for number in stride(from: 0, to: count, by: max(1, count / TestSize.trials(25, divisor: 8))) {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: 1, Self.options)
      try Self.load(db, 0..<100)
      disk.fill(duringOperations: disk.operationCount + number..<Int.max)
      var isLoaded = true
      do { try Self.load(db, 100..<1500) } catch { isLoaded = false }
      disk.fill(duringOperations: 0..<0)
      if isLoaded { try Self.expectAlbums(db, below: 1500) }
      try? db.close()
      let again = try disk.openDatabase(seed: 1, Self.options)
      let found = try again.read { tx in tx[.albums].count }
      #expect(isLoaded ? found == 1500 : found == 100 || found == 1500)
      try Self.expectAlbums(again, below: found)
      outcomes.insert(found)
      try again.close()
    }
    #expect(outcomes.contains(100))
  }

  @Test("A savepoint takes a load back, and what it left in the cache of objects") func savepoint() throws {
    let db = try Database.inMemory(options: Database.Options(objectCache: ObjectCacheOptions()))
    try Self.load(db, 0..<100)
    try Self.expectAlbums(db, below: 100)
    try db.write { tx throws in
      #expect(throws: Undo.self) {
        try tx.savepoint {
          let others = Self.albums(0..<400).map { ($0.0, Album(name: "other")) }
          #expect(try tx[.albums].load(others) == 300)
          #expect(try tx[.albums].get(others[0].0)?.name == "other")
          throw Undo()
        }
      }
      #expect(try tx[.albums].get(Self.albums(0..<1)[0].0)?.name == Self.albums(0..<1)[0].1.name)
      _ = try tx[.albums].load(Self.albums(50..<200), batchByteCount: 1000, nil) { $0 }
    }
    try Self.expectAlbums(db, below: 200)
    // Found in the cache before, and another one now.
    try db.write { tx in try tx[.albums].load([(Self.albums(0..<1)[0].0, Album(name: "changed"))]) }
    #expect(try db.read { tx in try tx[.albums].get(Self.albums(0..<1)[0].0)?.name } == "changed")
  }

  @Test("Rows with a dictionary") func dictionaries() throws {
    let db = try Database.inMemory()
    var random = SeededRandom(seed: 1)
    let notes = (0..<3000).map { ("n\($0)", FileNote(&random)) }
    try db.write { tx in try tx[.notes].load(notes) }
    try db.read { tx throws in for (key, note) in notes { #expect(try tx[.notes].get(key) == note) } }
    #expect(try db.dictionaryNumbers("notes") == [1])
    try db.verify()
  }

  #if Encryption
    @Test("Encrypted rows") func encrypted() throws {
      let db = try Database.inMemory()
      let diary = RowCollection<Diary, String>.diary(KeyRing(current: try testKey(1)))
      try db.write { tx in try tx[diary].load((0..<300).map { ("d\($0)", Diary.example($0), "mood \($0)") }) }
      #expect(try db.hasExamples(diary, 0..<300))
      #expect(try db.keyIDs() == [1])
    }
  #endif
}
