// What a damaged database is read by where two things are lost that could take each other's place.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SalvageFootingTests {
  private static func flip(_ pages: Set<UInt64>, of database: SalvageDatabase) -> SimulatedDisk {
    let disk = database.disk.copy()
    for number in pages { disk.flipBit(1, at: Int(number) * database.pageSize + 99, of: SalvageDatabase.path) }
    return disk
  }

  /// Old leaves of the catalog name old roots, and all that these lead to may be whole.
  @Test(arguments: 1...UInt64(TestSize.trials(12, divisor: 3)), [true, false])
  func anOldCatalogHidesNoLeaf(seed: UInt64, isClosed: Bool) throws {
    let database = try SalvageDatabase(seed: seed, isClosed: isClosed)
    let damaged = database.catalogPages.union(database.freeMapPages)
    let outcome = try SalvageOutcome(Self.flip(damaged, of: database))
    let missing = database.content.filter { outcome.entries[$0.key]?.value != $0.value }
    #expect(missing.isEmpty, "\(missing.count) of \(database.content.count), read by \(outcome.source.basis)")
    #expect(outcome.problems(database, damaged: damaged).isEmpty)
    #expect(outcome.losses.contains { $0.kind == .catalog })
  }

  /// What leads to the newest state was never written, nor was anything of that: then the older one is all there is.
  @Test func theOlderStateIsReadWhereNothingIsNewer() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("texts", keys: .bytes)
      for number in 0..<50 { try tx.put([7], for: "\(number)", in: tree) }
      return tree
    }
    try engine.checkpoint()
    let before = try #require(tiny.disk.processKillImage().bytes(of: TinyDatabase.path))
    try engine.write { tx in try tx.put([8], for: "new", in: tree) }
    try engine.close()
    let disk = tiny.disk.copy()
    let metaPages = 2 * tiny.options.pageSize
    disk.overwrite(Array(before[metaPages...]), at: metaPages, of: TinyDatabase.path)
    let byteCount = try #require(disk.bytes(of: TinyDatabase.path)).count
    if byteCount > before.count {
      disk.overwrite([UInt8](repeating: 0, count: byteCount - before.count), at: before.count, of: TinyDatabase.path)
    }
    let outcome = try SalvageOutcome(disk)
    #expect(outcome.entries.count == 50 && outcome.entries.values.allSatisfy { $0.value == [7] })
    #expect(!outcome.losses.isEmpty)
  }

  private static func writeZeros(_ count: Int, at offset: Int, to file: any File) throws {
    let bytes = [UInt8](repeating: 0, count: count)
    try bytes.withUnsafeBytes { try file.writeFully($0, at: offset) }
  }

  /// A length costs nothing: what lies in holes is not read.
  @Test func holesAreNotRead() throws {
    let folder = try TestFolder()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in try tx.put([7], for: "key", in: try tx.createTree("texts", keys: .bytes)) }
    try engine.close()
    let file = try RealFileSystem().open(folder.path, .readWrite)
    // Zeros that are written are no hole.
    let end = 300 << 30
    try Self.writeZeros(4096, at: end - 4096, to: file)
    #expect(file.nextData(from: 200 << 30) == end - 4096 && file.nextData(from: end) == nil)
    for slot in 0...1 { try Self.writeZeros(16, at: 4096 * slot, to: file) }
    file.close()
    let start = ContinuousClock.now
    let reader = try SalvageReader(at: folder.path)
    #expect(reader.trees.map(\.name) == ["texts"])
    #expect(ContinuousClock.now - start < .seconds(20))
  }

  // MARK: A log and an older meta page

  /// A database that was opened again, and killed with new commits in its log: the older meta page is of the closing.
  private static func reopened(closesFirst: Bool) throws -> (disk: SimulatedDisk, newestSlot: Int, pageSize: Int) {
    let tiny = TinyDatabase()
    func add(_ range: Range<Int>, _ engine: StorageEngine) throws {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: 25) {
        try engine.write { tx in
          let tree = try tx.tree(named: "texts") ?? tx.createTree("texts", keys: .bytes)
          for number in start..<(start + 25) { try tx.put([UInt8(number % 251)], for: "\(number)", in: tree) }
        }
      }
    }
    if closesFirst {
      let engine = try tiny.open()
      try add(0..<100, engine)
      try engine.close()
    }
    let engine = try tiny.open()
    try add(100..<200, engine)
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let slot = try #require(try Inspector(at: TinyDatabase.path, fileSystem: disk).newest?.slot)
    return (disk, slot, tiny.options.pageSize)
  }

  @Test(arguments: [true, false]) func aLogGoesOnFromTheOlderMetaPage(closesFirst: Bool) throws {
    let (disk, newestSlot, pageSize) = try Self.reopened(closesFirst: closesFirst)
    disk.overwrite([UInt8](repeating: 0, count: pageSize), at: newestSlot * pageSize, of: TinyDatabase.path)
    let outcome = try SalvageOutcome(disk)
    #expect(outcome.source.basis == .otherMetaPage && outcome.source.logCommitCount == 4)
    let keys = outcome.entries.keys.compactMap { Int(String(decoding: $0.key, as: UTF8.self)) }
    #expect(keys.sorted() == Array((closesFirst ? 0 : 100)..<200), "\(outcome.losses)")
    #expect(outcome.entries.values.allSatisfy { $0.standing == .current })
    #expect(outcome.losses.isEmpty, "\(outcome.losses)")
  }

  // MARK: Files that are refused

  private static func refusal(_ disk: SimulatedDisk) -> StorageError? {
    do { _ = try SalvageOutcome(disk) } catch { return error as? StorageError }
    return nil
  }

  @Test func aNewerFormatIsNotGuessedAt() throws {
    let tiny = TinyDatabase()
    try tiny.open().close()
    let disk = tiny.disk.copy()
    var bytes = try #require(disk.bytes(of: TinyDatabase.path))
    bytes[16] = 9
    Forger.resealMetaPages(&bytes, pageSize: tiny.options.pageSize)
    disk.overwrite(bytes, at: 0, of: TinyDatabase.path)
    let error = Self.refusal(disk)
    #expect(error?.code == .newerFormat && error?.message.contains("format 9") == true, "\(String(describing: error))")
  }

  @Test(arguments: [OperationKind.open, .status])
  func aFileThatCannotBeLookedAtIsRefused(kind: OperationKind) throws {
    let tiny = TinyDatabase()
    try tiny.open().close()
    let disk = tiny.disk.copy()
    disk.failNext(kind, of: TinyDatabase.path, with: .error(SystemCode.denied))
    let error = Self.refusal(disk)
    #expect(error?.code == .inputOutput && error?.systemError?.code == SystemCode.denied)
    #expect(error?.path == TinyDatabase.path && disk.openFileCount() == 0)
    disk.failNext(kind, of: TinyDatabase.path, with: .error(SystemCode.denied))
    let inspecting = #expect(throws: StorageError.self) {
      _ = try Inspector(at: TinyDatabase.path, fileSystem: disk)
    }
    #expect(inspecting?.code == .inputOutput)
    #expect(Self.refusal(disk) == nil)
  }
}
