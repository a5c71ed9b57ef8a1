// What is not worth its place in the log, what is written home ahead of a commit, and how long the log may become.

import QuireStorage
import QuireTesting
import Testing

@Suite struct UnloggedCommitTests {
  private struct Stopped: Error {}

  private static let kibibyte = 1 << 10

  private func open(
    _ disk: SimulatedDisk, _ options: StorageOptions, _ change: (inout StorageEnvironment) -> Void
  ) throws -> StorageEngine {
    var environment = disk.environment(segmentByteCount: 32 * Self.kibibyte, partByteCount: 500)
    change(&environment)
    return try StorageEngine(at: "/db", options: options, environment: environment)
  }

  private func count(_ engine: StorageEngine) throws -> Int {
    try engine.read { tx in try tx.tree(named: "t").map { try tx.count(of: $0) } ?? 0 }
  }

  private func put(_ keys: Range<Int>, _ mark: Int, _ tx: borrowing WriteTransaction) throws {
    let found = tx.tree(named: "t")
    let tree = try found ?? tx.createTree("t", keys: .int64)
    for key in keys { try tx.put([UInt8](marked: mark, count: 60), for: Int64(key), in: tree) }
  }

  @Test("A transaction longer than all data before it is written home at once, and one that is shorter is logged")
  func outgrowsData() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 256 * Self.kibibyte)
    let engine = try open(disk, options) { $0.unloggedByteCount = 4 * Self.kibibyte }
    try engine.write { tx in
      try put(0..<40, 0, tx)
      #expect(!engine.core.context.log.isGivenUp, "Of a few parts nobody knows what comes of them.")
      try put(40..<1500, 0, tx)
      #expect(engine.core.context.log.isGivenUp)
    }
    let first = engine.statistics
    #expect(first.checkpoints == 1 && first.logBytes < 8 * Self.kibibyte)
    #expect(try count(open(disk.processKillImage(), options) { _ in }) == 1500)
    try engine.write { tx in
      try put(1500..<2000, 1, tx)
      #expect(!engine.core.context.log.isGivenUp)
    }
    #expect(engine.statistics.checkpoints == 1 && engine.statistics.logBytes > first.logBytes + 30 * Self.kibibyte)
    // Undone, half of it and as a whole.
    _ = try? engine.write { tx in
      try put(0..<2500, 2, tx)
      do {
        try tx.savepoint { tx throws in
          try put(2500..<9000, 3, tx)
          throw Stopped()
        }
      } catch is Stopped {}
      throw Stopped()
    }
    #expect(try count(engine) == 2000)
    #expect(try count(open(disk.processKillImage(), options) { _ in }) == 2000)
    try engine.verify()
    try engine.close()
  }

  @Test("A load hands complete pages to the system while it makes more, and syncs nothing", arguments: [false, true])
  func writesAhead(isStopped: Bool) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 16 << 20, logLimit: 256 * Self.kibibyte)
    let engine = try open(disk, options) { _ in }
    try engine.write { tx in try put(0..<100, 0, tx) }
    let before = engine.statistics
    var written = 0
    do {
      try engine.write { tx in
        let tree = try tx.createTree("loaded", keys: .int64)
        try tx.bulkLoad(into: tree) { progress in
          if progress.done == progress.total { written = engine.statistics.pagesSpilled - before.pagesSpilled }
        } _: { loader in
          for key in (0..<20_000).reversed() { try loader.append([UInt8](marked: key, count: 40), for: Int64(key)) }
        }
        #expect(engine.statistics.dataSyncs == before.dataSyncs && engine.statistics.checkpoints == before.checkpoints)
        if isStopped { throw Stopped() }
      }
    } catch is Stopped {}
    #expect(written * options.pageSize > 512 * Self.kibibyte)
    try engine.verify()
    for engine in [engine, try open(disk.processKillImage(), options) { _ in }] {
      let loaded = try engine.read { tx in try tx.tree(named: "loaded").map { try tx.count(of: $0) } }
      #expect(loaded == (isStopped ? nil : 20_000))
      #expect(try count(engine) == 100)
      try engine.verify()
    }
    try engine.close()
    let size = disk.bytes(of: "/db")?.count ?? 0
    #expect(isStopped ? size < 64 * Self.kibibyte : size > 1000 * Self.kibibyte, "\(size)")
  }

  @Test("A load larger than memory stays within the budget while it is written ahead")
  func staysWithinTheBudget() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(
      pageSize: 512, cacheSize: TestSize.isFull ? 4 << 20 : 1 << 20, logLimit: 256 * Self.kibibyte)
    let rowCount = TestSize.isFull ? 100_000 : 30_000
    let engine = try open(disk, options) { _ in }
    var most = 0
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      let load = BulkLoadOptions(bufferByteCount: 64 * Self.kibibyte)
      try tx.bulkLoad(
        into: tree, options: load,
        progress: { _ in most = max(most, engine.core.store.residentCount + engine.core.store.frames.dirtyCount) }
      ) { loader in
        for key in 0..<rowCount { try loader.append([UInt8](marked: key, count: 100), for: Int64(key)) }
      }
    }
    let limit = options.cacheSize / options.pageSize
    #expect(engine.statistics.pagesSpilled > 2 * limit)
    #expect(most < limit * 9 / 8, "\(most) of \(limit) pages")
    #expect(engine.core.store.residentCount <= limit * 9 / 8)
    #expect(try count(engine) == rowCount)
    try engine.verify()
    try engine.close()
  }

  @Test("The log becomes as long as the data, and no longer than usual as long as there is little")
  func growsWithData() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 16 << 20, logLimit: 2048 * Self.kibibyte)
    let engine = try open(disk, options) { environment in
      (environment.usualLogByteCount, environment.partByteCount) = (64 * Self.kibibyte, 1 << 20)
    }
    func longest() -> Int { (engine.core.meta.current.segments.map(\.byteCount).max() ?? 0) / Self.kibibyte }
    func commit(_ count: Int, _ key: (Int) -> Int) throws {
      for number in 0..<count {
        try engine.write { tx in try put(key(number)..<key(number) + 4, number, tx) }
        while engine.core.stepCheckpoint() {}
      }
    }
    // The same few rows over and over.
    try commit(3000) { $0 % 100 }
    #expect(longest() == 64)
    try commit(3000) { 1000 + 4 * $0 }
    #expect((65...1200).contains(longest()), "\(longest())")
    #expect(try count(open(disk.processKillImage(), options) { _ in }) == 12_103)
    try engine.close()
  }
}
