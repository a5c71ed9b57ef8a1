// Calls that are held on their way to the disk, and folders whose sync fails.

import Dispatch
import QuireStorage
import QuireTesting
import Testing

@Suite struct DiskInterceptionTests {
  @Test("A sync that is held covers what was written before it was called, and nothing later")
  func heldSyncCoversTheLeast() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", fill(1, 100))
    try file.put(fill(2, 10), at: 0)
    let sync = disk.hold(.synchronize, of: "/a")
    let end = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      do { try file.synchronize() } catch {}
      end.signal()
    }
    #expect(sync.awaitCall())
    try file.put(fill(3, 10), at: 50)
    #expect(disk.durableBytes(of: "/a") == fill(1, 100))
    sync.release()
    end.wait()
    #expect(disk.durableBytes(of: "/a") == fill(2, 10) + fill(1, 90))
    #expect(disk.bytes(of: "/a") == fill(2, 10) + fill(1, 40) + fill(3, 10) + fill(1, 40))
    #expect(disk.brokenInvariant() == nil)
    try file.synchronize()
    #expect(disk.durableBytes(of: "/a") == disk.bytes(of: "/a"))
  }

  @Test("A held call goes wrong as it is released to, and calls that are not meant go by")
  func heldCallFails() throws {
    let disk = SimulatedDisk()
    let file = try disk.createDurably("/a", fill(1, 10))
    let write = disk.hold(.write, of: "/a", skipping: 1) { $0.offset >= 5 }
    // Nobody waits for what was released before.
    write.release(.errorAfter(1, SystemCode.noSpace))
    try file.put([2], at: 0)
    try file.put([2], at: 5)
    #expect(errorCode { try file.put([3, 3], at: 6) } == SystemCode.noSpace)
    #expect(write.awaitCall())
    #expect(disk.bytes(of: "/a") == [2] + fill(1, 4) + [2, 3] + fill(1, 3))
    try file.put([4], at: 9)
    disk.removeInterceptors()
    disk.intercept { $0.kind == .read ? .error(77) : nil }
    #expect(errorCode { _ = try file.get(1, at: 0) } == 77)
    // Images have nobody in between.
    #expect(errorCode { _ = try disk.processKillImage().open("/a", .readOnly).get(1, at: 0) } == nil)
  }

  @Test(
    "A sync of a folder that fails forgets names, keeps them pending, or has made them durable",
    arguments: SyncFailure.allCases)
  func failedDirectorySync(failure: SyncFailure) throws {
    for survivors in [0, 1] {
      let disk = SimulatedDisk()
      _ = try disk.createDurably("/old")
      _ = try disk.open("/new", .createNew)
      try disk.unlink("/old")
      disk.failNext(
        .synchronizeDirectory, with: .failedSync(failure, SystemCode.inputOutput, survivorsOneIn: survivors))
      #expect(errorCode { try disk.synchronizeDirectory(of: "/new") } == SystemCode.inputOutput)
      #expect(disk.names == ["/new"])
      let isPending = failure == .forgetsUntilTouched
      #expect(disk.durableNames == (survivors == 1 && !isPending ? ["/new"] : ["/old"]))
      // The next sync says that all is well.
      try disk.synchronizeDirectory(of: "/new")
      #expect(disk.durableNames == (survivors == 1 || isPending ? ["/new"] : ["/old"]))
      #expect(disk.crashImage(.allNew).names == disk.durableNames)
      #expect(disk.names == ["/new"] && disk.brokenInvariant() == nil)
    }
  }

  @Test("Calls that are paused take their time, and do what they do")
  func pausedCalls() throws {
    let disk = SimulatedDisk()
    disk.pause(DiskPauses(seed: 1, oneIn: 1, longestMicroseconds: 2000))
    let start = DispatchTime.now().uptimeNanoseconds
    let file = try disk.createDurably("/a", fill(1, 10))
    for offset in 0..<20 { try file.put([2], at: offset) }
    #expect(DispatchTime.now().uptimeNanoseconds - start > 2_000_000)
    #expect(disk.bytes(of: "/a") == fill(2, 20))
  }
}
