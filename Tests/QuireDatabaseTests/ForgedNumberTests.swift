// Numbers of collections and rows, from a file that anybody may have written: no two collections become one, and no
// number is taken for that of a row that none can have.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct ForgedNumberTests {
  struct NoTree: Error {}

  /// A database with one collection, whose trees `change` has changed below the object layer.
  private func forged(
    _ folder: TestFolder,
    _ change: (borrowing QuireStorage.WriteTransaction, _ name: (String) throws -> Tree) throws -> Void
  ) throws -> Database {
    let db = try folder.open()
    try db.storeNotes(0..<4)
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      let trees = Dictionary(uniqueKeysWithValues: tx.treeNames.map { ($0, tx.tree(named: $0)) })
      try change(tx) { name in
        guard let tree = trees[name] ?? nil else { throw NoTree() }
        return tree
      }
    }
    try engine.close()
    return try folder.open()
  }

  @Test func aNumberThatIsTakenIsNotGivenAgain() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, tree throws in
      _ = try tx.delete([UInt8]("nextCollectionID".utf8), in: try tree("quire.info"))
    }
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(errorCode { try db.write { tx throws in try tx[.blobs].set([1, 2, 3], for: "blob") } } == .damagedRow)
    // What is there is read and written as before.
    try db.storeNotes(4..<5)
    #expect(try db.read { tx throws in try tx[.notes].get("n4") } != nil)
    #expect(try db.read { tx throws in Array(tx[.notes].keys).count } == 5)
    try db.close()
  }

  @Test func aNumberOfTwoCollectionsIsAnError() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, tree throws in
      let collections = try tree("quire.collections")
      guard let record = try tx.value(for: [UInt8]("notes".utf8), in: collections) else { throw NoTree() }
      try tx.put(record, for: [UInt8]("others".utf8), in: collections)
    }
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(errorCode { try db.read { tx throws in _ = try tx.key(of: RowID(1)) } } == .damagedRow)
    #expect(try db.read { tx throws in try tx[.notes].get("n1") } != nil)
    try db.close()
  }

  @Test func aRowThatIsInNoIndexOfKeysIsAnError() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, tree throws in
      let key = [0, 0, 0, 1] as [UInt8] + Array("n1".utf8)
      guard try tx.delete(key, in: try tree("quire.keys")) else { throw NoTree() }
    }
    let error = #expect(throws: DatabaseError.self) { try db.verify() }
    #expect(error?.code == .damagedRow && error?.message.contains("4 rows, but 3 keys") == true)
    // Nobody finds it under its key, and those beside it are as they were.
    #expect(try db.read { tx throws in try tx[.notes].get("n1") } == nil)
    #expect(try db.read { tx throws in Array(tx[.notes].keys) } == ["n0", "n2", "n3"])
    try db.close()
  }

  /// Numbers that no row is given.
  @Test(arguments: [0, -1, .min, .max] as [Int64]) func aNumberThatNoRowHasIsAnError(_ number: Int64) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, tree throws in
      let (keys, rows) = (try tree("quire.keys"), try tree("quire.rows"))
      // The row is there under that number, and leads back to its key.
      guard let row = try tx.value(for: 2 as Int64, in: rows) else { throw NoTree() }
      try tx.put(row, for: number, in: rows)
      _ = try tx.delete(2 as Int64, in: rows)
      let stored = withUnsafeBytes(of: number.littleEndian) { Array($0) }
      try tx.put(stored, for: [0, 0, 0, 1] as [UInt8] + Array("n1".utf8), in: keys)
    }
    #expect(errorCode { try db.verify() } == .damagedRow)
    #expect(errorCode { try db.read { tx throws in _ = try tx[.notes].get("n1") } } == .damagedRow)
    #expect(errorCode { try db.read { tx throws in for _ in tx[.notes].keys {} } } == .damagedRow)
    #expect(errorCode { try db.write { tx throws in _ = try tx[.notes].remove("n1") } } == .damagedRow)
    #expect(errorCode { try db.storeNotes(1..<2) } == .damagedRow)
    // What is beside it is read and written as before.
    #expect(try db.read { tx throws in try tx[.notes].get("n2") } != nil)
    try db.storeNotes(2..<6)
    #expect(try db.read { tx throws in try tx[.notes].get("n5") } != nil)
    // Without all of them nothing is wrong.
    try db.write { tx throws in _ = try tx.removeAll() }
    try db.verify()
    try db.close()
  }
}
