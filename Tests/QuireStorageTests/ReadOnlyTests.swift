// Engines that change nothing, whatever state the files are in.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ReadOnlyTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/a.quire" }

  private func options(cacheSize: Int = 4 << 20, isReadOnly: Bool = true) -> StorageOptions {
    StorageOptions(cacheSize: cacheSize, logLimit: 1 << 20, isReadOnly: isReadOnly)
  }

  private func openForWriting() throws -> StorageEngine {
    try StorageEngine(
      at: path, options: options(isReadOnly: false), environment: StorageEnvironment(scheduling: .stepped))
  }

  private func openReadOnly(cacheSize: Int = 4 << 20) throws -> StorageEngine {
    try StorageEngine(at: path, options: options(cacheSize: cacheSize))
  }

  /// A database as a killed process leaves it, or as a clean close does; returns what is in it.
  private func make(isClean: Bool, count: Int = 400, longOneIn: Int = 0) throws -> DatabaseContent {
    let engine = try openForWriting()
    try TinyDatabase.fill(engine, count: count, longOneIn: longOneIn)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: count, seed: 4, longOneIn: longOneIn)
    let content = try DatabaseContent(of: engine)
    let image = FolderImage(of: folder.path)
    try engine.close()
    if !isClean { for (name, entry) in image.entries { writeFile(entry.bytes, "\(folder.path)/\(name)") } }
    return content
  }

  private struct Case: Sendable, CustomTestStringConvertible {
    var isClean: Bool
    var longOneIn = 0
    var cacheSize = 4 << 20
    var testDescription: String { "clean \(isClean), one in \(longOneIn) long, cache \(cacheSize)" }
  }

  private static let all = [
    Case(isClean: true), Case(isClean: false), Case(isClean: true, longOneIn: 5), Case(isClean: false, longOneIn: 5),
    // What is replayed does not fit: it is spilled, to memory.
    Case(isClean: false, cacheSize: 32 * 4096), Case(isClean: false, longOneIn: 5, cacheSize: 32 * 4096),
  ]
  /// The last one takes longest, and is left out in the short size.
  private static let cases = TestSize.isFull ? all : Array(all.dropLast())

  @Test(arguments: cases)
  private func showsEverythingAndTouchesNothing(setting: Case) throws {
    let expected = try make(
      isClean: setting.isClean,
      count: setting.cacheSize < 1 << 20 ? TestSize.trials(4000, divisor: 4) : TestSize.trials(400, divisor: 4),
      longOneIn: setting.longOneIn)
    let before = FolderImage(of: folder.path)
    let engine = try openReadOnly(cacheSize: setting.cacheSize)
    let found = try DatabaseContent(of: engine)
    #expect(found == expected)
    #expect((engine.statistics.recoveredRecords > 0) == !setting.isClean)
    if setting.cacheSize < 1 << 20, setting.longOneIn == 0 { #expect(engine.statistics.pagesSpilled > 0) }
    try engine.verify()
    try engine.flush()
    let calls: [() throws -> Void] = [
      { try engine.write { tx in _ = tx.treeNames } }, { try engine.checkpoint() }, { try engine.compact() },
    ]
    for call in calls { expectRefusal(.readOnly, path: path, in: folder, call) }
    try engine.close()
    expectRefusal(.closed, path: path, in: folder) { _ = try engine.read { tx in tx.treeNames } }
    #expect(FolderImage(of: folder.path) == before)
    // And whoever writes next finds all of it.
    let again = try openForWriting()
    let left = try DatabaseContent(of: again)
    #expect(left == expected)
    try again.close()
  }

  @Test func asyncWriteIsRefused() async throws {
    _ = try make(isClean: true)
    let engine = try openReadOnly()
    let error = await #expect(throws: StorageError.self) { try await engine.write { tx in tx.treeNames.count } }
    #expect(error?.code == .readOnly)
    let count = try await engine.read { tx in tx.treeNames.count }
    #expect(count == 3)
    try engine.close()
  }

  @Test func readersShareAndShutWritersOut() throws {
    let expected = try make(isClean: false)
    let (first, second) = (try openReadOnly(), try openReadOnly())
    for engine in [first, second] {
      let found = try DatabaseContent(of: engine)
      #expect(found == expected)
    }
    let error = expectRefusal(.alreadyOpen, in: folder) { _ = try openForWriting() }
    #expect(error?.holderProcessID == nil || error?.holderProcessID == getpid())
    try first.close()
    expectRefusal(.alreadyOpen, in: folder) { _ = try openForWriting() }
    try second.close()
    let writer = try openForWriting()
    let refusal = expectRefusal(.alreadyOpen, in: folder) { _ = try openReadOnly() }
    #expect(refusal?.holderProcessID == nil || refusal?.holderProcessID == getpid())
    try writer.close()
  }

  @Test func nothingIsMade() throws {
    expectRefusal(.notFound, path: path, in: folder) { _ = try openReadOnly() }
    #expect(throws: StorageError.self) { try StorageEngine.inMemory(options: options()) }
  }

  @Test func missingLogIsToldAndNotMade() throws {
    _ = try make(isClean: false)
    let logs = FolderImage(of: folder.path).entries.keys.filter { $0.contains("-log") }.sorted()
    unlink("\(folder.path)/\(try #require(logs.first))")
    expectRefusal(.missingLog, in: folder) { _ = try openReadOnly() }
  }

  #if os(Linux)
    /// Folder and files that this user may only read. Root may write anything, so a child gives its rights up.
    @Test func worksWithoutTheRightToWrite() async throws {
      let expected = try make(isClean: false)
      for name in FolderImage(of: folder.path).entries.keys { chmod("\(folder.path)/\(name)", 0o444) }
      chmod(folder.path, 0o555)
      defer { chmod(folder.path, 0o755) }
      let expectedCount = expected.trees["numbers"]?.count
      let before = FolderImage(of: folder.path)
      await #expect(processExitsWith: .success) { [path = path as String, count = expectedCount as Int?] in
        // Nobody, on every Linux; who is not root has nothing to give up.
        if getuid() == 0 { guard setgid(65534) == 0, setuid(65534) == 0 else { exit(3) } }
        do {
          let engine = try StorageEngine(at: path, options: StorageOptions(isReadOnly: true))
          let found = try engine.read { tx in try tx.tree(named: "numbers").map { try tx.count(of: $0) } }
          guard found == count else { exit(4) }
          try engine.close()
          _ = try StorageEngine(at: path)
          exit(5)
        } catch {
          guard let error = error as? StorageError, error.code == .inputOutput else { exit(6) }
          exit(error.systemError?.code == EACCES && error.message.contains("isReadOnly") ? 0 : 7)
        }
      }
      #expect(FolderImage(of: folder.path) == before)
    }

    /// A read-only mount, where the system lets us make one.
    @Test func worksOnReadOnlyMedia() throws {
      let expected = try make(isClean: false)
      guard mount(folder.path, folder.path, nil, UInt(MS_BIND), nil) == 0 else {
        print("skipped: this process may not mount (\(systemErrorName(errno)))")
        return
      }
      defer { umount2(folder.path, Int32(MNT_DETACH)) }
      let flags = UInt(MS_BIND | MS_REMOUNT | MS_RDONLY)
      try #require(mount(nil, folder.path, nil, flags, nil) == 0)
      let error = expectRefusal(.readOnly, path: path, in: folder) { _ = try StorageEngine(at: path) }
      #expect(error?.systemError?.code == EROFS)
      let engine = try openReadOnly()
      let found = try DatabaseContent(of: engine)
      #expect(found == expected)
      try engine.close()
    }
  #endif
}
