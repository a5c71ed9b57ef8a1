// What a power cut may do to names that no directory sync has confirmed.

import QuireStorage
import QuireTesting
import Testing

@Suite struct CrashNameTests {
  @Test func namesLiveOnlyWhenTheirDirectoryWasSynced() throws {
    let disk = SimulatedDisk()
    try disk.open("/d/a", .createNew).synchronize()
    _ = try disk.createDurably("/e/b")
    try disk.unlink("/e/b")
    #expect(disk.names == ["/d/a"])
    #expect(disk.durableNames == ["/e/b"])
    #expect(disk.crashImage(.allOld).names == ["/e/b"])
    #expect(disk.crashImage(.allNew).names == ["/d/a"])
    let outcomes = Set((0..<200).map { disk.crashImage(.random($0)).names })
    #expect(outcomes == [["/d/a", "/e/b"], ["/d/a"], ["/e/b"], []])
    try disk.synchronizeDirectory(of: "/d/x")
    #expect(Set((0..<200).map { disk.crashImage(.random($0)).names }) == [["/d/a", "/e/b"], ["/d/a"]])
    try disk.synchronizeDirectory(of: "/e/x")
    #expect(disk.crashImage(.allOld).names == ["/d/a"])
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func aNameThatComesBackHasItsBytes() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", fill(1, 100))
    try file.put([2], at: 0)
    try disk.unlink("/a")
    file.close()
    #expect(disk.bytes(of: "/a") == nil)
    #expect(disk.crashImage(.allOld).bytes(of: "/a") == fill(1, 100))
    // The number must not be given away while a crash can bring the name back.
    try disk.open("/b", .createNew).put(fill(9, 5), at: 0)
    #expect(disk.crashImage(.allOld).bytes(of: "/a") == fill(1, 100))
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func aNameCanComeToMeanAnythingItMeant() throws {
    let disk = SimulatedDisk()
    _ = try disk.createDurably("/a", [1])
    try disk.unlink("/a")
    let second = try disk.open("/a", .createNew)
    try second.put([2], at: 0)
    try second.synchronize()
    #expect(Set((0..<200).map { disk.crashImage(.random($0)).bytes(of: "/a") }) == [[1], nil, [2]])
    #expect(disk.pendingUnitCount() == 2)
    #expect(disk.crashImage(.loseOne(0)).bytes(of: "/a") == [1])
    #expect(disk.crashImage(.loseOne(1)).bytes(of: "/a") == nil)
  }

  @Test func creationByLink() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/n-new", .createNew)
    try file.put(fill(5, 10), at: 0)
    try file.synchronize()
    try disk.link("/n-new", to: "/n")
    #expect(Set((0..<200).map { disk.crashImage(.random($0)).names.count }) == [0, 1, 2])
    try disk.synchronizeDirectory(of: "/n")
    try disk.unlink("/n-new")
    for seed in 0..<50 as Range<UInt64> {
      let image = disk.crashImage(.random(seed))
      #expect(image.bytes(of: "/n") == fill(5, 10))
      if let other = image.bytes(of: "/n-new") { #expect(other == fill(5, 10)) }
    }
    #expect(try disk.crashImage(.allOld).open("/n", .readOnly).status().linkCount == 2)
    #expect(try disk.crashImage(.allNew).open("/n", .readOnly).status().linkCount == 1)
  }

  @Test func pathsWithoutADirectoryAreInTheCurrentOne() throws {
    let disk = SimulatedDisk()
    _ = try disk.open("a", .createNew)
    _ = try disk.open("/b", .createNew)
    try disk.synchronizeDirectory(of: "x")
    #expect(disk.durableNames == ["a"])
    try disk.synchronizeDirectory(of: "/x")
    #expect(disk.durableNames == ["/b", "a"])
  }
}
