// What is noted about extensions, from a file that anybody may have written: no extension gets the trees of another.

import QuireDatabase
import QuireStorage
import QuireTesting
import QuireViews
import Testing

@Suite("Forged notes about extensions") struct ForgedCatalogTests {
  struct NoTree: Error {}

  private static func view(_ name: String) -> AutoView<Item, Int> {
    AutoView(
      name, over: [.items()], version: "1", grouping: .byObject { $0.group }, sorting: .byObject { $0.rank })
  }

  /// A database with a view of ten rows, whose notes about extensions `change` has changed below the object layer.
  private func forged(
    _ folder: TestFolder, _ change: (borrowing QuireStorage.WriteTransaction, Tree) throws -> Void
  ) throws -> Database {
    let db = try folder.open()
    try db.register(Self.view("first"))
    try db.write { tx throws in
      for rank in 0..<10 { try tx[.items()].set(Item(group: "a", rank: rank), for: "k\(rank)") }
    }
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      guard let tree = tx.tree(named: "quire.extensions") else { throw NoTree() }
      try change(tx, tree)
    }
    try engine.close()
    return try folder.open()
  }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  /// The number of the next extension, as the file says it: nothing, the first again, and no number.
  @Test(arguments: [nil, [1, 0, 0, 0], [0, 0, 0, 0]] as [[UInt8]?])
  func noNumberOfAnExtensionIsGivenAgain(_ noted: [UInt8]?) throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, catalog in
      if let noted {
        try tx.put(noted, for: [UInt8(ascii: "n")], in: catalog)
      } else {
        _ = try tx.delete([UInt8(ascii: "n")], in: catalog)
      }
    }
    #expect(code { try db.verify() } == .damagedRow)
    let (first, second) = (Self.view("first"), Self.view("second"))
    try db.register(first)
    if noted == [0, 0, 0, 0] {
      #expect(code { try db.register(second) } == .limitReached)
    } else {
      try db.register(second)
      try db.write { tx throws in try tx[.items()].set(Item(group: "b", rank: 1), for: "k1") }
      for view in [first, second] {
        try db.verify(view)
        try db.read { tx throws in
          let reader = try tx.view(view)
          #expect(reader.count(in: "a") == 9 && reader.count(in: "b") == 1)
        }
      }
      // One that goes takes nothing of the other along.
      try db.unregister(extensionNamed: "second")
      try db.verify()
    }
    try db.verify(first)
    try db.close()
  }

  @Test func aRecordThatCannotBeReadIsFound() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, catalog in
      try tx.put([1, 2, 3], for: [UInt8(ascii: "r")] + Array("other".utf8), in: catalog)
    }
    #expect(code { try db.verify() } == .damagedRow)
    // What the error advises helps.
    try db.unregister(extensionNamed: "other")
    try db.verify()
    try db.register(Self.view("first"))
    try db.verify(Self.view("first"))
    try db.close()
  }

  @Test func twoExtensionsOfOneNumberAreFound() throws {
    let folder = try TestFolder()
    let db = try forged(folder) { tx, catalog in
      guard let record = try tx.value(for: [UInt8(ascii: "r")] + Array("first".utf8), in: catalog) else {
        throw NoTree()
      }
      try tx.put(record, for: [UInt8(ascii: "r")] + Array("twin".utf8), in: catalog)
    }
    #expect(code { try db.verify() } == .damagedRow)
    // One that goes takes nothing of the other along.
    try db.unregister(extensionNamed: "twin")
    try db.verify()
    try db.register(Self.view("first"))
    try db.verify(Self.view("first"))
    try db.close()
  }
}
