// Walking through the rows whose fields are read: which rows, in which order, and what goes wrong.

import Foundation
import QuireTesting
import Testing

@testable import QuireDatabase

@Suite("Walks of a reader of fields") struct FieldWalkTests {
  struct Item: SynthesizedCodable, Sendable { var number: Int, text: String }
  struct Stop: Error {}

  static let items = RowCollection<Item, PlayState>("items")
  static let others = RowCollection<Item, PlayState>("others")

  /// Rows of two collections, one in `share` of the first, in an order of keys that is not that of the numbers.
  private func fill(_ db: Database, _ count: Int, oneIn share: Int) throws {
    try db.write { tx throws in
      for index in 0..<count {
        let item = Item(number: index, text: String(repeating: "x", count: index % 90 == 0 ? 9000 : 10))
        let key = "\(index * 7919 % 1009)-\(index)"
        try tx[index % share == 0 ? Self.items : Self.others].set(item, metadata: PlayState(plays: index), for: key)
      }
    }
  }

  @Test(arguments: [1, 2, 30]) func allRowsComeInTheOrderOfTheirNumbers(share: Int) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 2000, oneIn: share)
    let expected = Array(stride(from: 0, to: 2000, by: share))
    func numbers(_ rows: some RowReading<Item, PlayState>) throws -> [Int] {
      let reader = FieldReader(rows, halves: .any)
      let number = reader.add(\.number)
      var found: [Int] = []
      try reader.forEachRow { rowID, stored in
        let row = try reader.row()
        #expect(row.rowID == rowID && row.key.hasSuffix("-\(row.object.number)"))
        #expect(row.metadata?.plays == row.object.number)
        let bytes = row.object.number.sortBytes
        #expect(stored.hasValue(number) { own in own.withUnsafeBytes { $0.elementsEqual(bytes) } } != false)
        found.append(row.object.number)
        return true
      }
      return found
    }
    try db.read { tx throws in #expect(try numbers(tx[Self.items]) == expected) }
    try db.write { tx throws in
      try tx[Self.items].set(Item(number: 5000, text: ""), metadata: PlayState(plays: 5000), for: "0-5000")
      #expect(try numbers(tx[Self.items]) == expected + [5000])
    }
  }

  @Test func aWalkEndsWhereItIsToEnd() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 2000, oneIn: 2)
    try db.read { tx throws in
      let ids = try tx[Self.items].rowIDs.sorted()
      let reader = FieldReader(tx[Self.items])
      _ = reader.add(\.number)
      for wanted in [1, 16, 17, 300] {
        var found: [RowID] = []
        func take(_ rowID: RowID, _: StoredFields) -> Bool {
          found.append(rowID)
          return found.count < wanted
        }
        try reader.forEachRow(take)
        #expect(found == Array(ids.prefix(wanted)))
        found = []
        // Those of another collection, and those that are nobody's, are left out.
        let mixed = ids.reversed().flatMap { [$0, RowID($0.rawValue + 1), RowID(1 << 40)] }
        try reader.forEachRow(withIDs: mixed, take)
        #expect(found == Array(ids.reversed().prefix(wanted)))
      }
    }
  }

  @Test func whatTheClosureThrowsIsThrown() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 100, oneIn: 2)
    let packed = RowCollection<Item, PlayState>("packed", compression: .lz4(above: 1))
    try db.write { tx throws in
      let item = Item(number: 1, text: String(repeating: "a", count: 500))
      for index in 0..<100 { try tx[packed].set(item, for: "\(index)") }
    }
    try db.read { tx throws in
      for rows in [Self.items, packed] {
        let reader = FieldReader(tx[rows])
        _ = reader.add(\.number)
        var count = 0
        var kept: StoredFields?
        #expect(throws: Stop.self) {
          try reader.forEachRow { _, stored in
            kept = stored
            count += 1
            if count == 30 { throw Stop() }
            return true
          }
        }
        // Nothing is lent any more.
        #expect(kept?.hasValue(0) { _ in true } == nil)
        #expect(errorCode { _ = try reader.object() } == .transactionClosed)
        #expect(errorCode { _ = try reader.row() } == .transactionClosed)
      }
    }
  }

  @Test func aChangeInsideOfAWalkIsRefused() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 100, oneIn: 1)
    try db.write { tx throws in
      let reader = FieldReader(tx[Self.items])
      var code: DatabaseError.Code?
      try reader.forEachRow { _, _ in
        code = errorCode { try tx[Self.items].remove("0-0") }
        return false
      }
      #expect(code == .transactionFailed)
      #expect(try tx[Self.items].contains("0-0"))
    }
  }

  @Test func aReaderThatIsKeptTooLongIsRefused() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 40, oneIn: 1)
    let reader = try db.read { tx throws in FieldReader(tx[Self.items]) }
    #expect(errorCode { try reader.forEachRow { _, _ in true } } == .transactionClosed)
    // A collection that does not exist has no rows.
    try db.read { tx throws in
      try FieldReader(tx[RowCollection<Item, NoMetadata>("none")]).forEachRow { _, _ in throw Stop() }
    }
  }

  @Test func aReadOfFieldsIsObserved() async throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db, 60, oneIn: 1)
    let counts = db.observe { tx in
      let reader = FieldReader(tx[Self.items])
      let number = reader.add(\.number)
      var count = 0
      try reader.forEachRow { _, stored in
        let isMeant = stored.hasValue(number) { bytes in bytes.withUnsafeBytes { $0.elementsEqual(59.sortBytes) } }
        if try isMeant ?? (reader.object().number == 59) { count += 1 }
        return true
      }
      return count
    }
    var iterator = counts.makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    try await db.write { tx throws in try tx[Self.items].set(Item(number: 59, text: ""), for: "new") }
    #expect(try await iterator.next() == 2)
    try await db.write { tx throws in _ = try tx[Self.items].update("new") { $0.number = 1 } }
    #expect(try await iterator.next() == 1)
  }
}
