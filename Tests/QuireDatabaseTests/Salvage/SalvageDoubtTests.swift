// Which of two rows with one key is kept when both may be old.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite("Salvaging rows that may be old") struct SalvageDoubtTests {
  private static let texts = RowCollection<String, NoMetadata>("texts", coder: .json)
  private let folder: TestFolder
  private var newPath: String { folder.url.appendingPathComponent("new.quire").path }

  init() throws { folder = try TestFolder() }

  /// Two rows of one key, of which the key index has the one with the lower number, in an old version of their leaf.
  private func makeTwins() throws -> (low: Int64, high: Int64) {
    let db = try folder.open()
    func store(_ text: String) throws -> Int64 {
      try db.write { tx throws in try tx[Self.texts].set(text, for: "k") }
      return try #require(try db.read { tx throws in try tx.rowID(of: RowKey("texts", "k")) }).rawValue
    }
    let low = try store("removed")
    let removed = try #require(try SalvagedHistory.rows(db.engine)[low])
    #expect(try store("kept") == low)
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    let high = low + 5
    let rows = try #require(try engine.read { tx in tx.tree(named: "quire.rows") })
    try engine.write { tx in
      try tx.put(removed, for: high, in: rows)
      _ = try tx.allocateRowIDs(8)
    }
    try engine.checkpoint()
    try engine.write { tx in try tx.put(removed, for: high, in: rows) }
    try engine.close()
    return (low, high)
  }

  private func salvage() throws -> [SalvageFinding] {
    var findings: [SalvageFinding] = []
    let outcome = try DatabaseSalvage(folder.path, report: { findings.append($0) }).run(to: newPath)
    #expect(outcome.defects.isEmpty && outcome.rowCount == 1)
    #expect(outcome.collections.map(\.kept) == [1])
    return findings
  }

  private func text() throws -> String? {
    let db = try Database(at: newPath)
    try db.checkInvariants()
    let text = try db.read { tx throws in try tx[Self.texts].get("k") }
    try db.close()
    return text
  }

  @Test("Of two old rows with one key the key index says which is there") func keyIndexDecides() throws {
    let (low, _) = try makeTwins()
    var pages = try TreePages(folder.path)
    try pages.zeroNewestLeaf(of: "quire.rows")
    let findings = try salvage()
    #expect(findings.filter { $0.kind == .oldRow }.map(\.row) == [low], "\(findings)")
    #expect(!findings.contains { $0.kind == .lostRow }, "\(findings)")
    #expect(try text() == "kept")
  }

  @Test("Without the key index it is the one that was stored later") func numbersDecide() throws {
    let (_, high) = try makeTwins()
    var pages = try TreePages(folder.path)
    try pages.zeroNewestLeaf(of: "quire.rows")
    #expect(try pages.zeroLeaves(of: "quire.keys") > 0)
    let findings = try salvage()
    #expect(findings.filter { $0.kind == .oldRow }.map(\.row) == [high], "\(findings)")
    #expect(try text() == "removed")
  }
}
