// Fills a real disk, deletes, and fills it again, for the script that has made a small one.

import ArgumentParser
import QuireStorage
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// `quire-torture small-disk`: what `Tests/small-disk` runs on a file system of a few MiB.
struct SmallDisk: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "small-disk",
    abstract: "Fills the disk that a folder lies on, deletes half, and fills it again, on one open database.",
    discussion: "Only for a disk that nobody else needs. Ends with status 1 if anything was lost or refused.",
    shouldDisplay: false)

  @Argument(help: "A folder on a small disk; the database is made in it and stays there.")
  var folder: String
  @Option(help: "How often to fill the disk.")
  var cycles = 20
  @Flag(
    help: """
      For file systems that write each change to a new place: before rows are deleted, a file that had a quarter of \
      the disk goes, and a database that had to stop writing may be opened again.
      """)
  var copyOnWrite = false

  func run() throws {
    var history = try SmallDiskHistory(folder, isCopyOnWrite: copyOnWrite)
    var counts: [Int] = []
    for _ in 0..<cycles {
      try history.setBallast(true)
      while try history.put() {}
      counts.append(history.content.count)
      try history.check()
      try history.setBallast(false)
      try history.deleteHalf()
    }
    try history.close()
    try history.open()
    try history.check()
    try history.close()
    print("rows at each full disk: \(counts), of \(SmallDiskHistory.meanByteCount) bytes on average")
    if copyOnWrite {
      print("opened again \(history.stopCount) times, as writing had stopped")
      print("\(history.waitCount) deletes found no space before a checkpoint")
    }
    guard let least = counts.min(), least > 0, least * 4 > counts[0] else {
      throw ValidationError("the space of deleted rows did not come back")
    }
  }
}

/// A database on a disk that is full again and again, and what it must hold.
private struct SmallDiskHistory {
  private let folder: String
  private let isCopyOnWrite: Bool
  private let ballastByteCount: Int
  private var engine: StorageEngine
  private var tree: Tree
  private var random = SeededRandom(seed: 1)
  private var next: Int64 = 0
  /// What acknowledged commits add up to: the length of each row.
  private(set) var content: [Int64: Int] = [:]
  /// How often writing had stopped.
  private(set) var stopCount = 0
  /// How often a delete found no space before a checkpoint.
  private(set) var waitCount = 0

  private static let lengths = 200
  /// What a row takes on average, with its key.
  static let meanByteCount = lengths / 2 + 8

  init(_ folder: String, isCopyOnWrite: Bool) throws {
    self.folder = folder
    self.isCopyOnWrite = isCopyOnWrite
    ballastByteCount = (RealFileSystem().freeByteCount(at: folder) ?? 0) / 4
    engine = try StorageEngine(at: folder + "/small.quire")
    tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
  }

  mutating func open() throws {
    engine = try StorageEngine(at: folder + "/small.quire")
    guard let tree = try engine.read({ tx in tx.tree(named: "rows") }) else {
      throw ValidationError("the tree is gone")
    }
    self.tree = tree
  }

  func close() throws { try engine.close() }

  /// Adds ten rows; false if the disk was full, and then none is there.
  mutating func put() throws -> Bool {
    let keys = next..<next + 10
    let byteCount = random.below(Self.lengths)
    next += 10
    do {
      try engine.write { [tree] tx in
        for key in keys { try tx.put(Self.value(byteCount), for: key, in: tree) }
      }
    } catch let error as StorageError where error.code == .diskFull {
      return false
    } catch let error as StorageError where isCopyOnWrite && [.failStop, .outcomeUnknown].contains(error.code) {
      try goOn()
      // All of them or none.
      if try engine.read({ [tree] tx in try tx.value(for: keys.lowerBound, in: tree) }) != nil {
        for key in keys { content[key] = byteCount }
      }
      return false
    }
    for key in keys { content[key] = byteCount }
    return true
  }

  /// Opens the database again that has stopped writing.
  private mutating func goOn() throws {
    stopCount += 1
    try? engine.close()
    try setBallast(false)
    try open()
  }

  mutating func deleteHalf() throws {
    let gone = content.keys.sorted().filter { _ in random.oneIn(2) }
    for start in stride(from: 0, to: gone.count, by: 50) {
      let batch = gone[start..<min(start + 50, gone.count)]
      try delete(batch)
      for key in batch { content[key] = nil }
    }
    try engine.checkpoint()
    try engine.verify()
  }

  /// Deletes rows; where each change needs space first, after a checkpoint if need be, which gives some back.
  private mutating func delete(_ keys: ArraySlice<Int64>) throws {
    do {
      try engine.write { [tree] tx in for key in keys { try tx.delete(key, in: tree) } }
    } catch let error as StorageError where isCopyOnWrite && error.code == .diskFull {
      waitCount += 1
      try engine.checkpoint()
      sync()
      try engine.write { [tree] tx in for key in keys { try tx.delete(key, in: tree) } }
    }
  }

  /// Makes or removes a file of a quarter of the disk.
  func setBallast(_ isThere: Bool) throws {
    guard isCopyOnWrite else { return }
    let path = folder + "/ballast"
    unlink(path)
    guard isThere else {
      // Only then is its space there again.
      sync()
      return
    }
    let descriptor = creat(path, 0o600)
    defer { _ = closeDescriptor(descriptor) }
    let chunk = [UInt8](repeating: 0x5a, count: 64 << 10)
    for _ in 0..<ballastByteCount / chunk.count where write(descriptor, chunk, chunk.count) != chunk.count { break }
    fsync(descriptor)
  }

  func check() throws {
    try engine.read { tx in
      guard try tx.count(of: tree) == content.count else { throw ValidationError("rows were lost or invented") }
      for (key, byteCount) in content {
        guard try tx.value(for: key, in: tree) == Self.value(byteCount) else {
          throw ValidationError("row \(key) is not what was written")
        }
      }
    }
  }

  private static func value(_ byteCount: Int) -> [UInt8] { [UInt8](repeating: UInt8(byteCount), count: byteCount) }
}

/// The system's call: inside of the type, the name means another.
private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }
