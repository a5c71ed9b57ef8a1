// Calls and refusals that other suites do not come by.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SeldomUsedCallTests {
  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch { return (error as? StorageError)?.code }
    return nil
  }

  @Test func aPathWithAZeroByteIsNoPath() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a\0b"
    #expect(code { _ = try StorageEngine(at: path) } == .invalidOption)
    #expect(code { _ = try StorageEngine(at: path, progress: { _ in }) } == .invalidOption)
    #expect(code { try StorageEngine(at: folder.path + "/a", progress: { _ in }).close() } == nil)
  }

  private struct Enough: Error {}

  @Test("What the progress of an opening throws ends it, and the next one finds all")
  func openingIsStopped() throws {
    let folder = TemporaryFolder()
    let image: FolderImage
    do {
      let engine = try StorageEngine(at: folder.path + "/a", options: StorageOptions(durability: .relaxed))
      let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      for start in stride(from: 0, to: 3000, by: 100) {
        try engine.write { tx in
          for key in start..<(start + 100) { try tx.put([UInt8](marked: key, count: 100), for: Int64(key), in: tree) }
        }
      }
      try engine.flush()
      image = FolderImage(of: folder.path)
      try engine.close()
    }
    for (name, entry) in image.entries where name.hasPrefix("a") {
      writeFile(entry.bytes, folder.path + "/b" + name.dropFirst())
    }
    #expect(throws: Enough.self) { _ = try StorageEngine(at: folder.path + "/b", progress: { _ in throw Enough() }) }
    let engine = try StorageEngine(at: folder.path + "/b")
    let count = try engine.read { tx in try tx.tree(named: "t").map { try tx.count(of: $0) } }
    #expect(count == 3000)
    try engine.close()
  }

  @Test func spansAreKeysAndValues() throws {
    let engine = try TinyDatabase().open()
    let (key, value): ([UInt8], [UInt8]) = ([1, 2], [3, 4, 5])
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try tx.put(value.span.bytes, for: key.span.bytes, in: tree)
      let found = try tx.value(for: key, in: tree)
      let foundBySpan = try tx.value(for: key.span.bytes, in: tree)
      #expect(found == value && foundBySpan == value)
      let numbers = try tx.createTree("n", keys: .int64)
      #expect(code { try tx.put(value, for: key.span.bytes, in: numbers) } == .treeMismatch)
    }
    try engine.close()
  }

  @Test func aTransactionSeesPartsOfItsOwnValues() throws {
    let engine = try TinyDatabase().open()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      let long = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
      for key in 0..<10 as Range<Int64> { try tx.put([UInt8(key), 1, 2], for: key * 10, in: tree) }
      try tx.put(long, for: 7 as Int64, in: tree)
      let part = try tx.value(for: 7 as Int64, in: tree, range: 70_000..<150_000)
      #expect(part == Array(long[70_000..<150_000]))
      let rest = try tx.value(for: 10 as Int64, in: tree, range: 1..<9)
      let none = try tx.value(for: 11 as Int64, in: tree, range: 0..<9)
      #expect(rest == [1, 2] && none == nil)
      let some = try tx.count(in: 5..<31 as Range<Int64>, of: tree)
      let empty = try tx.count(in: 91..<99 as Range<Int64>, of: tree)
      #expect(some == 4 && empty == 0)
      #expect(Set([tree, tree]).count == 1)
    }
    try engine.close()
  }

  @Test func treesHaveNames() throws {
    let engine = try TinyDatabase().open()
    try engine.write { tx in
      #expect(code { _ = try tx.createTree("", keys: .bytes) } == .invalidOption)
      let long = String(repeating: "n", count: Limits.treeNameByteCount + 1)
      #expect(code { _ = try tx.createTree(long, keys: .bytes) } == .invalidOption)
      _ = try tx.createTree(String(long.dropLast()), keys: .bytes)
    }
    let count = try engine.read { tx in tx.treeNames.count }
    #expect(count == 1)
    try engine.close()
  }

  @Test func leavesAreAsFullAsTheirEntriesMakeThem() throws {
    let engine = try TinyDatabase().open()
    try engine.write { tx in
      let tree = try tx.createTree("full", keys: .int64)
      for key in 0..<1000 as Range<Int64> { try tx.put([UInt8](marked: Int(key), count: 100), for: key, in: tree) }
      _ = try tx.createTree("empty", keys: .int64)
    }
    let statistics = try engine.treeStatistics()
    let fills = Dictionary(uniqueKeysWithValues: statistics.trees.map { ($0.name, statistics.leafFill($0)) })
    #expect(fills["empty"] == 0)
    #expect(try (0.4...1).contains(#require(fills["full"])))
    try engine.close()
  }

  @Test("What is held by another process can be read alone, and has to be there")
  func heldFiles() throws {
    let disk = SimulatedDisk()
    let image = CheckpointImage(meta: [], identity: FileIdentity(device: 0, inode: 0), entries: [])
    var options = StorageOptions(pageSize: 512)
    func open() throws {
      _ = try StorageEngine(at: "/db", options: options, held: image, environment: disk.environment())
    }
    #expect(code { try open() } == .invalidOption)
    options.isReadOnly = true
    #expect(code { try open() } == .notFound)
    try disk.openEngine(StorageOptions(pageSize: 512)).close()
    #expect(code { try open() } == .damagedMetaPage)
    #expect(disk.openFileCount() == 0)
  }

  @Test func aFileSystemWithoutClassesOfProtectionIgnoresThem() throws {
    let disk = SimulatedDisk()
    var options = StorageOptions(pageSize: 512)
    options.fileProtection = .complete
    let engine = try disk.openEngine(options)
    try engine.write { tx in try tx.put([1], for: 1 as Int64, in: tx.createTree("t", keys: .int64)) }
    try engine.close()
    options.fileProtection = nil
    let again = try disk.openEngine(options)
    let count = try again.read { tx in tx.treeNames.count }
    #expect(count == 1)
    try again.close()
  }

  @Test("A long record's memory goes with it")
  func longRecords() {
    let log = LogBuffer()
    let value = [UInt8](repeating: 7, count: 5 << 20)
    log.reset()
    #expect(log.isEmpty)
    value.withUnsafeBytes { value in
      [UInt8](repeating: 1, count: 3).withUnsafeBytes { key in _ = log.put(TreeID(5), .bytes, SearchKey(key), value) }
    }
    #expect(log.bodyByteCount > value.count)
    log.reset()
    #expect(log.isEmpty && log.bodyByteCount == 0)
  }

  @Test("A check that three checkpoints overtake keeps the writer out, and ends")
  func checkThatIsOvertaken() throws {
    var tiny = TinyDatabase(pageSize: 512)
    tiny.options.cacheSize = 8 << 20
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 700)
    try engine.checkpoint()
    let tree = try engine.read { tx in tx.tree(named: "numbers") }
    var (overtakings, refusals) = (0, 0)
    let result = try engine.verify { progress in
      guard progress.phase == .checkingDisk else { return }
      do {
        try engine.write { tx in try tx.put([1], for: Int64(overtakings), in: #require(tree)) }
        try engine.checkpoint()
        overtakings += 1
      } catch let error as StorageError where error.code == .nestedWrite {
        refusals += 1
      }
    }
    #expect(result.defects.isEmpty && overtakings >= 2 && refusals >= 1, "\(overtakings), \(refusals)")
    // Whoever waits for the lock gets it.
    try engine.write { tx in try tx.put([2], for: 0 as Int64, in: #require(tree)) }
    try engine.close()
  }

  @Test("The database's own thread is told not to wait for whoever closes it")
  func closingOnAnOwnThread() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions(pageSize: 512), scheduling: .threads)
    try engine.write { tx in try tx.put([1], for: 1 as Int64, in: tx.createTree("t", keys: .int64)) }
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    group.start { try engine.close() }
    #expect(sync.awaitCall())
    let outcome = Latch<StorageError.Code?>(nil)
    let isDone = StopFlag()
    try engine.core.threads.runReader {
      do { try engine.close() } catch { outcome.withLock { $0 = (error as? StorageError)?.code } }
      isDone.set()
    }
    let end = secondsNow() + 10
    while !isDone.isSet, secondsNow() < end { Pause.sleep(microseconds: 200) }
    sync.release()
    #expect(group.join().isEmpty)
    #expect(outcome.withLock { $0 } == .inUse)
  }

  @Test(
    "A record of what no transaction could have logged is refused, and nothing of the database is changed",
    arguments: [LogOperation.Code.put, .deleteRange])
  func longKeysOfForgedRecords(operation: LogOperation.Code) throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try TinyDatabase.storeText(engine)
    let disk = tiny.disk.processKillImage()
    try engine.close()
    func body(_ keyByteCount: Int) -> [UInt8] {
      let key = [UInt8(keyByteCount)] + [UInt8](repeating: 0x78, count: keyByteCount)
      let start = [operation.rawValue, UInt8(tree.id.rawValue)]
      return operation == .put ? start + key + [1, 7] : start + [1] + key
    }
    let longest = Limits.keyByteCount(pageSize: 512)
    try #require(longest + 2 < 0x80)
    let meta = try Inspector(at: TinyDatabase.path, fileSystem: disk).requireMeta()
    LogForger(meta: meta).write([LogForger.Record(body: body(longest + 2))], to: disk)
    let before = disk.bytes(of: TinyDatabase.path)
    #expect(code { _ = try tiny.open(disk) } == .damagedLog)
    #expect(disk.bytes(of: TinyDatabase.path) == before)
    // What could have been logged is replayed.
    LogForger(meta: meta).write([LogForger.Record(body: body(longest))], to: disk)
    let again = try tiny.open(disk)
    let count = try again.read { tx in try tx.count(of: tree) }
    #expect(count == (operation == .put ? 2 : 1))
    try again.close()
  }

  @Test func aLoaderCountsWhatItIsGiven() throws {
    let engine = try TinyDatabase().open()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      var counts: [Int] = []
      try tx.bulkLoad(into: tree) { loader in
        for key in [3, 1, 1] as [Int64] {
          try loader.append([UInt8(key)], for: key)
          counts.append(loader.count)
        }
      }
      let count = try tx.count(of: tree)
      #expect(counts == [1, 2, 3] && count == 2)
    }
    try engine.close()
  }

  @Test func aPageThatStandsInThePlaceOfAnotherIsTold() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 200)
    try engine.close()
    let disk = tiny.disk.copy()
    disk.duplicate(2 * 4096..<3 * 4096, to: 3 * 4096, of: TinyDatabase.path)
    let inspector = try Inspector(at: TinyDatabase.path, fileSystem: disk)
    #expect(try inspector.page(PageNumber(2)).defect == nil)
    #expect(try inspector.page(PageNumber(3)).defect == "it belongs at page 2")
  }

  // MARK: Backups, and logs that nobody names

  @Test("A backup that cannot be made says why, leaves nothing, and harms nothing")
  func backupsThatFail() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 200)
    func backup() throws { _ = try engine.backup(to: "/copy.quire") }
    tiny.disk.failNext(.open, of: "/copy.quire", with: .error(SystemCode.denied))
    #expect(code(backup) == .inputOutput)
    // The disk of the copy has no room for what it has taken: said like any other full disk.
    tiny.disk.interceptOnce(where: { $0.kind == .synchronize && $0.path.hasPrefix("/copy") }) { _ in
      .failedSync(.forgets, SystemCode.noSpace, survivorsOneIn: 0)
    }
    #expect(code(backup) == .diskFull)
    tiny.disk.removeInterceptors()
    #expect(tiny.disk.bytes(of: "/copy.quire") == nil)
    try backup()
    #expect(code(backup) == .alreadyExists)
    try engine.verify()
    try engine.close()
    #expect(tiny.disk.openFileCount() == 0 && tiny.disk.namelessFileCount() == 0)
  }

  @Test(arguments: [OperationKind.open, .status])
  func aLogThatNobodyNamesAndNobodyCanLookAt(kind: OperationKind) throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 50)
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let meta = try Inspector(at: TinyDatabase.path, fileSystem: disk).requireMeta()
    let named = Set(meta.segments.map(\.fileIndex))
    let index = try #require((0..<Limits.segmentFileCount).first { !named.contains($0) })
    let path = "\(TinyDatabase.path)-log\(index)"
    disk.install([UInt8](repeating: 0, count: 64 << 10), at: path)
    disk.failNext(kind, of: path, with: .error(SystemCode.denied))
    do {
      _ = try tiny.open(disk)
      Issue.record("nobody knows what the log holds, and it was opened")
    } catch let error as StorageError {
      #expect(error.code == .inputOutput && error.path == path && error.systemError?.code == SystemCode.denied)
    }
    // What it holds is nothing.
    let again = try tiny.open(disk)
    try again.verify()
    try again.close()
  }
}
