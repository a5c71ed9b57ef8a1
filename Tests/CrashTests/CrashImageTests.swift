// What a power cut may do to the bytes of the simulated disk, and above all what it may not.

import QuireStorage
import QuireTesting
import Testing

@Suite struct CrashImageTests {
  /// A durable file of `count` ones on a disk of its own, open.
  private func makeFile(_ count: Int) throws -> (disk: SimulatedDisk, file: any File) {
    let disk = SimulatedDisk()
    return (disk, try disk.createDurably("/a", fill(1, count)))
  }

  @Test func allNewAndAllOld() throws {
    let (disk, file) = try makeFile(1000)
    try file.put(fill(2, 300), at: 900)
    try file.resize(to: 1100)
    try file.put(fill(3, 10), at: 0)
    #expect(disk.crashImage(.allNew).bytes(of: "/a") == disk.bytes(of: "/a"))
    #expect(disk.crashImage(.allOld).bytes(of: "/a") == fill(1, 1000))
    #expect(disk.durableBytes(of: "/a") == fill(1, 1000))
    #expect(disk.pendingByteCount(of: "/a") == 310)
    try file.synchronize()
    #expect(disk.crashImage(.allOld).bytes(of: "/a") == disk.bytes(of: "/a"))
    #expect(disk.pendingUnitCount() == 0)
  }

  @Test func anImageIsAFreshDisk() throws {
    let (disk, file) = try makeFile(10)
    try file.lock(.exclusive)
    disk.powerOff()
    #expect(errorCode { _ = try file.get(1, at: 0) } == SystemCode.inputOutput)
    #expect(file.lockHolder() == nil)
    let image = disk.crashImage(.random(1))
    #expect(image.operationCount == 0)
    #expect(!image.isPoweredOff)
    #expect(image.crashReport != nil)
    let after = try image.open("/a", .readWrite)
    try after.lock(.exclusive)
    try after.put([5], at: 0)
    #expect(disk.bytes(of: "/a") == fill(1, 10))
    file.close()
    #expect(image.brokenInvariant() == nil)
  }

  @Test(arguments: 0..<12) func thePowerGoesWhenPlanned(limit: Int) throws {
    let disk = SimulatedDisk()
    disk.isTracing = true
    disk.powerOff(beforeOperation: limit)
    let code = errorCode {
      let file = try disk.createDurably("/a", [1])
      for index in 0..<20 { try file.put([2], at: index) }
    }
    #expect(code == SystemCode.inputOutput)
    #expect(disk.operationCount == limit)
    #expect(disk.trace.count == limit)
    #expect(disk.isPoweredOff)
    let before = disk.bytes(of: "/a")
    #expect(errorCode { try disk.unlink("/a") } == SystemCode.inputOutput)
    #expect(disk.operationCount == limit)
    #expect(disk.bytes(of: "/a") == before)
  }

  @Test func thePowerGoesBeforeAChange() throws {
    let (disk, file) = try makeFile(10)
    disk.powerOff(beforeChange: disk.changeCount + 1)
    for _ in 0..<5 { _ = try file.get(1, at: 0) }
    try file.put([2], at: 0)
    _ = try file.get(1, at: 0)
    #expect(errorCode { try file.put([3], at: 0) } == SystemCode.inputOutput)
    #expect(errorCode { _ = try file.get(1, at: 0) } == SystemCode.inputOutput)
    #expect(disk.bytes(of: "/a")?.first == 2)
  }

  /// A workload of random writes, resizes and syncs; then crashes, each of which must leave alone what no pending
  /// operation touches, and must give a length that the file had since its last sync.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: 0..<300)
  func bytesThatWereNotTouchedKeepTheirValue(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let (disk, file) = try makeFile(1500)
    var durable = fill(1, 1500)
    var live = durable
    var touched: [Range<Int>] = []
    var lengths = [live.count]
    for step in 0..<20 {
      switch random.below(10) {
      case 0:
        try file.synchronize()
        durable = live
        touched = []
        lengths = [live.count]
      case 1:
        let length = random.below(3000)
        try file.resize(to: length)
        touched.append(min(length, live.count)..<20_000)
        live = Array(live.prefix(length)) + fill(0, max(0, length - live.count))
        lengths.append(length)
      default:
        let offset = random.below(live.count + 200)
        let bytes = fill(UInt8(10 + step), 1 + random.below(700))
        try file.put(bytes, at: offset)
        live += fill(0, max(0, offset + bytes.count - live.count))
        live.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        touched.append(offset..<offset + bytes.count)
        lengths.append(live.count)
      }
    }
    #expect(disk.bytes(of: "/a") == live)
    #expect(disk.brokenInvariant() == nil)
    for crash in 0..<10 {
      let image = disk.crashImage(.random(UInt64(seed * 1000 + crash)))
      let found = try #require(image.bytes(of: "/a"))
      try #require(lengths.contains(found.count))
      var expected = Array(durable.prefix(found.count)) + fill(0, max(0, found.count - durable.count))
      for range in touched {
        let range = range.clamped(to: 0..<found.count)
        expected.replaceSubrange(range, with: found[range])
      }
      try #require(found == expected, "\(image.crashReport?.description ?? "")")
      #expect(image.brokenInvariant() == nil)
    }
  }

