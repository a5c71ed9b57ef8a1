// The simulated disk as apps' tests use it: databases that lose their power, their disk or its space.

import QuireDatabase
import QuireTesting
import Testing

@Suite("The simulated disk of apps' tests") struct AppDiskTests {
  private let disk = SimulatedDisk()
  private let song = PlayedSong(title: "Blue Train")

  private func store(_ db: Database, _ key: String) throws {
    try db.write { tx in try tx[.songs].set(song, for: key) }
  }

  private func keys(_ disk: SimulatedDisk) throws -> [String] {
    try disk.openDatabase().read { tx in Array(tx[.songs].keys) }
  }

  @Test("What a commit has stored is there after a power cut and after the death of the process")
  func commitsStay() throws {
    let db = try disk.openDatabase()
    try store(db, "s1")
    for seed in UInt64(1)...20 { #expect(try keys(disk.crashImage(seed: seed)) == ["s1"]) }
    #expect(try keys(disk.processKillImage()) == ["s1"])
  }

  @Test("Commits that wait for nothing may be lost, by a power cut alone") func relaxedCommitsMayGo() throws {
    let db = try disk.openDatabase(options: Database.Options(durability: .relaxed))
    try db.flush()
    try store(db, "s1")
    let found = try (UInt64(1)...20).map { try keys(disk.crashImage(seed: $0)) }
    #expect(found.contains([]))
    #expect(try keys(disk.processKillImage()) == ["s1"])
  }

  @Test("A power cut before any change leaves the transaction or nothing of it") func plannedPowerCut() throws {
    let db = try disk.openDatabase()
    try store(db, "s1")
    disk.powerOff(beforeChange: disk.changeCount + 1)
    #expect(throws: DatabaseError.self) { try store(db, "s2") }
    #expect(disk.isPoweredOff)
    #expect([["s1"], ["s1", "s2"]].contains(try keys(disk.crashImage(seed: 7))))
  }

  @Test("A refused sync is final until the database is opened again") func refusedSync() throws {
    let db = try disk.openDatabase()
    try store(db, "s1")
    disk.refuse(.sync)
    #expect(throws: DatabaseError.self) { try store(db, "s2") }
    let error = #expect(throws: DatabaseError.self) { try store(db, "s3") }
    #expect(error?.code == .failStop)
    disk.recover()
    #expect([["s1"], ["s1", "s2"]].contains(try keys(disk.crashImage(seed: 7))))
  }

  @Test("A call is refused after those that pass, and not before") func refusalsAreCounted() throws {
    let db = try disk.openDatabase()
    disk.refuse(.sync, after: 2)
    try store(db, "s1")
    try store(db, "s2")
    #expect(throws: DatabaseError.self) { try store(db, "s3") }
  }

  @Test("A full disk is an error that leaves everything as it was, and ends with more space") func fullDisk() throws {
    let db = try disk.openDatabase()
    try store(db, "s1")
    disk.capacity = disk.usedByteCount
    var random = SeededRandom(seed: 1)
    // What cannot be compressed, and is more than a log has room for.
    let large = PlayedSong(title: (0..<200_000).map { _ in String(random.next(), radix: 36) }.joined())
    let error = #expect(throws: DatabaseError.self) { try db.write { tx in try tx[.songs].set(large, for: "s2") } }
    #expect(error?.code == .diskFull)
    #expect(try db.read { tx in Array(tx[.songs].keys) } == ["s1"])
    disk.capacity = nil
    try db.write { tx in try tx[.songs].set(large, for: "s2") }
  }

  @Test("Async writes and background work run on it, also where it is slow")
  func asyncWrites() async throws {
    disk.slowDown(seed: 1, oneIn: 3, upTo: .milliseconds(1))
    let (db, song) = (try disk.openDatabase(), song)
    for number in 0..<20 { try await db.write { tx in try tx[.songs].set(song, for: "s\(number)") } }
    try await db.checkpoint()
    try db.close()
    #expect(try keys(disk.crashImage(seed: 3)).count == 20)
  }

  @Test("Without background work the disk is asked for the same each time") func repeatable() throws {
    let counts = try (0..<2).map { _ in
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(hasBackgroundWork: false)
      for number in 0..<50 { try store(db, "s\(number)") }
      try db.close()
      return disk.traceHash
    }
    #expect(counts[0] == counts[1])
  }

  @Test("Random refusals are errors of the database's, and end") func randomRefusals() throws {
    var failureCount = 0
    for seed in UInt64(1)...20 {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase()
      try store(db, "s1")
      disk.refuseAtRandom(seed: seed)
      for number in 0..<20 {
        do { try store(db, "t\(number)") } catch is DatabaseError { failureCount += 1 }
      }
      disk.recover()
      try? db.close()
      #expect(try keys(disk).contains("s1"))
    }
    #expect(failureCount > 0)
  }
}
