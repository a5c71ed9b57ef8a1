// Calls that fail: planned one by one, and drawn from plans.

import QuireStorage
import QuireTesting
import Testing

@Suite struct DiskFaultTests {
  private func makeFile(_ count: Int) throws -> (disk: SimulatedDisk, file: any File) {
    let disk = SimulatedDisk()
    return (disk, try disk.createDurably("/a", fill(1, count)))
  }

  @Test func plannedFaultsStrikeOnce() throws {
    let (disk, file) = try makeFile(100)
    disk.fail(operation: disk.operationCount + 1, with: .error(SystemCode.inputOutput))
    disk.failNext(.write, of: "/a", skipping: 1, with: .errorAfter(3, SystemCode.noSpace))
    disk.failNext(.write, of: "/other", with: .error(SystemCode.inputOutput))
    #expect(try file.get(1, at: 0) == [1])
    #expect(errorCode { _ = try file.get(1, at: 0) } == SystemCode.inputOutput)
    #expect(try file.put(fill(2, 5), at: 0) == 5)
    #expect(errorCode { try file.put(fill(3, 5), at: 0) } == SystemCode.noSpace)
    #expect(try file.get(5, at: 0) == [3, 3, 3, 2, 2])
    #expect(try file.put(fill(4, 5), at: 0) == 5)
    disk.failNext(.write, with: .short(2))
    #expect(try file.put(fill(5, 5), at: 0) == 2)
    disk.failNext(.read, with: .short(0))
    #expect(try file.get(5, at: 0) == [5])
    #expect(try file.get(5, at: 0) == [5, 5, 4, 4, 4])
  }

  @Test func everyCallCanFail() throws {
    let (disk, file) = try makeFile(10)
    let calls: [(OperationKind, () throws -> Void)] = [
      (.open, { _ = try disk.open("/a", .readOnly) }),
      (.link, { try disk.link("/a", to: "/b") }),
      (.rename, { try disk.rename("/a", to: "/b") }),
      (.unlink, { try disk.unlink("/a") }),
      (.synchronizeDirectory, { try disk.synchronizeDirectory(of: "/a") }),
      (.read, { _ = try file.get(1, at: 0) }),
      (.write, { try file.put([9], at: 0) }),
      (.resize, { try file.resize(to: 3) }),
      (.synchronize, { try file.synchronize() }),
      (.status, { _ = try file.status() }),
      (.lock, { try file.lock(.exclusive) }),
      (.allocate, { try file.allocate(from: 0, count: 20) }),
    ]
    #expect(calls.map(\.0) == OperationKind.allCases)
    for (kind, call) in calls {
      disk.failNext(kind, with: .error(77))
      #expect(errorCode(call) == 77, "\(kind)")
    }
    #expect(disk.bytes(of: "/a") == fill(1, 10))
    #expect(disk.names == ["/a"])
    #expect(disk.openFileCount() == 1)
    #expect(disk.counters.failureCount == calls.count)
  }

  @Test func faultsCanBeSwitchedOff() throws {
    let (disk, file) = try makeFile(4096)
    var plan = FaultPlan()
    plan[.readError] = 1
    disk.setFaultPlan(plan)
    disk.failNext(.write, with: .error(SystemCode.inputOutput))
    disk.faultsAreEnabled = false
    _ = try file.get(10, at: 0)
    try file.put([1], at: 0)
    disk.faultsAreEnabled = true
    #expect(errorCode { _ = try file.get(10, at: 0) } == SystemCode.inputOutput)
    #expect(errorCode { try file.put([1], at: 0) } == SystemCode.inputOutput)
    disk.setFaultPlan(.none)
    _ = try file.get(10, at: 0)
  }