  @Test func aSyncedWriteAlwaysStays() throws {
    for seed in 0..<3000 as Range<UInt64> {
      let (disk, file) = try makeFile(0)
      try file.put(fill(7, 700), at: 100)
      try file.synchronize()
      try file.put(fill(8, 200), at: 800)
      try file.put(fill(8, 50), at: 50)
      let found = try #require(disk.crashImage(.random(seed)).bytes(of: "/a"))
      try #require(Array(found[100..<800]) == fill(7, 700))
    }
  }

  @Test func everyFateComesUp() throws {
    let (disk, file) = try makeFile(8192)
    for index in 0..<8 { try file.put(fill(2, 700), at: index * 1024) }
    try file.put(fill(3, 100), at: 8192)
    var counts = [Int](repeating: 0, count: 6)
    var manners: Set<String> = []
    var sectorByteCounts: Set<Int> = []
    for seed in 0..<500 as Range<UInt64> {
      let report = try #require(disk.crashImage(.random(seed)).crashReport)
      let seen = [
        report.newCount, report.oldCount, report.tornCount, report.zeroCount, report.garbageCount,
        report.shortLengthCount,
      ]
      for index in counts.indices { counts[index] += seen[index] }
      manners.insert(report.manner)
      sectorByteCounts.insert(report.sectorByteCount)
    }
    #expect(counts.allSatisfy { $0 > 100 })
    #expect(manners.count == 9)
    #expect(sectorByteCounts == [512, 4096])
  }

  @Test func inOrderCrashesLeaveAPrefix() throws {
    let (disk, file) = try makeFile(0)
    for index in 0..<40 { try file.put(fill(UInt8(index + 1), 600), at: index * 600) }
    var crashCount = 0
    for seed in 0..<400 as Range<UInt64> {
      let image = disk.crashImage(.random(seed))
      guard image.crashReport?.manner == "in order", let bytes = image.bytes(of: "/a") else { continue }
      crashCount += 1
      for index in 0..<max(0, bytes.count / 600 - 1) { try #require(bytes[index * 600 + 599] == UInt8(index + 1)) }
    }
    #expect(crashCount > 20)
  }

  @Test func loseOneLosesOne() throws {
    let (disk, file) = try makeFile(2048)
    try file.put(fill(2, 1024), at: 256)
    try file.put(fill(3, 10), at: 2048)
    try disk.link("/a", to: "/b")
    // Three sectors of the first write, one of the second, one older length, one name.
    #expect(disk.pendingUnitCount() == 6)
    #expect(disk.pendingUnitCount(sectorByteCount: 4096) == 4)
    let all = fill(1, 256) + fill(2, 1024) + fill(1, 768) + fill(3, 10)
    func with(_ range: Range<Int>, _ byte: UInt8) -> [UInt8] {
      var bytes = all
      bytes.replaceSubrange(range, with: fill(byte, range.count))
      return bytes
    }
    let images = (0..<6).map { disk.crashImage(.loseOne($0)) }
    #expect(images[0].bytes(of: "/a") == with(256..<512, 1))
    #expect(images[1].bytes(of: "/a") == with(512..<1024, 1))
    #expect(images[2].bytes(of: "/a") == with(1024..<1280, 1))
    #expect(images[3].bytes(of: "/a") == with(2048..<2058, 0))
    #expect(images[4].bytes(of: "/a") == Array(all[..<2048]))
    #expect(images[5].bytes(of: "/a") == all)
    #expect(images[5].names == ["/a"])
    #expect(images[..<5].allSatisfy { $0.names == ["/a", "/b"] })
  }

  @Test func aKilledProcessLosesNothingButProvesNothing() throws {
    let (disk, file) = try makeFile(100)
    try file.lock(.exclusive)
    try file.put(fill(2, 10), at: 0)
    try disk.link("/a", to: "/b")
    let image = disk.processKillImage()
    #expect(image.names == ["/a", "/b"])
    #expect(image.bytes(of: "/a") == fill(2, 10) + fill(1, 90))
    #expect(image.operationCount == 0)
    #expect(image.crashImage(.allOld).bytes(of: "/a") == fill(1, 100))
    let after = try image.open("/a", .readWrite)
    try after.lock(.exclusive)
    try after.put(fill(3, 10), at: 5)
    #expect(image.brokenInvariant() == nil)
    try after.synchronize()
    #expect(image.crashImage(.allOld).bytes(of: "/a") == fill(2, 5) + fill(3, 10) + fill(1, 85))
  }

  @Test func theSameSeedGivesTheSameImage() throws {
    for seed in 0..<100 as Range<UInt64> {
      let images = try (0..<2).map { _ in
        let (disk, file) = try makeFile(5000)
        for index in 0..<10 { try file.put(fill(UInt8(index), 900), at: index * 800) }
        return disk.crashImage(.random(seed))
      }
      #expect(images[0].bytes(of: "/a") == images[1].bytes(of: "/a"))
      #expect(images[0].crashReport == images[1].crashReport)
    }
  }
}
