// Drives that lie and people who meddle.

import QuireStorage
import QuireTesting
import Testing

@Suite struct DiskOverlayTests {
  private func makeFile(_ count: Int) throws -> (disk: SimulatedDisk, file: any File) {
    let disk = SimulatedDisk()
    return (disk, try disk.createDurably("/a", fill(1, count)))
  }

  @Test func flippedBits() throws {
    let (disk, file) = try makeFile(100)
    #expect(disk.flipBit(3, at: 50, of: "/a"))
    #expect(!disk.flipBit(3, at: 100, of: "/a"))
    #expect(!disk.flipBit(3, at: 0, of: "/b"))
    let expected = fill(1, 50) + [9] + fill(1, 49)
    #expect(try file.get(100, at: 0) == expected)
    #expect(disk.durableBytes(of: "/a") == expected)
    disk.flipBit(3, at: 50, of: "/a")
    #expect(disk.bytes(of: "/a") == fill(1, 100))
    let count = disk.operationCount
    disk.flipBit(0, at: 0, of: "/a")
    #expect(disk.operationCount == count)
  }

  @Test func overlaysLieUnderWhatIsPending() throws {
    let (disk, file) = try makeFile(100)
    try file.put([5], at: 50)
    disk.overwrite(fill(7, 3), at: 49, of: "/a")
    #expect(try file.get(5, at: 48) == [1, 7, 5, 7, 1])
    #expect(disk.durableBytes(of: "/a")?[48..<53] == [1, 7, 7, 7, 1])
    try file.synchronize()
    #expect(disk.durableBytes(of: "/a")?[48..<53] == [1, 7, 5, 7, 1])
  }

  @Test func lostWrites() throws {
    let (disk, file) = try makeFile(100)
    disk.lie(.lost, aboutNextWriteOf: "/a", skipping: 1)
    try file.put(fill(2, 10), at: 0)
    try file.put(fill(3, 10), at: 10)
    try file.put(fill(4, 5), at: 15)
    let written = fill(2, 10) + fill(3, 5) + fill(4, 5)
    let kept = fill(2, 10) + fill(1, 5) + fill(4, 5)
    #expect(try file.get(20, at: 0) == written)
    #expect(disk.crashImage(.allNew).bytes(of: "/a") == kept + fill(1, 80))
    try file.synchronize()
    #expect(try file.get(20, at: 0) == kept)
    try file.put(fill(3, 10), at: 10)
    try file.synchronize()
    #expect(disk.durableBytes(of: "/a") == fill(2, 10) + fill(3, 10) + fill(1, 80))
  }

  @Test func aLostWriteAtTheEndLeavesZeros() throws {
    let (disk, file) = try makeFile(10)
    disk.lie(.lost, aboutNextWriteOf: "/a")
    try file.put(fill(2, 10), at: 10)
    try file.synchronize()
    #expect(disk.bytes(of: "/a") == fill(1, 10) + fill(0, 10))
    #expect(disk.durableBytes(of: "/a") == fill(1, 10) + fill(0, 10))
  }

  @Test func misdirectedWrites() throws {
    let (disk, file) = try makeFile(100)
    disk.lie(.misdirected(to: 50), aboutNextWriteOf: "/a")
    try file.put(fill(2, 10), at: 0)
    #expect(try file.get(10, at: 0) == fill(2, 10))
    try file.synchronize()
    let found = fill(1, 50) + fill(2, 10) + fill(1, 40)
    #expect(disk.bytes(of: "/a") == found)
    #expect(disk.durableBytes(of: "/a") == found)
    disk.duplicate(50..<60, to: 95, of: "/a")
    #expect(disk.bytes(of: "/a") == found.dropLast(5) + fill(2, 10))
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func stalePages() throws {
    let (disk, file) = try makeFile(3 * 4096)
    for byte in 2...5 as ClosedRange<UInt8> {
      try file.put(fill(byte, 4000), at: 4096)
      try file.put(fill(byte, 10), at: 5000)
      try file.synchronize()
    }
    #expect(disk.staleVersionCount(at: 5000, of: "/a") == 4)
    #expect(disk.staleVersionCount(at: 0, of: "/a") == 0)
    #expect(!disk.makeStale(at: 0, of: "/a"))
    #expect(!disk.makeStale(at: 5000, of: "/a", versionsBack: 5))
    for (versionsBack, byte) in [(1, 4), (2, 3), (3, 2)] {
      let copy = disk.copy()
      let expected = fill(1, 4096) + fill(UInt8(byte), 4000) + fill(1, 96 + 4096)
      #expect(copy.makeStale(at: 5000, of: "/a", versionsBack: versionsBack))
      #expect(copy.bytes(of: "/a") == expected)
    }
    #expect(disk.makeStale(at: 5000, of: "/a", versionsBack: 4))
    #expect(disk.bytes(of: "/a") == fill(1, 3 * 4096))
  }

  @Test func theHistoryIsBounded() throws {
    let disk = SimulatedDisk()
    disk.limitHistory(to: 3)
    let file = try disk.createDurably("/a", fill(1, 8192))
    for byte in 2...9 as ClosedRange<UInt8> {
      try file.put([byte], at: 0)
      try file.synchronize()
    }
    #expect(disk.staleVersionCount(at: 0, of: "/a") == 3)
    disk.makeStale(at: 0, of: "/a", versionsBack: 3)
    #expect(disk.bytes(of: "/a")?.first == 6)
    disk.limitHistory(to: 0)
    try file.put([1], at: 0)
    try file.synchronize()
    #expect(disk.staleVersionCount(at: 0, of: "/a") == 0)
  }

  @Test func bursts() throws {
    let (disk, _) = try makeFile(10_000)
    disk.burst(at: 3000, byteCount: 4096, of: "/a", seed: 1)
    let bytes = try #require(disk.bytes(of: "/a"))
    #expect(Array(bytes[..<3000]) == fill(1, 3000))
    #expect(Array(bytes[7096...]) == fill(1, 2904))
    #expect(Set(bytes[3000..<7096]).count > 200)
    disk.burst(at: 9990, byteCount: 100, of: "/a", seed: 1)
    #expect(disk.bytes(of: "/a")?.count == 10_000)
  }

  @Test func filesUnderOurFeet() throws {
    let (disk, file) = try makeFile(100)
    disk.setLength(40, of: "/a")
    #expect(try file.status().byteCount == 40)
    disk.setLength(60, of: "/a")
    #expect(try file.get(100, at: 0) == fill(1, 40) + fill(0, 20))
    disk.extendWithNoise(by: 40, of: "/a", seed: 3)
    #expect(disk.durableBytes(of: "/a")?.count == 100)
    disk.install([8, 8], at: "/b")
    let identity = try file.status().identity
    try disk.rename("/b", to: "/a")
    try disk.synchronizeDirectory(of: "/a")
    #expect(disk.names == ["/a"])
    #expect(try file.status().linkCount == 0)
    #expect(try disk.open("/a", .readOnly).get(9, at: 0) == [8, 8])
    #expect(try disk.open("/a", .readOnly).status().identity != identity)
    #expect(try file.get(2, at: 0) == [1, 1])
    disk.remove("/a")
    #expect(disk.names == [] && disk.durableNames == [])
    #expect(disk.usedByteCount == 100)
    disk.install([1], at: "/c")
    disk.install([1, 2], at: "/c")
    #expect(disk.crashImage(.allOld).bytes(of: "/c") == [1, 2])
    #expect(disk.usedByteCount == 102)
    #expect(disk.brokenInvariant() == nil)
  }
}