  @Test func aSyncThatForgets() throws {
    let (disk, file) = try makeFile(100)
    try file.put(fill(2, 50), at: 0)
    try file.put(fill(2, 10), at: 100)
    disk.failNext(
      .synchronize, with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
    #expect(errorCode { try file.synchronize() } == SystemCode.inputOutput)
    let seen = fill(2, 50) + fill(1, 50) + fill(2, 10)
    #expect(disk.bytes(of: "/a") == seen)
    // The next sync says that all is well and writes nothing; the process can even end in between.
    for disk in [disk, disk.processKillImage()] {
      let again = try disk.open("/a", .readWrite)
      try again.put([3], at: 60)
      try again.synchronize()
      #expect(disk.bytes(of: "/a")?[..<60] == seen[..<60])
      let kept = fill(1, 60) + [3] + fill(1, 39)
      #expect(disk.durableBytes(of: "/a") == kept)
      #expect(disk.crashImage(.allNew).bytes(of: "/a") == kept)
      // As long as the file is open its length stays, with nothing in it; it goes with the last handle.
      disk.evictCache()
      #expect(disk.bytes(of: "/a") == kept + fill(0, 10))
      again.close()
      file.close()
      disk.evictCache()
      #expect(disk.bytes(of: "/a") == kept)
      #expect(disk.brokenInvariant() == nil)
    }
  }

  @Test func aSyncThatForgetsUntilThePageIsTouched() throws {
    let (disk, file) = try makeFile(3 * 4096)
    try file.put(fill(2, 4096), at: 2048)
    disk.failNext(
      .synchronize, with: .failedSync(.forgetsUntilTouched, SystemCode.inputOutput, survivorsOneIn: 0))
    #expect(errorCode { try file.synchronize() } == SystemCode.inputOutput)
    try file.put([3], at: 8192)
    try file.synchronize()
    let kept = fill(1, 8192) + [3] + fill(1, 4095)
    #expect(disk.durableBytes(of: "/a") == kept)
    try file.put([4], at: 5000)
    #expect(disk.brokenInvariant() == nil)
    try file.synchronize()
    let found = try #require(disk.durableBytes(of: "/a"))
    #expect(Array(found[..<4096]) == fill(1, 4096))
    let second = fill(2, 904) + [4] + fill(2, 1143) + fill(1, 2048)
    #expect(Array(found[4096..<8192]) == second)
  }

  @Test func aSyncThatReverts() throws {
    let (disk, file) = try makeFile(100)
    try file.put(fill(2, 50), at: 80)
    disk.failNext(.synchronize, with: .failedSync(.reverts, SystemCode.noSpace, survivorsOneIn: 0))
    #expect(errorCode { try file.synchronize() } == SystemCode.noSpace)
    #expect(disk.bytes(of: "/a") == fill(1, 100))
    #expect(disk.usedByteCount == 100)
    try file.synchronize()
    #expect(disk.crashImage(.allNew).bytes(of: "/a") == fill(1, 100))
  }

  @Test func aFailedSyncMayHaveWrittenSome() throws {
    let (disk, file) = try makeFile(64 * 512)
    try file.put(fill(2, 64 * 512), at: 0)
    disk.failNext(.synchronize, with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 3))
    #expect(errorCode { try file.synchronize() } == SystemCode.inputOutput)
    let found = try #require(disk.durableBytes(of: "/a"))
    let sectors = (0..<64).map { Array(found[$0 * 512..<$0 * 512 + 512]) }
    #expect(Set(sectors) == [fill(1, 512), fill(2, 512)])
  }

  @Test func badSectorsStayBadUntilTheyAreWritten() throws {
    let (disk, file) = try makeFile(4096)
    disk.failNext(.read, with: .badSector(at: 1100))
    #expect(try file.get(4096, at: 0).count == 1024)
    #expect(errorCode { _ = try file.get(1, at: 1024) } == SystemCode.inputOutput)
    #expect(errorCode { _ = try file.get(1, at: 1535) } == SystemCode.inputOutput)
    #expect(try file.get(4096, at: 1536).count == 2560)
    disk.faultsAreEnabled = false
    #expect(try file.get(4096, at: 0).count == 4096)
    disk.faultsAreEnabled = true
    try file.put([1], at: 1100)
    #expect(try file.get(4096, at: 0).count == 4096)
    disk.failNext(.read, with: .badSector(at: 0))
    #expect(errorCode { _ = try file.get(1, at: 0) } == SystemCode.inputOutput)
    disk.setFaultPlan(.none)
    _ = try file.get(1, at: 0)
    // One that a test made is a property of the medium.
    disk.makeUnreadable(10..<20, of: "/a")
    disk.faultsAreEnabled = false
    #expect(errorCode { _ = try file.get(20, at: 15) } == SystemCode.inputOutput)
    #expect(errorCode { _ = try disk.crashImage(.allNew).open("/a", .readOnly).get(1, at: 15) } != nil)
  }

  @Test func aFullDiskIsFullForAWhile() throws {
    let (disk, file) = try makeFile(100)
    var plan = FaultPlan()
    plan[.diskFull] = 4
    plan.fullPeriod = 10
    plan.fullCode = SystemCode.quotaExceeded
    disk.setFaultPlan(plan)
    var results: [Int32?] = []
    for index in 0..<400 {
      try file.put([2], at: index % 100)
      results.append(errorCode { try file.put([2], at: disk.bytes(of: "/a")?.count ?? 0) })
    }
    #expect(Set(results) == [nil, SystemCode.quotaExceeded])
    let changes = zip(results, results.dropFirst()).count { $0 != $1 }
    #expect(changes > 20 && changes < 200)
  }

