// References that lead to a page of another level, under right checksums: an error for whoever comes by, and a defect.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ForgedReferenceTests {
  private static let pageSize = 512

  /// A tree of three levels at least, whose root leads to a leaf in the place of its first branch.
  private func makeDisk() throws -> SimulatedDisk {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let engine = try tiny.open()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<4000 as Range<Int64> { try tx.put([UInt8](marked: Int(key), count: 40), for: key, in: tree) }
    }
    try engine.close()
    let disk = tiny.disk.copy()
    let bytes = try #require(disk.bytes(of: TinyDatabase.path))
    var forger = try #require(Forger(bytes, pageSize: Self.pageSize))
    func level(_ page: Int) -> Int { Int(forger.bytes[forger.base(page) + PageLayout.levelOffset]) }
    let branches = forger.treePages().filter { forger.kind($0) == PageKind.branch.rawValue && forger.treeID($0) != 0 }
    let root = try #require(branches.max { level($0) < level($1) })
    try #require(level(root) >= 2)
    let branch = Int(forger.word(forger.referencesOffset(root)))
    forger.put(forger.word(forger.referencesOffset(branch)), at: forger.referencesOffset(root))
    forger.seal()
    disk.overwrite(forger.bytes, at: 0, of: TinyDatabase.path)
    return disk
  }

  @Test func aPageOfAnotherLevelIsNotRead() throws {
    let disk = try makeDisk()
    let defects = try Inspector(at: TinyDatabase.path, fileSystem: disk).check()
    #expect(defects.contains { $0.message.contains("was expected") }, "\(defects.map(\.message))")
    let engine = try TinyDatabase(pageSize: Self.pageSize).open(disk)
    func failure(_ body: () throws -> Void) -> StorageError? {
      do { try body() } catch { return error as? StorageError }
      return nil
    }
    let tree = try #require(try engine.read { tx in tx.tree(named: "t") })
    for _ in 0..<2 {
      // Twice: what has come into memory is looked at as well.
      let reading = failure { try engine.read { tx in _ = try tx.value(for: 0 as Int64, in: tree) } }
      #expect(reading?.code == .damagedPage, "\(String(describing: reading))")
    }
    // What lies below other branches is there.
    let last = try engine.read { tx in try tx.value(for: 3999 as Int64, in: tree) }
    #expect(last == [UInt8](marked: 3999, count: 40))
    let writing = failure { try engine.write { tx in try tx.put([1], for: 0 as Int64, in: tree) } }
    #expect(writing?.code == .damagedPage)
    let again = try engine.read { tx in try tx.value(for: 3999 as Int64, in: tree) }
    #expect(again == last)
    try engine.close()
  }
}
