// Backups: whole or not there, whatever happens meanwhile, and exactly one commit.

import Dispatch
import QuireStorage
import QuireTesting
import Testing

@Suite struct BackupTests {
  private static let target = "/backup.quire"
  private struct Enough: Error {}

  /// Opens a backup as a database of its own.
  private func open(_ disk: SimulatedDisk, _ options: StorageOptions) throws -> StorageEngine {
    let random = SharedRandom(seed: 77)
    let environment = StorageEnvironment(
      fileSystem: disk, random: { random.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 64 << 10)
    return try StorageEngine(at: Self.target, options: options, environment: environment)
  }

  @Test(arguments: [512, 4096, 32768]) func holdsWhatTheSourceHolds(pageSize: Int) throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: TestSize.trials(800, divisor: 4), longOneIn: 9)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: 40, seed: 8)
    // Ids that were given out and are not in use any more must not be given out again.
    try engine.write { tx in try tx.dropTree(try tx.createTree("gone", keys: .bytes)) }
    let rowID = try engine.write { tx in try tx.allocateRowIDs() }
    let before = try DatabaseContent(of: engine)
    let dirty = engine.statistics.dirtyPages
    var last = 0
    let backup = try engine.backup(to: Self.target) { progress in
      #expect(progress.done >= last && progress.fraction <= 1)
      last = progress.done
    }
    #expect(last > 0 && backup.csn == engine.statistics.publishedCSN)
    #expect(engine.statistics.dirtyPages == dirty, "a backup changes nothing of its source")
    #expect(engine.statistics.readers == 0)
    try engine.verify()
    #expect(try DatabaseContent(of: engine) == before)
    #expect(tiny.disk.names.allSatisfy { !$0.contains("-new-") })

    try inspect(backup, of: engine, on: tiny.disk)
    let copy = try open(tiny.disk, tiny.options)
    #expect(try DatabaseContent(of: copy) == before)
    #expect(copy.statistics.publishedCSN == backup.csn && copy.statistics.recoveredRecords == 0)
    #expect(try copy.write { tx in try tx.allocateRowIDs() } > rowID)
    let next = try copy.write { tx in try tx.createTree("next", keys: .bytes).id }
    #expect(try engine.write { tx in try tx.createTree("next", keys: .bytes).id } == next)
    try TinyDatabase.fill(copy, count: 200, seed: 5)
    try copy.verify()
    try copy.close()
  }

  /// Looks at a backup that nobody has opened.
  private func inspect(_ backup: StorageBackup, of engine: StorageEngine, on disk: SimulatedDisk) throws {
    let inspector = try Inspector(at: Self.target, fileSystem: disk)
    #expect(try inspector.check().isEmpty)
    let meta = try inspector.requireMeta()
    #expect(meta.isComplete && meta.csn == backup.csn && meta.databaseID == backup.databaseID)
    #expect(meta.databaseID != engine.core.meta.current.databaseID)
    #expect(inspector.fileByteCount == backup.byteCount)
    #expect(try inspector.survey().freeCount == 0, "a copy is compact")
  }

  @Test func emptyDatabasesHaveBackups() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try engine.backup(to: Self.target)
    try engine.write { tx in _ = try tx.createTree("empty", keys: .bytes) }
    try engine.backup(to: "/second.quire")
    let copy = try open(tiny.disk, tiny.options)
    #expect(try DatabaseContent(of: copy).trees.isEmpty)
    try TinyDatabase.fill(copy, count: 40)
    try copy.verify()
  }

  @Test("The copy takes little memory, and less than it is long")
  func spillsWhatDoesNotFit() throws {
    var tiny = TinyDatabase(pageSize: 512)
    tiny.options.cacheSize = 64 * 512
    let engine = try tiny.open()
    for seed in 0..<2 { try TinyDatabase.fill(engine, count: 600, seed: UInt64(seed), longOneIn: 5) }
    let before = try DatabaseContent(of: engine)
    let backup = try engine.backup(to: Self.target)
    #expect(backup.pages > 500)
    let copy = try open(tiny.disk, tiny.options)
    #expect(try DatabaseContent(of: copy) == before)
  }

  @Test func existingFilesAreNeverOverwritten() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 40)
    for path in [TinyDatabase.path, Self.target] {
      if path == Self.target { try engine.backup(to: path) }
      let bytes = tiny.disk.bytes(of: path)
      let error = #expect(throws: StorageError.self) { try engine.backup(to: path) }
      #expect(error?.code == .alreadyExists && error?.path == path)
      #expect(tiny.disk.bytes(of: path) == bytes)
    }
    // Taken while the copy is being made.
    let error = #expect(throws: StorageError.self) {
      try engine.backup(to: "/late.quire") { _ in
        if tiny.disk.bytes(of: "/late.quire") == nil { _ = try tiny.disk.open("/late.quire", .createNew) }
      }
    }
    #expect(error?.code == .alreadyExists)
    #expect(tiny.disk.bytes(of: "/late.quire") == [])
    #expect(tiny.disk.names.allSatisfy { !$0.contains("-new-") })
  }

  @Test func stoppedBackupsLeaveNothing() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 600, longOneIn: 9)
    let names = tiny.disk.names
    var reports = 0
    try engine.backup(to: Self.target) { _ in reports += 1 }
    try tiny.disk.unlink(Self.target)
    #expect(reports > 10)
    for stop in stride(from: 0, to: reports, by: max(1, reports / 12)) {
      var left = stop
      #expect(throws: Enough.self) {
        try engine.backup(to: Self.target) { _ in
          if left == 0 { throw Enough() }
          left -= 1
        }
      }
      #expect(tiny.disk.names == names)
    }
    try engine.verify()
    try engine.close()
  }

  @Test func cancelledTaskEndsTheBackup() async throws {
    let folder = TemporaryFolder()
    let engine = try StorageEngine(at: folder.path + "/a.quire")
    try await engine.write { tx in
      let tree = try tx.createTree("rows", keys: .int64)
      for key in 0..<20_000 { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
    }
    let target = folder.path + "/b.quire"
    let mayGoOn = DispatchSemaphore(value: 0)
    let task = Task {
      try await engine.backup(to: target) { _ in mayGoOn.wait() }
    }
    while engine.statistics.readers == 0 { await Task.yield() }
    task.cancel()
    for _ in 0..<1000 { mayGoOn.signal() }
    try await engine.write { tx in _ = try tx.createTree("other", keys: .bytes) }
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    let backup = try await engine.backup(to: target)
    #expect(backup.entries == 20_000)
    try await engine.verify()
    let figures = try await engine.treeStatistics()
    #expect(figures.trees.map(\.entries) == [20_000, 0])
    try await engine.compact()
    try engine.close()
  }

  @Test("A full disk under the copy ends the copy, not the database")
  func fullDiskIsACleanError() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 1200, longOneIn: 9)
    let before = try DatabaseContent(of: engine)
    let names = tiny.disk.names
    for room in [0, 600, 20 << 10, 100 << 10] {
      tiny.disk.capacity = tiny.disk.usedByteCount + room
      let error = #expect(throws: StorageError.self) { try engine.backup(to: Self.target) }
      #expect(error?.code == .diskFull, "\(String(describing: error))")
      #expect(tiny.disk.names == names)
    }
    tiny.disk.capacity = nil
    #expect(try DatabaseContent(of: engine) == before)
    try engine.backup(to: Self.target)
    try TinyDatabase.fill(engine, count: 40, seed: 9)
    try engine.verify()
  }

  @Test("Damage in the source is not copied")
  func damageIsFound() throws {
    let tiny = TinyDatabase(pageSize: 512)
    var engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 800, longOneIn: 9)
    try engine.close()
    let pages = try #require(tiny.disk.bytes(of: TinyDatabase.path)).count / 512
    var found = 0
    for page in stride(from: 2, to: pages, by: max(1, pages / 30)) {
      let other = tiny.disk.crashImage(.allNew)
      other.flipBit(3, at: page * 512 + 60, of: TinyDatabase.path)
      do {
        engine = try tiny.open(other)
        try engine.backup(to: Self.target)
        try #require(open(other, tiny.options).verify().defects.isEmpty)
      } catch let error as StorageError {
        #expect(error.code == .damagedPage, "page \(page): \(error)")
        #expect(other.bytes(of: Self.target) == nil)
        found += 1
      }
    }
    #expect(found > 20)
  }

  @Test("The power fails before each change that a backup makes to the disk")
  func crashesAnywhere() throws {
    func make() throws -> (SimulatedDisk, StorageEngine) {
      let tiny = TinyDatabase(SimulatedDisk(), pageSize: 512)
      let engine = try tiny.open()
      try TinyDatabase.fill(engine, count: 60, longOneIn: 12)
      try engine.checkpoint()
      return (tiny.disk, engine)
    }
    let tiny = TinyDatabase(pageSize: 512)
    let (disk, engine) = try make()
    let before = try DatabaseContent(of: engine, checksThoroughly: false)
    let start = disk.changeCount
    try engine.backup(to: Self.target)
    let changes = disk.changeCount - start
    #expect(changes > 10)
    var counts = (there: 0, absent: 0)
    let cuts = TestSize.some(0...changes, of: 8)
    for cut in cuts {
      let (disk, engine) = try make()
      disk.powerOff(beforeChange: disk.changeCount + cut)
      // The last change removes a name that nobody needs; its failure is not one.
      do { try engine.backup(to: Self.target) } catch { try #require(error is StorageError) }
      for mode in [CrashMode.allNew, .allOld, .random(UInt64(cut))] {
        let image = disk.crashImage(mode)
        let recovered = try tiny.open(image)
        try #require(try DatabaseContent(of: recovered, checksThoroughly: false) == before, "cut \(cut), \(mode)")
        try recovered.close()
        guard image.bytes(of: Self.target) != nil else {
          counts.absent += 1
          continue
        }
        counts.there += 1
        #expect(try Inspector(at: Self.target, fileSystem: image).check().isEmpty, "cut \(cut), \(mode)")
        let copy = try open(image, tiny.options)
        try #require(try DatabaseContent(of: copy, checksThoroughly: false) == before, "cut \(cut), \(mode)")
        try copy.close()
      }
    }
    #expect(counts.there > 0 && counts.absent > cuts.count - 1)
  }

  @Test("A backup that was reported as done is there after a power cut")
  func reportedBackupsSurvive() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 40)
    let before = try DatabaseContent(of: engine)
    try engine.backup(to: Self.target)
    let image = tiny.disk.crashImage(.allOld)
    try #require(image.bytes(of: Self.target) != nil)
    let copy = try open(image, tiny.options)
    #expect(try DatabaseContent(of: copy) == before)
  }

  @Test("While writers write, a backup is exactly one commit, and nobody waits for it")
  func isOneCommit() throws {
    let folder = TemporaryFolder()
    let options = StorageOptions(durability: .relaxed, logLimit: 256 << 10)
    let engine = try StorageEngine(
      at: folder.path + "/a.quire", options: options,
      environment: StorageEnvironment(initialSegmentByteCount: 64 << 10))
    let trees = try engine.write { tx in
      (try tx.createTree("a", keys: .int64), try tx.createTree("b", keys: .bytes))
    }
    let stamps = 40
    @Sendable func stamp(_ number: Int) throws {
      try engine.write { tx in
        for row in 0..<stamps {
          try tx.put([UInt8](stamp: number, count: 64), for: Int64(row * 300), in: trees.0)
          let length = row == 0 ? 9000 : 40
          try tx.put([UInt8](stamp: number, count: length), for: Array("\(row)".utf8), in: trees.1)
        }
      }
    }
    try engine.write { tx in
      for row in 0..<12_000 { try tx.put([UInt8](repeating: 1, count: 80), for: Int64(row), in: trees.0) }
    }
    try stamp(0)
    let stop = StopFlag()
    let writers = ThreadGroup()
    for writer in 0..<2 {
      writers.start {
        var number = writer
        while !stop.isSet {
          number += 2
          try stamp(number)
        }
      }
    }
    defer { stop.set() }
    for round in 0..<3 {
      let commits = engine.statistics.commits
      let path = folder.path + "/copy\(round).quire"
      let backup = try engine.backup(to: path)
      #expect(engine.statistics.commits > commits, "writers stood still")
      let copy = try StorageEngine(at: path)
      let found = try copy.read { tx in
        var found: Set<[UInt8]> = []
        for row in 0..<stamps {
          found.insert(Array(try tx.value(for: Int64(row * 300), in: trees.0)?.prefix(8) ?? []))
          found.insert(Array(try tx.value(for: Array("\(row)".utf8), in: trees.1)?.prefix(8) ?? []))
        }
        #expect(try tx.count(of: trees.0) == 12_000)
        #expect(tx.csn == backup.csn)
        return found
      }
      #expect(found.count == 1, "\(found)")
      try copy.verify()
      try copy.close()
    }
    stop.set()
    #expect(writers.join() == [])
    try engine.verify()
    try engine.close()
  }
}

extension [UInt8] {
  /// A value whose first bytes say which transaction wrote it.
  fileprivate init(stamp number: Int, count: Int) {
    self = Swift.withUnsafeBytes(of: number) { Array($0) } + Array(repeating: 7, count: count - 8)
  }
}
