// Scans read runs of leaves; everything else reads what it visits.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ReadAheadTests {
  private static let rows = 64_000

  /// A closed database whose tree was loaded in order, and so stands in order in the file.
  private func makeDisk() throws -> SimulatedDisk {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for number in 0..<Self.rows { _ = try tx.put([UInt8](repeating: 1, count: 100), for: Int64(number), in: tree) }
    }
    try engine.close()
    return tiny.disk
  }

  /// How many reads of the data file `disk` has seen.
  private func reads(_ disk: SimulatedDisk) -> Int { disk.counters[.read] }

  private func scan(_ engine: StorageEngine, backwards: Bool) throws -> Int {
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { return 0 }
      var cursor = try tx.cursor(tree)
      var count = 0
      while try backwards ? cursor.previous() : cursor.next() { count += 1 }
      return count
    }
  }

  @Test(arguments: [false, true]) func scansReadRuns(backwards: Bool) throws {
    let disk = try makeDisk()
    var tiny = TinyDatabase(disk)
    // Room for the whole tree.
    tiny.options.cacheSize = 64 << 20
    let engine = try tiny.open(disk)
    let before = (pages: engine.statistics.pagesRead, calls: reads(disk))
    #expect(try scan(engine, backwards: backwards) == Self.rows)
    let pages = engine.statistics.pagesRead - before.pages
    let calls = reads(disk) - before.calls
    #expect(pages > 1700 && calls * 8 <= pages, "\(calls) calls for \(pages) pages")
    #expect(try scan(engine, backwards: !backwards) == Self.rows)
    #expect(engine.statistics.pagesRead - before.pages == pages, "a second scan read pages again")
    try engine.close()
  }

  @Test func seeksReadNothingAhead() throws {
    let disk = try makeDisk()
    let engine = try TinyDatabase(disk).open(disk)
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
      var cursor = try tx.cursor(tree)
      _ = try cursor.seek(30_000 as Int64)
      let before = engine.statistics.pagesRead
      // Some 38 entries to a leaf: this stays within two.
      for _ in 0..<30 { _ = try cursor.next() }
      #expect(engine.statistics.pagesRead - before <= 1)
    }
    try engine.close()
  }

  @Test func aBadPageInARunIsReportedByItsOwnVisit() throws {
    let disk = try makeDisk()
    let bytes = try #require(disk.bytes(of: TinyDatabase.path))
    // A leaf in the middle of the tree.
    let victim = try #require(
      (200..<bytes.count / 4096).first { bytes[$0 * 4096 + PageLayout.kindOffset] == PageKind.leaf.rawValue })
    disk.overwrite([bytes[victim * 4096 + 3000] ^ 1], at: victim * 4096 + 3000, of: TinyDatabase.path)
    for backwards in [false, true] {
      let engine = try TinyDatabase(disk).open(disk)
      let error = #expect(throws: StorageError.self) { _ = try scan(engine, backwards: backwards) }
      #expect(error?.code == .damagedPage && error?.page == PageNumber(UInt64(victim)))
      // Its neighbours are served.
      let found = try engine.read { tx in
        guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
        var count = 0
        for number in stride(from: 0, to: Self.rows, by: 10) {
          do { if try tx.value(for: Int64(number), in: tree) != nil { count += 1 } } catch is StorageError {}
        }
        return count
      }
      #expect(found > Self.rows / 10 - 12)
      try engine.close()
    }
  }

  @Test func aFileThatEndsEarlyIsReported() throws {
    let disk = try makeDisk()
    let engine = try TinyDatabase(disk).open(disk)
    let file = try disk.open(TinyDatabase.path, .readWrite)
    try file.resize(to: 4096 * 700 + 100)
    let error = #expect(throws: StorageError.self) { _ = try scan(engine, backwards: false) }
    #expect(error?.code == .truncatedFile)
  }
}