  /// The complete transfers of the engine bear what every program has to bear.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func completeTransfersBearHarmlessFaults(seed: UInt64) throws {
    let (disk, file) = try makeFile(0)
    var plan = FaultPlan(seed: seed, allowing: FaultPlan.harmlessKinds)
    if seed % 2 == 0 { for kind in FaultPlan.harmlessKinds { plan[kind] = 3 } }
    disk.setFaultPlan(plan)
    for index in 0..<20 {
      let bytes = fill(UInt8(index), 100 + index)
      try bytes.withUnsafeBytes { try file.writeFully($0, at: index * 200) }
      var found = fill(99, bytes.count)
      try found.withUnsafeMutableBytes { try file.readFully(into: $0, at: index * 200) }
      #expect(found == bytes)
    }
    if seed % 2 == 0 { #expect(disk.counters.failureCount > 5 && disk.counters.shortCount > 5) }
  }

  @Test func plansSwarm() {
    let plans = (0..<400).map { FaultPlan(seed: $0) }
    #expect(plans.count { $0.isCalm } > 40)
    for kind in FaultKind.allCases {
      let rates = Set(plans.map { $0[kind] })
      #expect(rates.count > 4, "\(kind)")
      #expect(rates.contains(0))
    }
    #expect(Set(plans.map(\.fullCode)).count == 3)
    #expect(plans.contains { $0.refusesOverwritesWhenFull })
    #expect(Set(plans.map(\.syncFailures)).count == 7)
    #expect(FaultPlan(seed: 5).description == FaultPlan(seed: 5).description)
    let some = (0..<100).map { FaultPlan(seed: $0, allowing: [.shortRead]) }
    #expect(some.allSatisfy { plan in FaultKind.allCases.allSatisfy { $0 == .shortRead || plan[$0] == 0 } })
    #expect(some.contains { !$0.isCalm })
  }

  /// A workload that goes on whatever fails.
  private func run(_ seed: UInt64) throws -> SimulatedDisk {
    var random = SeededRandom(seed: seed)
    let disk = SimulatedDisk()
    var files: [any File] = []
    disk.setFaultPlan(FaultPlan(seed: seed))
    for step in 0..<150 {
      _ = errorCode {
        let path = "/f\(random.below(3))"
        switch random.below(13) {
        case 0: files.append(try disk.open(path, random.oneIn(2) ? .createNew : .readWrite))
        case 1: try disk.link(path, to: "/f\(random.below(5))")
        case 2: if random.oneIn(4) { try disk.unlink(path) }
        case 3: try disk.synchronizeDirectory(of: path)
        case 12: try disk.rename(path, to: "/f\(random.below(5))")
        case 4 where !files.isEmpty: try files[random.below(files.count)].synchronize()
        case 5 where !files.isEmpty: try files[random.below(files.count)].resize(to: random.below(9000))
        case 6 where !files.isEmpty: try files.remove(at: random.below(files.count)).lock(.exclusive)
        case 7 where !files.isEmpty: _ = try files[random.below(files.count)].get(700, at: random.below(9000))
        case _ where !files.isEmpty:
          try files[random.below(files.count)].put(fill(UInt8(step), random.below(900)), at: random.below(9000))
        default: break
        }
      }
      if let text = disk.brokenInvariant() { Issue.record("seed \(seed), step \(step): \(text)") }
    }
    return disk
  }

  @Test func theSameSeedGivesTheSameTrace() throws {
    let count = TestSize.trials(60, divisor: 5)
    var hashes: Set<UInt64> = []
    var failureCount = 0
    for seed in 0..<UInt64(count) {
      let first = try run(seed)
      let second = try run(seed)
      try #require(first.traceHash == second.traceHash, "seed \(seed)")
      #expect(first.operationCount == second.operationCount)
      let images = [first, second].map { $0.crashImage(.random(seed)) }
      #expect(images[0].names == images[1].names)
      for name in images[0].names { #expect(images[0].bytes(of: name) == images[1].bytes(of: name)) }
      #expect(images[0].brokenInvariant() == nil)
      #expect(first.processKillImage().brokenInvariant() == nil)
      hashes.insert(first.traceHash)
      failureCount += first.counters.failureCount
    }
    #expect(hashes.count == count)
    #expect(failureCount > 500 / 60 * count)
  }

  @Test func theTraceHashSeesContent() throws {
    let hashes = try (0..<2).map { byte in
      let (disk, file) = try makeFile(10)
      try file.put([UInt8(byte)], at: 0)
      return disk.traceHash
    }
    #expect(hashes[0] != hashes[1])
  }
}
