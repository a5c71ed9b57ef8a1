// Counters that a file brings along at the end of their range: what is written after them is not lost for it.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ForgedCounterTests {
  /// The counters of a meta page, and the highest id in the catalog.
  enum Counter: CaseIterable, Sendable {
    case csn, checkpointNumber, lsn, nextTreeID, treeID, nextRowID
  }

  /// A closed database of one tree of one leaf.
  private func makeForger() throws -> Forger {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    try engine.write { tx in try tx.put("hello", for: "world", in: tx.createTree("greetings", keys: .bytes)) }
    try engine.close()
    let bytes = try #require(tiny.disk.bytes(of: TinyDatabase.path))
    return try #require(Forger(bytes, pageSize: 512))
  }

  /// Gives a counter a value so far below the end of what is read.
  private func forge(_ counter: Counter, below distance: UInt64, _ forger: inout Forger) {
    var meta = forger.meta
    switch counter {
    case .csn: (meta.csn, meta.loggedCSN) = (CSN(1 << 62 - distance), CSN(1 << 62 - distance))
    case .checkpointNumber: meta.checkpointNumber = 1 << 48 - 1 - distance
    case .lsn: meta.lsn = LSN(1 << 62 - distance)
    case .nextTreeID: meta.nextTreeID = UInt64(Limits.treeID) + 1 - distance
    case .nextRowID: meta.nextRowID = .max - Int64(distance) + 1
    case .treeID:
      let (id, catalog) = (UInt64(Limits.treeID) - distance, Int(meta.catalog.number.rawValue))
      let root = Int(forger.word(forger.valueOffset(catalog, forger.cellOffset(catalog, 0)) + 2))
      // Integers stand in the heads, in an order in which negative ones come first.
      forger.put(id ^ 1 << 63, at: forger.base(catalog) + PageLayout.headerByteCount)
      forger.put(id, at: forger.base(root) + PageLayout.treeIDOffset)
      forger.seal()
      guard let sealed = Forger(forger.bytes, pageSize: 512) else { return }
      meta = sealed.meta
      meta.nextTreeID = 2
    }
    forger.seal(meta)
  }

  /// What a read-only opening shows.
  private func shown(_ disk: SimulatedDisk) throws -> DatabaseContent {
    var tiny = TinyDatabase(disk, pageSize: 512)
    tiny.options.isReadOnly = true
    let engine = try tiny.open()
    defer { try? engine.close() }
    return try DatabaseContent(of: engine)
  }

  @Test(arguments: Counter.allCases, [1, 2, 1 << 20] as [UInt64])
  func whatWasAcknowledgedIsThere(counter: Counter, distance: UInt64) throws {
    var forger = try makeForger()
    forge(counter, below: distance, &forger)
    let disk = SimulatedDisk()
    disk.install(forger.bytes, at: TinyDatabase.path)
    let tiny = TinyDatabase(disk, pageSize: 512)
    guard let engine = try? tiny.open() else {
      // Refused before anything was acknowledged.
      #expect(disk.bytes(of: TinyDatabase.path) == forger.bytes)
      return
    }
    for number in 0..<4 {
      do {
        try engine.write { tx in
          let tree = try tx.createTree("more \(number)", keys: .int64)
          try tx.put("more", for: Int64(number), in: tree)
        }
      } catch let error as StorageError { #expect(error.code == .limitReached) }
      try engine.write { tx in
        guard let tree = tx.tree(named: "greetings") else { throw ContentMismatch(description: "the tree is gone") }
        try tx.put("there", for: "key \(number)", in: tree)
      }
    }
    let content = try DatabaseContent(of: engine)
    let killed = disk.processKillImage()
    #expect(try shown(killed) == content)
    try engine.close()
    #expect(try shown(disk) == content)
    #expect(try Inspector(at: TinyDatabase.path, fileSystem: disk).check().isEmpty)
  }

  /// Files that were written by programs are far from all of these ends.
  @Test func nothingElseIsRefused() throws {
    var forger = try makeForger()
    forge(.csn, below: 1 << 62 - 1 << 60, &forger)
    let disk = SimulatedDisk()
    disk.install(forger.bytes, at: TinyDatabase.path)
    try TinyDatabase(disk, pageSize: 512).open().close()
  }
}
