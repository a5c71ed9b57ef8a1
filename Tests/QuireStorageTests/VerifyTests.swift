// The full check: silent on what the engine writes, and loud about what a disk or a bug could do to it.

import QuireStorage
import QuireTesting
import Testing

@Suite struct VerifyTests {
  @Test(arguments: [512, 4096, 32768]) func findsNothingInSoundDatabases(pageSize: Int) throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try engine.verify()
    for round in 0..<8 {
      try TinyDatabase.fill(engine, count: 400, seed: UInt64(round))
      var result = try engine.verify()
      if round % 2 == 1 {
        try engine.checkpoint()
        result = try engine.verify()
        #expect(result.entries > 0)
      }
      #expect(result.defects.isEmpty)
    }
    try engine.close()
    let inspector = try Inspector(at: TinyDatabase.path, fileSystem: tiny.disk)
    let defects = try inspector.check()
    #expect(defects.isEmpty, "\(defects)")
  }

  @Test func treesOfATransactionHoldTheirInvariants() throws {
    let engine = try TinyDatabase(pageSize: 512).open()
    var random = SeededRandom(seed: 11)
    try TinyDatabase.fill(engine, count: 200)
    try engine.checkpoint()
    try engine.write { tx in
      let found = tx.tree(named: "texts")
      let texts = try #require(found)
      for step in 0..<600 {
        let key = "key\(random.below(300))"
        if random.oneIn(3) {
          _ = try tx.delete(key, in: texts)
        } else {
          try tx.put([UInt8](repeating: 1, count: random.below(100)), for: key, in: texts)
        }
        if step % 10 == 0 {
          let broken = engine.core.transactionDefects()
          #expect(broken.isEmpty, "step \(step): \(broken)")
        }
      }
    }
    try engine.close()
  }

  @Test func damagedPageOnTheDiskIsFoundThoughItIsInMemory() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 400)
    try engine.checkpoint()
    let before = try DatabaseContent(of: engine)
    tiny.disk.flipBit(3, at: 5 * 4096 + 100, of: TinyDatabase.path)
    let error = #expect(throws: StorageError.self) { try engine.verify() }
    #expect(error?.code == .damagedPage)
    #expect(error?.page == PageNumber(5))
    // Readers go on with what is in memory.
    let after = try DatabaseContent(of: engine)
    #expect(after == before)
  }

  @Test func lostMetaPageIsFound() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 40)
    try engine.checkpoint()
    for slot in 0..<2 { tiny.disk.flipBit(0, at: slot * 4096 + 50, of: TinyDatabase.path) }
    let error = #expect(throws: StorageError.self) { try engine.verify() }
    #expect(error?.code == .damagedMetaPage)
    #expect(error?.message.hasPrefix("The disk no longer has the meta page of checkpoint ") == true)
  }

  @Test func progressIsReportedAndEndsTheCheck() throws {
    struct Enough: Error {}
    let engine = try TinyDatabase(pageSize: 512).open()
    try TinyDatabase.fill(engine, count: 4000)
    try engine.checkpoint()
    var last = 0
    try engine.verify { progress in
      #expect(progress.done > last)
      last = progress.done
    }
    #expect(last > 100)
    #expect(throws: Enough.self) { try engine.verify { _ in throw Enough() } }
    // Nothing is kept by the check that was given up.
    try engine.close()
    #expect(throws: StorageError.self) { try engine.verify() }
  }

  @Test func goesOnWhileWritersWrite() async throws {
    let folder = TemporaryFolder()
    let options = StorageOptions(durability: .relaxed, logLimit: 64 << 10)
    let engine = try StorageEngine(
      at: folder.path + "/a.quire", options: options,
      environment: StorageEnvironment(initialSegmentByteCount: 64 << 10))
    try TinyDatabase.fill(engine, count: 400)
    let writer = Task.detached {
      for round in 0..<12 { try TinyDatabase.fill(engine, count: 400, seed: UInt64(round)) }
    }
    for _ in 0..<8 {
      let result = try await engine.verify()
      #expect(result.defects.isEmpty)
    }
    try await writer.value
    try await engine.verify()
    try engine.close()
  }

  @Test func cancelledTaskEndsTheCheck() async throws {
    let engine = try TinyDatabase(pageSize: 512).open()
    try TinyDatabase.fill(engine, count: 2000)
    let task = Task.detached {
      while !Task.isCancelled { await Task.yield() }
      try await engine.verify()
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
