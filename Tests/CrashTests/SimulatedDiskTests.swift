// The simulated disk as a file system: what programs see while nothing goes wrong.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SimulatedDiskTests {
  @Test func readsBackWhatWasWritten() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/a", .createNew)
    #expect(try file.get(10, at: 0) == [])
    #expect(try file.put([1, 2, 3], at: 5) == 3)
    #expect(try file.get(100, at: 0) == [0, 0, 0, 0, 0, 1, 2, 3])
    #expect(try file.get(2, at: 6) == [2, 3])
    #expect(try file.get(2, at: 8) == [])
    #expect(try file.get(2, at: 800) == [])
    try file.put([9], at: 6)
    #expect(disk.bytes(of: "/a") == [0, 0, 0, 0, 0, 1, 9, 3])
    try file.resize(to: 7)
    try file.resize(to: 9)
    #expect(disk.bytes(of: "/a") == [0, 0, 0, 0, 0, 1, 9, 0, 0])
    #expect(try file.status().byteCount == 9)
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func opensAsAsked() throws {
    let disk = SimulatedDisk()
    #expect(errorCode { _ = try disk.open("/a", .readWrite) } == SystemCode.noEntry)
    let file = try disk.open("/a", .createNew)
    #expect(errorCode { _ = try disk.open("/a", .createNew) } == SystemCode.exists)
    let reader = try disk.open("/a", .readOnly)
    #expect(errorCode { try reader.put([1], at: 0) } == SystemCode.badFile)
    #expect(errorCode { try reader.resize(to: 0) } == SystemCode.badFile)
    #expect(errorCode { try file.put([1], at: -1) } == SystemCode.invalid)
    file.close()
    file.close()
    #expect(errorCode { _ = try file.get(1, at: 0) } == SystemCode.badFile)
    #expect(disk.openFileCount() == 1)
  }

  @Test func keepsAnUnlinkedFileUntilItIsClosed() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", [1, 2])
    let identity = try file.status().identity
    try disk.link("/a", to: "/b")
    #expect(errorCode { try disk.link("/a", to: "/b") } == SystemCode.exists)
    #expect(errorCode { try disk.link("/c", to: "/d") } == SystemCode.noEntry)
    #expect(try file.status().linkCount == 2)
    #expect(try disk.open("/b", .readOnly).status().identity == identity)
    try disk.unlink("/a")
    try disk.unlink("/b")
    #expect(errorCode { try disk.unlink("/b") } == SystemCode.noEntry)
    #expect(try file.status().linkCount == 0)
    #expect(try file.get(5, at: 0) == [1, 2])
    try disk.synchronizeDirectory(of: "/a")
    #expect(disk.usedByteCount == 2)
    file.close()
    #expect(disk.usedByteCount == 0)
    // The number is used again, as file systems do: an identity means something only while the file is open.
    #expect(try disk.open("/new", .createNew).status().identity == identity)
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func locksBelongToTheOpenFile() throws {
    let disk = SimulatedDisk()
    let first = try disk.open("/a", .createNew)
    let second = try disk.open("/a", .readWrite, processID: 99)
    let third = try disk.open("/a", .readOnly, processID: 100)
    #expect(first.lockHolder() == nil)
    try first.lock(.exclusive)
    try first.lock(.exclusive)
    #expect(second.lockHolder() == disk.processID)
    #expect(errorCode { try second.lock(.exclusive) } == SystemCode.wouldBlock)
    #expect(errorCode { try second.lock(.shared) } == SystemCode.wouldBlock)
    try first.lock(.shared)
    try second.lock(.shared)
    #expect(errorCode { try first.lock(.exclusive) } == SystemCode.wouldBlock)
    first.close()
    try second.lock(.exclusive)
    #expect(third.lockHolder() == 99)
    // Another open file of the same inode does not take the lock along when it is closed.
    third.close()
    #expect(errorCode { try disk.open("/a", .readWrite).lock(.shared) } == SystemCode.wouldBlock)
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func aFileThatIsDroppedIsClosed() throws {
    let disk = SimulatedDisk()
    func lockAndForget() throws { try disk.open("/a", .createNew).lock(.exclusive) }
    try lockAndForget()
    #expect(disk.openFileCount(of: "/a") == 0)
    try disk.open("/a", .readWrite).lock(.exclusive)
  }

  @Test func disksAreDevicesOfTheirOwn() throws {
    let disk = SimulatedDisk()
    _ = try disk.createDurably("/a")
    let image = disk.crashImage(.allNew)
    let before = try disk.open("/a", .readOnly).status().identity
    let after = try image.open("/a", .readOnly).status().identity
    #expect(before != after)
    #expect(before.inode == after.inode)
  }

  @Test func space() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/a", .createNew)
    try file.put(fill(1, 60), at: 0)
    disk.capacity = 100
    #expect(try file.put(fill(2, 60), at: 60) == 40)
    #expect(errorCode { try file.put([3], at: 100) } == SystemCode.noSpace)
    #expect(errorCode { try file.resize(to: 101) } == SystemCode.noSpace)
    #expect(errorCode { try file.allocate(from: 90, count: 11) } == SystemCode.noSpace)
    #expect(try file.put(fill(3, 50), at: 20) == 50)
    #expect(errorCode { try disk.open("/b", .createNew).put([1], at: 0) } == SystemCode.noSpace)
    disk.capacity = 90
    #expect(errorCode { try file.put([3], at: 100) } == SystemCode.noSpace)
    #expect(try file.put(fill(3, 50), at: 20) == 50)
    disk.capacity = 110
    #expect(errorCode { try file.put([3], at: 111) } == SystemCode.noSpace)
    #expect(try file.put(fill(4, 20), at: 105) == 5)
    try file.resize(to: 10)
    #expect(disk.usedByteCount == 10)
    disk.fileByteLimit = 12
    #expect(try file.put(fill(4, 20), at: 10) == 2)
    #expect(errorCode { try file.put([3], at: 12) } == SystemCode.fileTooLarge)
    #expect(errorCode { try file.resize(to: 13) } == SystemCode.fileTooLarge)
    #expect(disk.brokenInvariant() == nil)
  }

  @Test func readOnlyMedium() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", [1])
    disk.isReadOnly = true
    #expect(errorCode { try file.put([3], at: 0) } == SystemCode.readOnly)
    #expect(errorCode { try file.resize(to: 0) } == SystemCode.readOnly)
    #expect(errorCode { try disk.unlink("/a") } == SystemCode.readOnly)
    #expect(errorCode { _ = try disk.open("/a", .readWrite) } == SystemCode.readOnly)
    #expect(errorCode { _ = try disk.open("/b", .createNew) } == SystemCode.readOnly)
    try file.synchronize()
    #expect(try disk.open("/a", .readOnly).get(1, at: 0) == [1])
    disk.isReadOnly = false
    try file.put([2], at: 0)
    disk.isReadOnly = true
    #expect(errorCode { try file.synchronize() } == SystemCode.readOnly)
  }

  @Test func countsAndTraces() throws {
    let disk = SimulatedDisk()
    disk.isTracing = true
    let file = try disk.createDurably("/a", [1, 2, 3])
    _ = try file.get(2, at: 0)
    _ = try file.get(9, at: 0)
    _ = errorCode { try disk.unlink("/b") }
    try file.put([4], at: 0)
    #expect(disk.operationCount == 8)
    #expect(disk.changeCount == 6)
    #expect(disk.counters[.read] == 2)
    #expect(disk.counters[.write] == 2)
    #expect(disk.counters[.synchronize] == 1)
    #expect(disk.counters[.synchronizeDirectory] == 1)
    #expect(disk.counters.readByteCount == 5)
    #expect(disk.counters.writtenByteCount == 4)
    #expect(disk.counters.failureCount == 1)
    #expect(disk.counters.shortCount == 1)
    #expect(disk.writeCount(of: "/a") == 2)
    #expect(disk.trace.map(\.number) == Array(0..<8))
    #expect(disk.trace.map(\.operation.kind).suffix(4) == [.read, .read, .unlink, .write])
    #expect(disk.trace[6].result == -Int(SystemCode.noEntry))
    #expect(disk.trace[4].description == "4 read /a at 0, 2 bytes, 2")
  }

  @Test func copiesAreIndependent() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", fill(1, 100))
    try file.put(fill(2, 50), at: 0)
    let copy = disk.copy()
    #expect(copy.operationCount == disk.operationCount)
    #expect(copy.traceHash == disk.traceHash)
    #expect(copy.openFileCount() == 0)
    try file.put(fill(3, 50), at: 0)
    try copy.open("/a", .readWrite).put(fill(4, 50), at: 50)
    #expect(disk.bytes(of: "/a") == fill(3, 50) + fill(1, 50))
    #expect(copy.bytes(of: "/a") == fill(2, 50) + fill(4, 50))
    #expect(copy.durableBytes(of: "/a") == fill(1, 100))
    #expect(copy.brokenInvariant() == nil)
  }

  @Test func servesThreads() async throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/a", .createNew)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          for index in 0..<100 {
            try file.put(fill(UInt8(thread), 10), at: (index * 4 + thread) * 10)
            if index % 10 == 0 { try file.synchronize() }
          }
        }
      }
      try await group.waitForAll()
    }
    let expected = (0..<400).flatMap { fill(UInt8($0 % 4), 10) }
    #expect(disk.bytes(of: "/a") == expected)
    #expect(disk.counters[.write] == 400)
    #expect(disk.crashImage(.allNew).bytes(of: "/a") == expected)
  }

  @Test("The power goes off behind a write at the front of a file, and in front of the next change")
  func powerGoesOffBehindAWrite() throws {
    let disk = SimulatedDisk()
    let (file, other) = (try disk.createDurably("/a", [1, 2, 3]), try disk.createDurably("/b", [1]))
    disk.powerOff(behindWriteTo: "/a", below: 2)
    try other.put([7], at: 0)
    try file.put([7], at: 2)
    try file.synchronize()
    try file.put([8], at: 1)
    #expect(!disk.isPoweredOff)
    #expect(try file.get(3, at: 0) == [1, 8, 7])
    #expect(errorCode { try file.synchronize() } == SystemCode.inputOutput)
    #expect(disk.isPoweredOff)
    // What was written is one of the things that the disk may or may not have.
    #expect(disk.crashImage(.allNew).bytes(of: "/a") == [1, 8, 7])
    #expect(disk.crashImage(.allOld).bytes(of: "/a") == [1, 2, 7])
    // A plan that is given up does nothing, and the next life has none.
    let next = disk.crashImage(.allNew)
    next.powerOff(behindWriteTo: "/a", below: 2)
    next.powerOff(behindWriteTo: nil)
    let again = try next.open("/a", .readWrite)
    try again.put([9], at: 0)
    try again.synchronize()
    #expect(!next.isPoweredOff)
  }
}
