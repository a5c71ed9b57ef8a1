// An engine that gives its files up, and the class of protection that files get.

import Foundation
import QuireStorage
import QuireTesting
import Testing

@Suite("Suspending an engine") struct EngineSuspensionTests {
  /// The openings of files for writing.
  private final class Openings: Sendable {
    let list = Latch<[(path: String, protection: FileProtection?)]>([])
  }

  /// The real file system, noting which files are opened for writing, and with which protection.
  private final class NotingFileSystem: FileSystem {
    private let real: any FileSystem
    private let protection: FileProtection?
    private let openings: Openings

    init(_ real: any FileSystem, _ protection: FileProtection?, _ openings: Openings) {
      (self.real, self.protection, self.openings) = (real, protection, openings)
    }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
      if mode != .readOnly { openings.list.withLock { $0.append((path, protection)) } }
      return try real.open(path, mode)
    }

    func protecting(_ protection: FileProtection) -> any FileSystem {
      NotingFileSystem(real.protecting(protection), protection, openings)
    }

    func link(_ path: String, to newPath: String) throws(SystemError) { try real.link(path, to: newPath) }
    func rename(_ path: String, to newPath: String) throws(SystemError) { try real.rename(path, to: newPath) }
    func unlink(_ path: String) throws(SystemError) { try real.unlink(path) }
    func synchronizeDirectory(of path: String) throws(SystemError) { try real.synchronizeDirectory(of: path) }
    func canonicalPath(_ path: String) -> String { real.canonicalPath(path) }
    func exists(_ path: String) -> Bool { real.exists(path) }
    func freeByteCount(at path: String) -> Int? { real.freeByteCount(at: path) }
    func change(of file: any File, byteCount: Int) -> FileChange? { real.change(of: file, byteCount: byteCount) }
  }

  private func open(_ disk: SimulatedDisk, scheduling: Scheduling = .stepped) throws -> StorageEngine {
    try StorageEngine(
      at: "/db", options: StorageOptions(cacheSize: 2 << 20, durability: .relaxed, maintainsWhenIdle: false),
      environment: StorageEnvironment(
        fileSystem: disk, random: { 7 }, scheduling: scheduling, allowsTestPages: true))
  }

  @Test("Every file that is opened for writing gets the class that was chosen, later segments and backups too")
  func protection() throws {
    for chosen in [nil] + FileProtection.allCases.map(Optional.some) {
      let folder = TemporaryFolder()
      let noted = Openings()
      var options = StorageOptions(durability: .relaxed, logLimit: 1 << 20)
      options.fileProtection = chosen
      let engine = try StorageEngine(
        at: folder.path + "/a.quire", options: options,
        environment: StorageEnvironment(
          fileSystem: NotingFileSystem(RealFileSystem(), nil, noted), initialSegmentByteCount: 64 << 10))
      let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      for round in 0..<8 {
        try engine.write { tx throws in
          for key in 0..<100 {
            try tx.put([UInt8](repeating: UInt8(round), count: 800), for: Int64(key), in: tree)
          }
        }
        try engine.checkpoint()
      }
      try engine.backup(to: folder.path + "/b.quire")
      try engine.close()
      let openings = noted.list.withLock { $0 }
      #expect(Set(openings.map(\.path)).count > 4)
      #expect(openings.contains { $0.path.hasSuffix("a.quire-log-1") || $0.path.contains("log") })
      #expect(openings.allSatisfy { $0.protection == chosen }, "\(String(describing: chosen))")
    }
  }

  @Test("A suspended engine has closed its files, lost nothing, and says what it is; pins do not stand in the way")
  func suspended() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx throws in try tx.put([1] as [UInt8], for: Int64(1), in: tree) }
    let pin = try engine.pin()
    let read = try engine.core.beginRead()
    let refused = #expect(throws: StorageError.self) { try engine.core.suspend(until: 0) }
    #expect(refused?.code == .inUse && !engine.core.isSuspended)
    _ = consume read
    try engine.core.suspend(until: 0)
    #expect(engine.core.isSuspended && disk.openFileCount() == 0)
    try engine.core.suspend(until: nil)
    let calls: [() throws -> Void] = [
      { _ = try engine.pin() }, { try engine.read { _ in } }, { try engine.write { _ in } }, { try engine.flush() },
      { try engine.checkpoint() }, { try pin.read { _ in } }, { _ = try engine.verify() },
    ]
    for call in calls {
      let error = #expect(throws: StorageError.self) { try call() }
      #expect(error?.code == .suspended)
    }
    let next = try open(disk)
    #expect(try next.read { tx in try tx.value(for: Int64(1), in: tree) } == [1])
    #expect(!pin.isOf(next) && pin.isOf(engine))
    try engine.close()
    let closed = #expect(throws: StorageError.self) { try engine.flush() }
    #expect(closed?.code == .closed)
    try next.verify()
    try next.close()
  }

  @Test("A checkpoint that runs is given up, and its places and its caller are not forgotten") func checkpoint() throws
  {
    let disk = SimulatedDisk()
    let engine = try open(disk, scheduling: .threads)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.checkpoint()
    try engine.write { tx throws in
      for key in 0..<200 { try tx.put([UInt8](repeating: 3, count: 1000), for: Int64(key), in: tree) }
    }
    try engine.flush()
    let held = disk.hold(.write, of: "/db")
    let outcome = Latch<StorageError?>(nil)
    let ended = DispatchSemaphore(value: 0)
    try ThreadStarter.startThread {
      do throws(StorageError) { try engine.checkpoint() } catch { outcome.withLock { $0 = error } }
      ended.signal()
    }
    #expect(held.awaitCall())
    let suspended = DispatchSemaphore(value: 0)
    try ThreadStarter.startThread {
      do throws(StorageError) { try engine.core.suspend(until: nil) } catch { Issue.record("\(error)") }
      suspended.signal()
    }
    while !engine.core.isSuspended { Pause.sleep(microseconds: 100) }
    Pause.sleep(microseconds: 20_000)
    held.release()
    suspended.wait()
    ended.wait()
    #expect(outcome.withLock { $0 }?.code == .suspended)
    let next = try open(disk)
    #expect(try next.read { tx in try tx.count(of: tree) } == 200)
    try next.verify()
    try next.close()
  }
}
