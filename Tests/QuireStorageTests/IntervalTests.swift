// What `.interval` promises: when the flush of a commit begins.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk whose syncs of the log take long, and that notes when they begin.
private final class SlowDisk: FileSystem {
  private let disk = SimulatedDisk()
  /// When syncs of a log have begun.
  let beginnings = Latch<[ContinuousClock.Instant]>([])
  /// How long they take, in microseconds.
  let microseconds = Latch<UInt32>(0)

  func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
    SlowFile(try disk.open(path, mode), self)
  }
  func link(_ path: String, to newPath: String) throws(SystemError) { try disk.link(path, to: newPath) }
  func rename(_ path: String, to newPath: String) throws(SystemError) { try disk.rename(path, to: newPath) }
  func unlink(_ path: String) throws(SystemError) { try disk.unlink(path) }
  func synchronizeDirectory(of path: String) throws(SystemError) { try disk.synchronizeDirectory(of: path) }
  func exists(_ path: String) -> Bool { disk.exists(path) }
}

private final class SlowFile: File {
  private let file: any File
  private let disk: SlowDisk

  init(_ file: any File, _ disk: SlowDisk) {
    self.file = file
    self.disk = disk
  }

  var path: String { file.path }
  func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try file.readSome(into: buffer, at: offset)
  }
  func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try file.writeSome(buffer, at: offset)
  }
  func synchronize() throws(SystemError) {
    if path.contains("-log") {
      disk.beginnings.withLock { $0.append(.now) }
      usleep(disk.microseconds.withLock { $0 })
    }
    try file.synchronize()
  }
  func resize(to byteCount: Int) throws(SystemError) { try file.resize(to: byteCount) }
  func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
    try file.allocate(from: offset, count: count)
  }
  func status() throws(SystemError) -> FileStatus { try file.status() }
  func lock(_ kind: LockKind) throws(SystemError) { try file.lock(kind) }
  func lockHolder() -> Int32? { file.lockHolder() }
  func close() { file.close() }
}

@Suite(.serialized) struct IntervalTests {
  private static let interval = 400

  /// Commits at these moments, in milliseconds, and returns when syncs began, in milliseconds after the first commit.
  private func beginnings(commitsAt moments: [Int], syncTakes milliseconds: Int) throws -> [Int] {
    let disk = SlowDisk()
    let engine = try StorageEngine(
      at: "/db", options: StorageOptions(durability: .interval(.milliseconds(Self.interval)), maintainsWhenIdle: false),
      environment: StorageEnvironment(fileSystem: disk, initialSegmentByteCount: 64 << 10))
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    try engine.flush()
    disk.beginnings.withLock { $0 = [] }
    disk.microseconds.withLock { $0 = UInt32(milliseconds) * 1000 }
    let start = ContinuousClock.now
    for moment in moments {
      let rest = Duration.milliseconds(moment) - (ContinuousClock.now - start)
      if rest > .zero { usleep(UInt32(rest / .microseconds(1))) }
      try engine.write { tx in try tx.put([1], for: Int64(moment), in: tree) }
    }
    usleep(UInt32(2 * Self.interval + 2 * milliseconds) * 1000)
    let found = disk.beginnings.withLock { $0 }.map { Int(($0 - start) / .milliseconds(1)) }
    disk.microseconds.withLock { $0 = 0 }
    try engine.close()
    return found
  }

  /// Whether `body` is true in one of a few attempts: a busy machine may hold up any of them.
  private func soonTrue(_ body: () throws -> Bool) throws -> Bool {
    for _ in 0..<5 where try body() { return true }
    return false
  }

  @Test(
    "The flush begins an interval after the oldest commit that it has to make durable, and later ones do not delay it")
  func measuredFromTheFirst() throws {
    #expect(
      try soonTrue {
        let found = try beginnings(commitsAt: [0, 100, 200, 300], syncTakes: 0)
        return (300..<550).contains(found.first ?? 0)
      })
  }

  @Test("A commit that comes while a flush is under way is flushed an interval after itself, not after that flush")
  func measuredFromTheCommit() throws {
    #expect(
      try soonTrue {
        // The first flush lasts from 400 to 750, the second commit comes at 450.
        let found = try beginnings(commitsAt: [0, 450], syncTakes: 350)
        return found.count > 1 && found[1] < 1000
      })
  }
}
