// Closures of an app's that do what they should not: coders, filters and sanitizers that come back into the
// transaction, handles that are kept too long. Each gives an error or works; none leaves a row without its key.

import Foundation
import QuireDatabase
import QuireTesting
import struct QuireStorage.StorageError
import Testing

/// The transaction that a coder comes back into.
private final class Door: @unchecked Sendable {
  // Sendable: safe because the tests use it on the thread of the transaction only.
  var tx: WriteTransaction?
  var action: ((WriteTransaction) throws -> Void)?

  /// Does the action once.
  func enter() throws {
    guard let tx, let action else { return }
    self.action = nil
    try action(tx)
  }
}

@Suite struct MisuseTests {
  let folder: TestFolder
  let db: Database
  private let whileEncoding = Door()
  private let whileDecoding = Door()
  private let rows: RowCollection<String, String>

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    let (encoding, decoding) = (whileEncoding, whileDecoding)
    let coder = RowCoder<String>(
      encode: { text in
        try encoding.enter()
        return Array(text.utf8)
      },
      decode: { bytes in
        try decoding.enter()
        return String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
      })
    rows = RowCollection("rows", coder: coder, metadataCoder: coder)
    let rows = rows
    try db.write { tx throws in try tx[rows].set("old", metadata: "m", for: "k") }
  }

  /// Runs `body` while `action` waits for the next object to be encoded.
  private func write(
    whileEncoding action: @escaping (WriteTransaction) throws -> Void, _ body: (WriteTransaction) throws -> Void
  ) throws {
    try db.write { tx throws in
      whileEncoding.tx = tx
      whileEncoding.action = action
      defer { whileEncoding.tx = nil }
      try body(tx)
    }
    try db.checkInvariants()
  }

  @Test func aCoderMayStoreTheVeryRowThatItEncodes() throws {
    let rows = rows
    try write(whileEncoding: { tx in try tx[rows].set("inner", for: "new") }) { tx throws in
      try tx[rows].set("outer", for: "new")
    }
    try write(whileEncoding: { tx in try tx[rows].set("inner", for: "k") }) { tx throws in
      #expect(try tx[rows].replace("outer", for: "k"))
    }
    try write(whileEncoding: { tx in try tx[rows].set(String(repeating: "x", count: 9000), for: "k") }) { tx throws in
      #expect(try tx[rows].replaceMetadata("outer", for: "k"))
    }
    try db.read { tx throws in
      #expect(try tx[rows].get("new") == "outer" && tx[rows].count == 2)
      #expect(try tx[rows].get("k")?.count == 9000 && tx[rows].metadata("k") == "outer")
    }
  }

  @Test func aCoderMayRemoveTheVeryRowThatItEncodes() throws {
    let rows = rows
    try write(whileEncoding: { tx in try tx[rows].remove("k") }) { tx throws in
      #expect(try !tx[rows].replace("outer", for: "k"))
    }
    #expect(try db.read { tx in tx.collections } == [])
    try write(whileEncoding: { tx in try tx.removeAll() }) { tx in try tx[rows].set("outer", for: "k") }
    try write(whileEncoding: { tx in try tx[rows].removeAll() }) { tx throws in
      #expect(try !tx[rows].replaceMetadata("outer", for: "k"))
    }
    #expect(try db.read { tx in tx.count } == 0)
  }

  @Test func storingRowsWhileStoringRowsEndsSomewhere() throws {
    let (rows, door) = (rows, whileEncoding)
    func store(_ tx: WriteTransaction) throws {
      door.action = store
      try tx[rows].set("deeper", for: "k")
    }
    #expect(throws: DatabaseError.self) { try write(whileEncoding: store) { tx in try tx[rows].set("v", for: "k") } }
    #expect(try db.read { tx in try tx[rows].get("k") } == "old")
  }

  @Test func nothingChangesWhileARowIsDecoded() throws {
    let (rows, door) = (rows, whileDecoding)
    let attempts: [(WriteTransaction) throws -> Void] = [
      { tx in try tx[rows].set(String(repeating: "x", count: 3000), for: "k") },
      { tx in try tx[rows].remove("k") },
      { tx in try tx[rows].removeAll() },
      { tx in try tx.removeAll() },
      { tx in try tx.savepoint { try tx[rows].set("x", for: "k") } },
    ]
    let reads: [(WriteTransaction) throws -> Void] = [
      { tx in _ = try tx[rows].get("k") }, { tx in _ = try tx[rows].rows(for: ["k"]) },
      { tx in for _ in tx[rows].rows {} }, { tx in _ = try tx[rows].metadata("k") },
      { tx in try tx[rows].update("k") { $0 += "!" } },
    ]
    for attempt in attempts {
      for read in reads {
        let error = errorOf {
          try db.write { tx throws in
            (door.tx, door.action) = (tx, attempt)
            defer { door.tx = nil }
            try read(tx)
          }
        }
        #expect(error?.code == .decodingFailed || error?.code == .transactionFailed)
        try db.checkInvariants()
      }
    }
    // Reading on is fine.
    try db.write { tx throws in
      (door.tx, door.action) = (tx, { tx throws in #expect(try tx[rows].get("k") == "old") })
      defer { door.tx = nil }
      #expect(try tx[rows].get("k") == "old")
    }
  }

  @Test func noSavepointBeginsWhileARowIsEncoded() throws {
    let rows = rows
    #expect(throws: DatabaseError.self) {
      try write(whileEncoding: { tx in try tx.savepoint {} }) { tx in try tx[rows].set("v", for: "k") }
    }
  }

  private func errorOf(_ body: () throws -> Void) -> DatabaseError? {
    do { try body() } catch { return error as? DatabaseError }
    return nil
  }

  // MARK: Handles

  @Test func otherCodersAreNoticedInTheSameTransactionToo() throws {
    let json = RowCollection<Song, PlayState>("songs", coder: .json)
    let code = errorCode {
      try db.write { tx throws in
        try tx[.songs].set(Song("x"), for: "s1")
        try tx[json].set(Song("y"), for: "s2")
      }
    }
    #expect(code == .collectionMismatch)
  }

  @Test func aHandleThatCouldNotBeOpenedStaysUseless() throws {
    try db.write { tx throws in try tx[.songs].set(Song("x"), for: "s1") }
    let wrong = RowCollection<Int, NoMetadata>("songs")
    var kept: WritableRows<Int, NoMetadata>?
    try db.write { tx throws in
      #expect(
        errorCode {
          try tx.savepoint {
            kept = tx[wrong]
            _ = kept?.count
          }
        } == .collectionMismatch)
      #expect(errorCode { try kept?.set(1, for: "s1") } == .collectionMismatch)
      #expect(errorCode { _ = try kept?.get("s1") } == .collectionMismatch)
      #expect(errorCode { try kept?.removeAll() } == .collectionMismatch)
      // The transaction itself goes on.
      #expect(try tx[.songs].get("s1") == Song("x"))
    }
    let long = String(repeating: "n", count: Limits.collectionNameByteCount + 1)
    try db.write { tx throws in
      #expect(errorCode { try tx.savepoint { try tx[.texts(long)].set("v", for: "k") } } == .nameTooLong)
      try tx[.texts("t")].set("v", for: "k")
    }
    #expect(try db.read { tx in tx.collections } == ["rows", "songs", "t"])
  }

  @Test func boundsMayBeAsLongAsTheyLike() throws {
    let long = String(repeating: "k", count: 100_000)
    try db.read { tx throws in
      let rows = tx[rows]
      #expect(rows.keys(from: long).map { $0 } == [] && rows.keys(upTo: long).map { $0 } == ["k"])
      #expect(rows.keys(prefix: long).reversed().map { $0 } == [] && rows.rows("a"...long).map(\.key) == ["k"])
      #expect(try rows.count(prefix: long) == 0 && rows.count("a"..<long) == 1 && rows.get(long) == nil)
      #expect(rows.keys(upTo: "\u{10ffff}").reversed().map { $0 } == ["k"])
      #expect(rows.keys(prefix: "").map { $0 } == ["k"] && rows.keys(from: "z", upTo: "a").map { $0 } == [])
    }
  }

  // MARK: Loops

  @Test func filtersMayFailAndMustNotChange() throws {
    struct Refused: Error {}
    let texts = RowCollection<String, String>.texts("t")
    try db.write { tx throws in for number in 1...9 { try tx[texts].set("v", for: "\(number)") } }
    var seen: [String] = []
    let code = errorCode {
      try db.read { tx throws in
        for row in tx[texts].rows.filteringKeys({ if $0 == "6" { throw Refused() } else { true } }) {
          seen.append(row.key)
        }
      }
    }
    #expect(code == .transactionFailed && seen == ["1", "2", "3", "4", "5"])
    let other = errorCode {
      try db.write { tx throws in
        for _ in tx[texts].rows.filteringKeys({ key in
          try tx[texts].remove(key)
          return true
        }) {}
      }
    }
    #expect(other == .mutatedDuringIteration)
    #expect(try db.read { tx in tx[texts].count } == 9)
  }

  @Test func rowsMayBeRemovedByASequenceOverThemselves() throws {
    let texts = RowCollection<String, String>.texts("t")
    try db.write { tx throws in
      for number in 1...50 { try tx[texts].set("v", for: "\(number)") }
      #expect(try tx[texts].remove(tx[texts].keys(prefix: "1")) == 11)
      #expect(try tx[texts].remove(tx[texts].keys.lazy.filter { $0.hasSuffix("0") }) == 4)
      #expect(tx[texts].count == 35)
    }
  }

  @Test func iteratorsDoNotOutliveASavepointThatIsUndone() throws {
    struct Undo: Error {}
    let texts = RowCollection<String, String>.texts("t")
    for isInner in [false, true] {
      let code = errorCode {
        try db.write { tx throws in
          for number in 1...5 { try tx[texts].set("v", for: "\(number)") }
          var iterator = tx[texts].rows.makeIterator()
          _ = iterator.next()
          do {
            try tx.savepoint {
              try tx[texts].set("w", for: "6")
              if isInner { iterator = tx[texts].rows.reversed().makeIterator() }
              _ = isInner ? iterator.next() : nil
              throw Undo()
            }
          } catch is Undo {}
          while let row = iterator.next() { #expect(row.key != "6") }
        }
      }
      #expect(code == .mutatedDuringIteration)
    }
    try db.write { tx throws in
      for number in 1...5 { try tx[texts].set("v", for: "\(number)") }
      // One that only reads, and one that touches, end no loop.
      var count = 0
      for key in tx[texts].keys {
        try tx.savepoint { try tx[texts].touch(key) }
        count += 1
      }
      #expect(count == 5)
    }
  }

  // MARK: Errors of closures

  @Test func errorsOfOtherDatabasesAreJustErrors() throws {
    let stream = db.commits
    let foreign = StorageError(.failStop, "Another database has failed.")
    do {
      try db.write { _ in throw foreign }
      Issue.record("nothing was thrown")
    } catch let error as StorageError {
      #expect(error.code == .failStop)
    }
    try db.write { tx throws in
      do { try tx.savepoint { throw foreign } } catch let error as StorageError { #expect(error.code == .failStop) }
    }
    _ = stream
    #expect(try db.read { tx in tx.count } == 1)
  }
}
