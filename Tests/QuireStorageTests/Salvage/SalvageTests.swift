// Damaged databases are read as far as they are whole, and all that is lost is told.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SalvageTests {
  /// What is done to pages.
  private enum Damage {
    case zero, flip, swap, older
  }

  /// Damages so many random pages of the data file; returns which have changed.
  private static func damage(
    _ disk: SimulatedDisk, _ database: SalvageDatabase, count: Int, kinds: [Damage] = [.zero, .flip, .swap],
    _ random: inout SeededRandom
  ) -> Set<UInt64> {
    let (size, path) = (database.pageSize, SalvageDatabase.path)
    let before = database.disk.bytes(of: path) ?? []
    let pageCount = Int(database.meta.pageCount)
    func page(_ number: Int) -> [UInt8] { Array(before[(number * size)..<((number + 1) * size)]) }
    for _ in 0..<count {
      let number = 2 + random.below(pageCount - 2)
      switch random.pick(kinds) {
      case .zero: disk.overwrite([UInt8](repeating: 0, count: size), at: number * size, of: path)
      case .flip: disk.flipBit(random.below(8), at: number * size + random.below(size), of: path)
      case .swap:
        let other = 2 + random.below(pageCount - 2)
        disk.overwrite(page(number), at: other * size, of: path)
        disk.overwrite(page(other), at: number * size, of: path)
      case .older:
        // Versions are of 4 KiB; the first has the meta pages.
        if number * size >= 4096 { disk.makeStale(at: number * size, of: path) }
      }
    }
    let after = disk.bytes(of: path) ?? []
    let changed = (2..<pageCount).filter { number in
      let range = (number * size)..<((number + 1) * size)
      return before[range] != after[range]
    }
    return Set(changed.map { UInt64($0) })
  }

  /// Reads `disk` and compares all of its files with what they were before.
  private static func salvage(
    _ disk: SimulatedDisk, _ options: SalvageOptions = SalvageOptions()
  ) throws -> SalvageOutcome {
    let before = disk.names.map { disk.bytes(of: $0) }
    let names = disk.names
    let outcome = try SalvageOutcome(disk, options)
    #expect(disk.names == names && disk.names.map { disk.bytes(of: $0) } == before, "files have been changed")
    return outcome
  }

  @Test(arguments: [true, false]) func undamagedIsReadInFull(isClosed: Bool) throws {
    let database = try SalvageDatabase(seed: 1, isClosed: isClosed)
    let outcome = try Self.salvage(database.disk)
    #expect(outcome.losses.isEmpty, "\(outcome.losses)")
    #expect(outcome.entries.mapValues(\.value) == database.content && outcome.names == database.names)
    #expect(outcome.entries.values.allSatisfy { $0.standing == .current })
    #expect(outcome.problems(database, damaged: []).isEmpty)
    #expect(outcome.source.basis == .newestMetaPage && outcome.source.hasFreeMap)
    #expect(isClosed || outcome.source.logCommitCount > 0)
  }

  @Test(arguments: [true, false]) func damagedPages(isClosed: Bool) throws {
    let database = try SalvageDatabase(seed: 2, isClosed: isClosed)
    var random = SeededRandom(seed: firstSeed())
    var lost = 0
    var stale = 0
    for trial in 0..<TestSize.trials(400, divisor: 66) {
      let disk = database.disk.copy()
      // Lost writes alone: below a page that is damaged otherwise, what one has left is not told from the newest.
      let isOlder = trial % 4 == 3
      let damaged = Self.damage(
        disk, database, count: isOlder ? 1 : 1 + trial % 9, kinds: isOlder ? [.older] : [.zero, .flip, .swap], &random)
      trace("trial \(trial): \(damaged.sorted())")
      let outcome = try Self.salvage(disk)
      let problems = outcome.problems(database, damaged: damaged)
      #expect(
        problems.isEmpty,
        """
        trial \(trial), pages \(damaged.sorted()), free map \(outcome.source.hasFreeMap), \(outcome.source.basis), \
        \(problems.count) problems: \(problems.prefix(3)) \(outcome.losses)
        """)
      lost += outcome.losses.count
      stale += outcome.entries.values.count { $0.standing == .mayBeOld }
    }
    #expect(lost > 0 && stale > 0, "\(lost) losses, \(stale) old entries")
  }

  /// The check notices losses that are not told, and old entries that are not marked.
  @Test func checkCanFail() throws {
    let database = try SalvageDatabase(seed: 2, isClosed: true)
    var random = SeededRandom(seed: 5)
    let disk = database.disk.copy()
    let damaged = Self.damage(disk, database, count: 20, &random)
    var outcome = try Self.salvage(disk)
    #expect(outcome.problems(database, damaged: damaged).isEmpty)
    outcome.losses = []
    #expect(outcome.problems(database, damaged: damaged).contains { $0.contains("no loss says so") })
    #expect(outcome.problems(database, damaged: []).contains { $0.contains("intact and not found") })
    outcome = try Self.salvage(disk)
    outcome.entries = outcome.entries.mapValues { SalvageOutcome.Entry(value: $0.value, standing: .current) }
    outcome.losses = []
    #expect(outcome.problems(database, damaged: damaged).contains { $0.contains("old and not marked") })
  }

  /// Everything that leads to the leaves is gone: catalog and branches.
  @Test(arguments: [true, false]) func leavesAloneGiveTheNewestState(isClosed: Bool) throws {
    let database = try SalvageDatabase(seed: 3, isClosed: isClosed)
    let disk = database.disk.copy()
    let above = database.footings.values.reduce(into: database.catalogPages) { $0.formUnion($1.above) }
    for number in above { disk.flipBit(1, at: Int(number) * database.pageSize + 99, of: SalvageDatabase.path) }
    let outcome = try Self.salvage(disk, SalvageOptions(includesStale: false))
    let problems = outcome.problems(database, damaged: above)
    #expect(problems.isEmpty, "\(problems.prefix(5))")
    #expect(outcome.entries.mapValues(\.value) == database.content)
    #expect(outcome.losses.contains { $0.kind == .catalog })
  }

  /// A branch that is lost is made whole by the leaves that it led to, and nothing is reported.
  @Test func lostBranchLosesNothing() throws {
    let database = try SalvageDatabase(seed: 4, isClosed: true)
    let branches = database.footings.values.reduce(into: Set<UInt64>()) { $0.formUnion($1.above) }
    for number in TestSize.some(branches.sorted(), of: 3) {
      let disk = database.disk.copy()
      disk.flipBit(3, at: Int(number) * database.pageSize + 60, of: SalvageDatabase.path)
      let outcome = try Self.salvage(disk)
      #expect(outcome.losses.isEmpty, "\(outcome.losses)")
      #expect(outcome.entries.mapValues(\.value) == database.content)
    }
  }

  @Test(arguments: [true, false]) func oneMetaPageIsEnough(isClosed: Bool) throws {
    let database = try SalvageDatabase(seed: 6, isClosed: isClosed)
    for slot in 0...1 {
      let disk = database.disk.copy()
      disk.overwrite([UInt8](repeating: 0, count: 512), at: slot * database.pageSize, of: SalvageDatabase.path)
      let outcome = try Self.salvage(disk)
      let problems = outcome.problems(database, damaged: [], isLogWhole: false)
      #expect(problems.isEmpty, "slot \(slot): \(problems.prefix(5)) \(outcome.losses)")
      #expect(outcome.source.basis == .otherMetaPage)
      if isClosed { #expect(outcome.losses.isEmpty && outcome.entries.mapValues(\.value) == database.content) }
    }
  }

  @Test func withoutMetaPagesTheLogTellsTheIdentity() throws {
    let database = try SalvageDatabase(seed: 7, isClosed: false)
    let disk = database.disk.copy()
    for slot in 0...1 {
      disk.overwrite([UInt8](repeating: 0, count: 512), at: slot * database.pageSize, of: SalvageDatabase.path)
    }
    let outcome = try Self.salvage(disk)
    #expect(outcome.source.basis == .pages && outcome.source.databaseID == database.meta.databaseID)
    let wrong = outcome.problems(database, damaged: [], isLogWhole: false)
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
    // Catalog and log are intact: the state is the newest, though nothing proves it.
    #expect(outcome.entries.mapValues(\.value) == database.content && outcome.names == database.names)
    #expect(outcome.entries.values.allSatisfy { $0.standing == .mayBeOld })
  }

  /// Where all may be old, no lost range speaks for a long value that is damaged.
  @Test func lostValuesAreToldWithoutMetaPages() throws {
    let database = try SalvageDatabase(seed: 7, isClosed: false)
    let long = database.footings.filter { key, footing in
      footing.own.count > 1 && !database.logged.contains(key) && database.content[key] != nil
    }
    let (key, footing) = try #require(long.min { $0.key.key.lexicographicallyPrecedes($1.key.key) })
    let disk = database.disk.copy()
    for slot in 0...1 {
      disk.overwrite([UInt8](repeating: 0, count: 512), at: slot * database.pageSize, of: SalvageDatabase.path)
    }
    let bytes = try #require(disk.bytes(of: SalvageDatabase.path))
    let pages = footing.own.filter { PageKind.leaf.rawValue != bytes[Int($0) * database.pageSize + 32] }
    let page = try #require(pages.min())
    disk.flipBit(0, at: Int(page) * database.pageSize + 99, of: SalvageDatabase.path)
    let outcome = try Self.salvage(disk)
    #expect(outcome.source.basis == .pages)
    #expect(outcome.entries[key] == nil)
    #expect(outcome.losses.contains { $0.kind == .value && $0.tree == key.tree && $0.lower == key.key })
  }

  @Test func withoutIdentityNothingIsProven() throws {
    let database = try SalvageDatabase(seed: 8, isClosed: true)
    let disk = database.disk.copy()
    for slot in 0...1 {
      disk.overwrite([UInt8](repeating: 0, count: 512), at: slot * database.pageSize, of: SalvageDatabase.path)
    }
    let error = #expect(throws: StorageError.self) { try Self.salvage(disk) }
    #expect(error?.code == .damagedMetaPage)
    let outcome = try Self.salvage(disk, SalvageOptions(believesUnverified: true))
    #expect(outcome.source.basis == .structure)
    #expect(outcome.entries.values.allSatisfy { $0.standing == .unverified })
    let found = database.content.filter { outcome.entries[$0.key]?.value == $0.value }
    // A tree that was dropped is there again: nothing tells that it is gone.
    #expect(found.count == database.content.count && Set(outcome.names.keys).isSuperset(of: database.names.keys))
  }

  @Test func truncatedFile() throws {
    let database = try SalvageDatabase(seed: 9, isClosed: true)
    let count = Int(database.meta.pageCount)
    for kept in TestSize.some(Array(2..<count), of: 4) {
      let disk = database.disk.copy()
      disk.setLength(kept * database.pageSize + 17, of: SalvageDatabase.path)
      let outcome = try Self.salvage(disk)
      let problems = outcome.problems(database, damaged: Set(UInt64(kept)..<UInt64(count)))
      #expect(problems.isEmpty, "\(kept) pages: \(problems.prefix(5))")
    }
  }

  @Test func damagedLog() throws {
    let database = try SalvageDatabase(seed: 10, isClosed: false)
    var random = SeededRandom(seed: firstSeed())
    let segment = try #require(database.meta.segments.first)
    let log = try #require(try Inspector(at: SalvageDatabase.path, fileSystem: database.disk).log())
    let end = Int(log.scan.endLSN.rawValue - segment.firstLSN.rawValue)
    var cut = 0
    for trial in 0..<TestSize.trials(80, divisor: 13) {
      let disk = database.disk.copy()
      let offset = database.meta.logOffset + random.below(end - database.meta.logOffset)
      trace("trial \(trial): byte \(offset)")
      disk.flipBit(random.below(8), at: offset, of: "\(SalvageDatabase.path)-log\(segment.fileIndex)")
      let outcome = try Self.salvage(disk)
      let problems = outcome.problems(database, damaged: [], isLogWhole: false)
      #expect(problems.isEmpty, "byte \(offset): \(problems.prefix(5)) \(outcome.losses)")
      if outcome.source.csn < log.scan.endCSN { cut += 1 }
    }
    #expect(cut > 0)
  }

  /// A log of another database, in the place of the one that is named.
  @Test func otherLog() throws {
    let database = try SalvageDatabase(seed: 16, isClosed: false)
    let segment = try #require(database.meta.segments.first)
    let path = "\(SalvageDatabase.path)-log\(segment.fileIndex)"
    let bytes = try #require(database.disk.bytes(of: path))
    let (_, found) = try #require(LogLayout.segment(inHeader: Array(bytes.prefix(LogLayout.segmentHeaderByteCount))))
    let disk = database.disk.copy()
    var (owner, newer) = (DatabaseID(high: 1, low: 2), found)
    disk.overwrite(LogLayout.segmentHeader(found, databaseID: owner), at: 0, of: path)
    var outcome = try Self.salvage(disk)
    #expect(outcome.losses.contains { $0.kind == .log && $0.reason.contains("another database") }, "\(outcome.losses)")
    #expect(outcome.problems(database, damaged: [], isLogWhole: false).isEmpty && outcome.source.logCommitCount == 0)
    (owner, newer.number) = (database.meta.databaseID, found.number + 1)
    disk.overwrite(LogLayout.segmentHeader(newer, databaseID: owner), at: 0, of: path)
    outcome = try Self.salvage(disk)
    #expect(outcome.losses.contains { $0.kind == .metaPage && $0.reason.contains("newer") }, "\(outcome.losses)")
  }

  /// Without proof, what has a flipped bit is read all the same, and marked.
  @Test func unverifiedEntriesAreMarked() throws {
    let database = try SalvageDatabase(seed: 11, isClosed: true)
    let (size, path) = (database.pageSize, SalvageDatabase.path)
    let bytes = try #require(database.disk.bytes(of: path))
    // A byte in the midst of a value that stands once in its leaf.
    let places = database.footings.compactMap { key, footing -> (leaf: UInt64, offset: Int)? in
      guard footing.own.count == 1, let leaf = footing.own.first, let value = database.content[key], value.count > 40
      else { return nil }
      let start = Int(leaf) * size
      let page = bytes[start..<(start + size)]
      return page.indices.dropLast(value.count).first { page[$0..<($0 + value.count)] == value[...] }
        .map { (leaf, $0 + 20) }
    }
    let (leaf, offset) = try #require(places.min { $0.offset < $1.offset })
    let disk = database.disk.copy()
    disk.flipBit(0, at: offset, of: path)
    let outcome = try Self.salvage(disk, SalvageOptions(believesUnverified: true))
    for (key, footing) in database.footings {
      let standing = outcome.entries[key]?.standing
      #expect(standing == (footing.own.contains(leaf) ? .unverified : .current), "\(key)")
    }
    // Without that, all that stands in the leaf is lost and reported.
    let strict = try Self.salvage(disk)
    #expect(strict.problems(database, damaged: [leaf]).isEmpty && strict.losses.map(\.page) == [PageNumber(leaf)])
    #expect(strict.losses.map(\.count) == [database.footings.values.count { $0.own.contains(leaf) }])
  }

  /// A leaf behind the pages that the meta page counts is of no state, though it verifies and no map calls it free.
  @Test func pagesBehindTheLastAreOld() throws {
    let database = try SalvageDatabase(seed: 15, isClosed: true)
    let (size, path) = (database.pageSize, SalvageDatabase.path)
    let bytes = try #require(database.disk.bytes(of: path))
    let places = database.footings.compactMap { key, footing -> (leaf: UInt64, offset: Int, above: UInt64)? in
      guard footing.own.count == 1, let leaf = footing.own.first, let above = footing.above.min(),
        let value = database.content[key], value.count > 40
      else { return nil }
      let start = Int(leaf) * size
      let page = bytes[start..<(start + size)]
      return page.indices.dropLast(value.count).first { page[$0..<($0 + value.count)] == value[...] }
        .map { (leaf, $0 + 20 - start, above) }
    }
    let (leaf, offset, above) = try #require(places.min { ($0.leaf, $0.offset) < ($1.leaf, $1.offset) })
    let place = max((bytes.count + size - 1) / size, Int(database.meta.pageCount))
    var copy = Array(bytes[(Int(leaf) * size)..<((Int(leaf) + 1) * size)])
    copy[offset] ^= 1
    copy.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      base.storeBytes(of: UInt64(place), toByteOffset: PageLayout.pageNumberOffset, as: UInt64.self)
      base.storeBytes(of: database.meta.csn.rawValue, toByteOffset: PageLayout.birthOffset, as: UInt64.self)
      let checksum = PageChecksum.compute(
        PageBytes(base), pageSize: size, seed: database.meta.databaseID.checksumSeed)
      base.storeBytes(of: checksum, toByteOffset: PageLayout.checksumOffset, as: UInt64.self)
    }
    let disk = database.disk.copy()
    disk.install(bytes + [UInt8](repeating: 0, count: place * size - bytes.count) + copy, at: path)
    disk.flipBit(3, at: Int(above) * size + 60, of: path)
    let outcome = try Self.salvage(disk)
    #expect(outcome.losses.isEmpty, "\(outcome.losses)")
    #expect(outcome.entries.mapValues(\.value) == database.content)
  }

  @Test func openDatabaseIsRefused() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let error = #expect(throws: StorageError.self) { try SalvageReader(at: TinyDatabase.path, fileSystem: tiny.disk) }
    #expect(error?.code == .alreadyOpen)
    try engine.close()
    #expect(try SalvageReader(at: TinyDatabase.path, fileSystem: tiny.disk).trees.isEmpty)
    #expect(tiny.disk.openFileCount() == 0)
  }

  /// Row ids that were given after the last checkpoint, and to no row that is left, are known from the log.
  @Test func givenRowIDsAreKnown() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try engine.write { tx in
      _ = try tx.createTree("texts", keys: .bytes)
      _ = try tx.allocateRowIDs(1000)
    }
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let reader = try SalvageReader(at: TinyDatabase.path, fileSystem: disk)
    #expect(reader.source.nextRowID == 1001 && reader.source.meta?.nextRowID == 1)
  }

  /// References that lead to one page over and over, with checksums that are right, give each entry once.
  @Test func pathsThatMeetAreWalkedOnce() throws {
    let database = try SalvageDatabase(seed: 13, isClosed: true)
    let bytes = try #require(database.disk.bytes(of: SalvageDatabase.path))
    var forger = try #require(Forger(bytes, pageSize: database.pageSize))
    for page in forger.treePages() where forger.kind(page) == PageKind.branch.rawValue {
      let start = forger.referencesOffset(page)
      let first = forger.word(start)
      for index in 1..<forger.count(page) { forger.put(first, at: start + 8 * index) }
    }
    forger.seal()
    let disk = SimulatedDisk()
    disk.install(forger.bytes, at: SalvageDatabase.path)
    let outcome = try Self.salvage(disk)
    #expect(outcome.problems(database, damaged: []).isEmpty, "\(outcome.losses)")
  }

  /// Nothing that a file says, checksums and all, leads outside it.
  @Test func forgedPages() throws {
    let database = try SalvageDatabase(seed: 14, isClosed: true, entryCount: 120)
    let bytes = try #require(database.disk.bytes(of: SalvageDatabase.path))
    var random = SeededRandom(seed: firstSeed())
    for trial in 0..<TestSize.trials(400, divisor: 80) {
      var forger = try #require(Forger(bytes, pageSize: database.pageSize))
      for _ in 0...trial % 3 { trace("trial \(trial): \(forger.mutate(&random))") }
      if random.oneIn(3) { trace(forger.mutateExtent(&random)) }
      forger.seal()
      let disk = SimulatedDisk()
      disk.install(forger.bytes, at: SalvageDatabase.path)
      let outcome = try Self.salvage(disk, SalvageOptions(believesUnverified: random.oneIn(2)))
      #expect(outcome.misplaced.isEmpty)
    }
  }

  /// Any bytes end in an error or in entries, and in an end.
  @Test func noise() throws {
    let database = try SalvageDatabase(seed: 12, isClosed: false, entryCount: 100)
    var random = SeededRandom(seed: firstSeed())
    let names = database.disk.names
    for trial in 0..<TestSize.trials(200, divisor: 50) {
      let disk = database.disk.copy()
      for _ in 0...trial % 5 {
        let name = random.pick(names)
        let count = disk.bytes(of: name)?.count ?? 1
        disk.burst(at: random.below(count), byteCount: 1 + random.below(3000), of: name, seed: random.next())
      }
      for believes in [false, true] {
        do {
          let outcome = try Self.salvage(disk, SalvageOptions(believesUnverified: believes))
          #expect(outcome.misplaced.isEmpty)
        } catch let error as StorageError {
          #expect([.damagedMetaPage, .newerFormat].contains(error.code), "\(error)")
        }
      }
    }
  }
}
