// Free maps that lie, with checksums that are right: nothing that a database holds is written over because of them.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct FreeMapForgeryTests {
  /// Who proves the map.
  enum Prover: CaseIterable, Sendable {
    /// The first transaction.
    case firstWrite
    /// Whoever cannot do without places.
    case nobody
    /// A thread beside the transactions.
    case thread
  }

  private func open(_ disk: SimulatedDisk, _ prover: Prover = .firstWrite) throws -> StorageEngine {
    var environment = disk.environment(scheduling: prover == .thread ? .threads : .stepped)
    environment.provenAtOncePageCount = prover == .firstWrite ? 4096 : 0
    let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 64 << 10, maintainsWhenIdle: false)
    return try StorageEngine(at: TinyDatabase.path, options: options, environment: environment)
  }

  /// A closed database with free places, on a disk of its own, and what is in it.
  private func makeFile(longOneIn: Int = 6) throws -> (bytes: [UInt8], content: DatabaseContent) {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try TinyDatabase.fill(engine, count: 400, longOneIn: longOneIn)
    try engine.checkpoint()
    try engine.write { tx in
      let tree = try tx.createTree("gone", keys: .int64)
      for key in 0..<600 { try tx.put([UInt8](repeating: 1, count: 60), for: Int64(key), in: tree) }
    }
    try TinyDatabase.fill(engine, count: 60, seed: 8, longOneIn: longOneIn)
    try engine.checkpoint()
    try engine.write { tx in
      if let tree = tx.tree(named: "gone") { try tx.dropTree(tree) }
    }
    let content = try DatabaseContent(of: engine)
    try engine.close()
    return (try #require(disk.bytes(of: TinyDatabase.path)), content)
  }

  private func disk(_ bytes: [UInt8]) -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.install(bytes, at: TinyDatabase.path)
    return disk
  }

  /// The same file with a map that calls `pages` free.
  private func calling(_ pages: [Int], freeIn bytes: [UInt8]) throws -> [UInt8] {
    var forger = try #require(Forger(bytes, pageSize: 512))
    let map = Int(forger.meta.freeMap.number.rawValue)
    try #require(forger.kind(map) == PageKind.freeMapLeaf.rawValue)
    for page in pages {
      forger.bytes[forger.base(map) + PageLayout.headerByteCount + page / 8] |= 1 << UInt8(page % 8)
    }
    forger.seal()
    return forger.bytes
  }

  /// Pages that are in use: of the catalog, of trees, of long values, and of the map itself.
  private func usedPages(_ bytes: [UInt8]) throws -> [Int] {
    let forger = try #require(Forger(bytes, pageSize: 512))
    let map = Int(forger.meta.freeMap.number.rawValue)
    let extents = forger.extentPlaces().map { Int(forger.word($0 + 8)) }
    return forger.treePages() + extents + [map]
  }

  /// Whether every row of `expected` is in `found` as it was.
  private func requireRows(_ expected: DatabaseContent, in found: DatabaseContent, _ what: String) throws {
    for (name, entries) in expected.trees {
      try #require(found.trees[name] == entries, "\(what): \(name)")
    }
  }

  /// Adds `count` rows to a tree of their own, each in a transaction, until one is refused.
  private func add(_ count: Int, to engine: StorageEngine) throws -> (rows: Int, error: StorageError?) {
    for number in 0..<count {
      do {
        try engine.write { tx in
          let tree = try tx.tree(named: "new") ?? tx.createTree("new", keys: .int64)
          try tx.put([UInt8](marked: number, count: number % 9 == 0 ? 1300 : 90), for: Int64(number), in: tree)
        }
        if number % 10 == 9 { try engine.checkpoint() }
      } catch let error as StorageError {
        return (number, error)
      }
    }
    return (count, nil)
  }

  @Test("A map that calls live pages free costs nobody a row", arguments: Prover.allCases)
  func forgedMapCostsNothing(prover: Prover) throws {
    let (bytes, content) = try makeFile()
    let used = try usedPages(bytes)
    for seed in 0..<UInt64(TestSize.trials(prover == .thread ? 15 : 30, divisor: 7)) {
      var random = SeededRandom(seed: seed)
      let pages = (0..<(1 + random.below(12))).map { _ in used[random.below(used.count)] }
      let what = "seed \(seed), \(prover), pages \(pages)"
      let disk = disk(try calling(pages, freeIn: bytes))
      let engine = try open(disk, prover)
      let (rows, error) = try add(120, to: engine)
      switch prover {
      case .firstWrite:
        try #require(
          rows == 0 && error?.code == .damagedPage && error?.page != nil, "\(what): \(String(describing: error))")
      case .nobody: try #require(rows == 120 && error == nil, "\(what)")
      case .thread:
        if let error {
          try #require([.failStop, .outcomeUnknown, .damagedPage].contains(error.code), "\(what): \(error)")
        }
      }
      try requireRows(content, in: try DatabaseContent(of: engine), what)
      do { try engine.close() } catch { try #require(error.code == .failStop, "\(what): \(error)") }
      let again = try open(disk.crashImage(.allNew), .nobody)
      let found = try DatabaseContent(of: again)
      try requireRows(content, in: found, what)
      // A transaction whose outcome nobody was told may be there as well.
      let kept = found.trees["new"]?.count ?? 0
      try #require(kept == rows || (error != nil && kept == rows + 1), "\(what): \(kept) of \(rows)")
      try again.close()
    }
  }

  @Test func refusalNamesPageAndMapAndLeavesTheFileAlone() throws {
    let (bytes, content) = try makeFile()
    let page = try #require(try usedPages(bytes).first)
    let forged = try calling([page], freeIn: bytes)
    let disk = disk(forged)
    let engine = try open(disk)
    for _ in 0..<2 {
      let error = try #require(try add(1, to: engine).error)
      #expect(error.code == .damagedPage && error.page == PageNumber(UInt64(page)) && error.path == TinyDatabase.path)
      #expect(error.message.contains("free map") && error.message.contains("back it up"), "\(error)")
    }
    #expect(throws: StorageError.self) { try engine.compact() }
    let after = try #require(disk.bytes(of: TinyDatabase.path))
    #expect(Array(after.prefix(forged.count)) == forged)
    // The remedy that the message names.
    try engine.backup(to: "/backup.quire")
    try engine.close()
    let copy = SimulatedDisk()
    copy.install(try #require(disk.bytes(of: "/backup.quire")), at: TinyDatabase.path)
    let copied = try open(copy)
    #expect(try DatabaseContent(of: copied) == content)
    #expect(try add(30, to: copied).error == nil)
    try copied.verify()
    try copied.close()
  }

  @Test("Two references to one page are refused as well", arguments: [false, true])
  func sharedPagesAreRefused(isExtent: Bool) throws {
    let (bytes, _) = try makeFile()
    var forger = try #require(Forger(bytes, pageSize: 512))
    if isExtent {
      let places = forger.extentPlaces()
      for offset in [0, 8, 16, 24] { forger.put(forger.word(places[3] + offset), at: places[1] + offset) }
    } else {
      let branch = try #require(
        forger.treePages().first {
          forger.kind($0) == PageKind.branch.rawValue && forger.treeID($0) > 0 && forger.count($0) > 1
        })
      let references = forger.referencesOffset(branch)
      forger.put(forger.word(references), at: references + 8)
    }
    forger.seal()
    let engine = try open(disk(forger.bytes))
    let error = try add(1, to: engine).error
    #expect(error?.code == .damagedPage && error?.message.contains("not alone") == true, "\(String(describing: error))")
    try engine.close()
  }

  @Test("Before the proof the file grows at its end, and after it free places are used")
  func soundMapsAreProven() throws {
    let (bytes, content) = try makeFile()
    let pageCount = UInt64(bytes.count / 512)
    for prover in Prover.allCases {
      let engine = try open(disk(bytes), prover)
      let allocator = engine.core.allocator
      #expect(allocator.isWithholding && allocator.availableCount == 0 && allocator.usableCount == 0)
      try #require(try add(20, to: engine).error == nil)
      if prover == .nobody {
        #expect(allocator.isWithholding && allocator.pageCount > pageCount)
        #expect(allocator.checkInvariants() == nil)
        try engine.compact()
      }
      let end = secondsNow() + 20
      while allocator.isWithholding, secondsNow() < end {}
      #expect(!allocator.isWithholding && allocator.checkInvariants() == nil)
      if prover == .firstWrite { #expect(allocator.pageCount == pageCount) }
      try #require(try add(60, to: engine).error == nil)
      try engine.verify()
      try requireRows(content, in: try DatabaseContent(of: engine), "\(prover)")
      try engine.close()
    }
  }

  @Test("On a full disk what is there can be removed, though nothing has proven the map")
  func fullDiskWaitsForTheProof() throws {
    let (bytes, _) = try makeFile()
    for prover in [Prover.nobody, .firstWrite] {
      let disk = disk(bytes)
      // Room for the log alone.
      disk.capacity = disk.usedByteCount + (140 << 10)
      let engine = try open(disk, prover)
      var removed = 0
      for key in -400..<1200 {
        try engine.write { tx in
          if let tree = tx.tree(named: "numbers"), try tx.delete(Int64(key), in: tree) { removed += 1 }
        }
      }
      #expect(removed > 100)
      try engine.verify()
      try engine.close()
    }
  }

  @Test("A crash before the first checkpoint is recovered from on a full disk")
  func recoveryOnAFullDiskUsesFreePlaces() throws {
    let (bytes, content) = try makeFile()
    let disk = disk(bytes)
    let engine = try open(disk, .nobody)
    for number in 0..<40 {
      try engine.write { tx in
        let tree = try tx.tree(named: "new") ?? tx.createTree("new", keys: .int64)
        try tx.put([UInt8](marked: number, count: number % 9 == 0 ? 1300 : 90), for: Int64(number), in: tree)
      }
    }
    for mode in [CrashMode.allNew, .allOld] {
      let image = disk.crashImage(mode)
      image.capacity = image.usedByteCount
      let again = try open(image, .nobody)
      let found = try DatabaseContent(of: again)
      try requireRows(content, in: found, "\(mode)")
      #expect(found.trees["new"]?.count == 40)
      try again.verify()
      try again.close()
    }
  }

  @Test("A length that is nearly all holes is refused, before memory is taken for its map")
  func lengthOfHoles() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/holes.quire"
    try StorageEngine(at: path, options: StorageOptions(pageSize: 4096)).close()
    let entry = try #require(FolderImage(of: folder.path).entries["holes.quire"])
    var forger = try #require(Forger(entry.bytes, pageSize: 4096))
    var page = forger.meta
    page.pageCount = (8 << 40) / 4096
    forger.seal(page)
    writeFile(forger.bytes, path)
    try #require(truncate(path, 8 << 40) == 0)
    let error = #expect(throws: StorageError.self) { _ = try StorageEngine(at: path) }
    #expect(error?.code == .damagedPage && error?.message.contains("of which the disk holds") == true)
    let defects = try Inspector(at: path).check()
    #expect(defects.contains { $0.message.contains("of which the disk holds") })
  }

  @Test("A branch that cannot be read keeps places from being given out, and nothing else", arguments: Prover.allCases)
  func unreadableBranch(prover: Prover) throws {
    let (bytes, content) = try makeFile()
    let forger = try #require(Forger(bytes, pageSize: 512))
    let branch = try #require(
      forger.treePages().first { forger.kind($0) == PageKind.branch.rawValue && forger.treeID($0) > 0 })
    let name = ["texts", "numbers", "paths"][Int(forger.treeID(branch)) - 1]
    let disk = disk(bytes)
    disk.flipBit(3, at: branch * 512 + 200, of: TinyDatabase.path)
    let engine = try open(disk, prover)
    try #require(try add(120, to: engine).error == nil)
    #expect(engine.core.allocator.isWithholding)
    let error = #expect(throws: StorageError.self) { try engine.compact() }
    #expect(error?.code == .damagedPage && error?.page == PageNumber(UInt64(branch)))
    try engine.close()
    // What hangs below the page is as it was, were the page whole again.
    disk.flipBit(3, at: branch * 512 + 200, of: TinyDatabase.path)
    let again = try open(disk)
    try requireRows(content, in: try DatabaseContent(of: again), name)
    try again.verify()
    try again.close()
  }
}
