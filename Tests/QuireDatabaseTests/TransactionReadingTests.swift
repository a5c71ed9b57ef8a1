// What functions for both kinds of transactions see.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct TransactionReadingTests {
  /// What the calls that both kinds have tell.
  private struct Told: Equatable {
    var csn: UInt64
    var collections: [String]
    var holders: [String]
    var count: Int
    var key: RowKey?
    var row: Song?
    var byteCount: Int

    init(_ tx: some TransactionReading) throws {
      csn = tx.csn.rawValue
      collections = tx.collections
      holders = try tx.collections(containing: "s1")
      count = tx.count
      key = try tx.rowID(of: RowKey("songs", "s1")).flatMap { try tx.key(of: $0) }
      row = try tx.rows(of: .songs).get("s1")
      byteCount = try tx.rawRows("songs").row("s1")?.object.count ?? 0
    }
  }

  @Test func bothKindsTellTheSame() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in
      try tx[.songs].set(Song("one"), for: "s1")
      try tx[.texts("t")].set("x", for: "k")
    }
    let read = try db.read { tx throws in try Told(tx) }
    let written = try db.write { tx throws in try Told(tx) }
    #expect(read.collections == ["songs", "t"] && read.holders == ["songs"] && read.count == 2)
    #expect(read.key == RowKey("songs", "s1") && read.row == Song("one") && read.byteCount > 0)
    #expect(written == read)
  }

  @Test func aWriteTransactionShowsWhatItHasDone() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in
      #expect(try Told(tx).row == nil)
      try tx[.songs].set(Song("new"), for: "s1")
      #expect(try Told(tx).row == Song("new") && Told(tx).count == 1)
      #expect(try tx.handle.writeTransaction != nil && tx.handle.readTransaction[.songs].get("s1") == Song("new"))
      #expect(try db.pin().read { old throws in try Told(old).row } == nil)
    }
    try db.read { tx throws in #expect(tx.handle.writeTransaction == nil) }
  }

  /// Those that cannot throw note it for the next call, in both kinds.
  @Test func whatIsOverSaysSo() throws {
    let db = try Database.inMemory()
    var kept: [any TransactionReading] = []
    try db.read { tx in kept.append(tx) }
    try db.write { tx in kept.append(tx) }
    for tx in kept {
      #expect(tx.collections.isEmpty && tx.count == 0)
      #expect(errorCode { _ = try tx.collections(containing: "k") } == .transactionClosed)
      #expect(errorCode { _ = try tx.rowID(of: RowKey("songs", "s1")) } == .transactionClosed)
      #expect(errorCode { _ = try tx.rows(of: .songs).get("s1") } == .transactionClosed)
    }
  }
}
