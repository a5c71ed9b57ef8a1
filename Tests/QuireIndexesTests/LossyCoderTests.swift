// Coders that give back something else than they were given: an index says what a reader finds.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

/// A visit, of which the coder keeps whole minutes, and no note.
private struct Visit: Codable, Sendable, Equatable {
  var minute: Double
  var note: String
}

/// How often it was looked at; the coder keeps tens.
private struct Looks: Codable, Sendable, Equatable { var count: Int }

extension RowCoder where Value == Visit {
  fileprivate static var wholeMinutes: Self {
    Self(
      encode: { Array("\(Int($0.minute))".utf8) },
      decode: { bytes in
        let digits = (0..<bytes.byteCount).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        return Visit(minute: Double(String(decoding: digits, as: UTF8.self)) ?? -1, note: "")
      })
  }
}

extension RowCoder where Value == Visit {
  /// One that stores what it then refuses to read.
  fileprivate static var positive: Self {
    Self(
      encode: { [UInt8(bitPattern: Int8($0.minute))] },
      decode: { bytes in
        let minute = unsafe Int8(bitPattern: bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
        guard minute >= 0 else { throw CocoaError(.coderInvalidValue) }
        return Visit(minute: Double(minute), note: "")
      })
  }
}

extension RowCoder where Value == Looks {
  fileprivate static var tens: Self {
    Self(
      encode: { [UInt8($0.count / 10)] },
      decode: { Looks(count: 10 * Int(unsafe $0.unsafeLoad(fromByteOffset: 0, as: UInt8.self))) })
  }
}

extension RowCollection where Object == Visit, Metadata == Looks {
  fileprivate static var visits: Self { .init("visits", coder: .wholeMinutes, metadataCoder: .tens) }
}

extension Indexes where Object == Visit, Metadata == Looks {
  fileprivate static var visits: Self {
    Indexes("visits.indexes", over: .visits) {
      Index("minute", \.minute)
      Index("note", \.note)
      Index("looks", metadata: \.count)
      Index("late", \.note).where { $0.minute > 10 }
    }
  }
}

@Suite struct LossyCoderTests {
  @Test("Upkeep, building and rows agree", arguments: [true, false])
  func agrees(isRegisteredFirst: Bool) throws {
    let db = try Database.inMemory()
    if isRegisteredFirst { try db.register(Indexes.visits) }
    try db.write { tx in
      for number in 0..<40 {
        let visit = Visit(minute: Double(number) / 2 + 0.25, note: "n\(number)")
        try tx[.visits].set(visit, metadata: Looks(count: 3 * number), for: "k\(number)")
      }
    }
    if !isRegisteredFirst { try db.register(Indexes.visits) }
    try db.write { tx in
      try tx[.visits].replace(Visit(minute: 5.75, note: "changed"), for: "k0")
      try tx[.visits].replaceMetadata(Looks(count: 47), for: "k1")
      try tx[.visits].remove("k2")
      // Within the transaction as well.
      try check(tx[.visits].readTransaction, hasLast: true)
    }
    try db.read { tx in try check(tx, hasLast: true) }
    try db.write { tx in _ = try tx[.visits].remove(where: { $0.minute == 19 }) }
    try db.read { tx in try check(tx, hasLast: false) }
  }

  @Test("What cannot be read back is not stored, and the row is named")
  func isRefused() throws {
    let folder = try TemporaryFolder()
    let collection = RowCollection<Visit, Looks>("visits", coder: .positive, metadataCoder: .tens)
    let indexes = Indexes("visits.indexes", over: collection) { Index("minute", \.minute) }
    for isReopened in [false, true] {
      let db = try Database(at: folder.path("db"))
      try db.register(indexes)
      if !isReopened { try db.write { tx in try tx[collection].set(Visit(minute: 1, note: ""), for: "good") } }
      // Readers on another thread see neither row nor entry of what is refused.
      let readers = DispatchGroup()
      DispatchQueue.global().async(group: readers) {
        for _ in 0..<50 { #expect(throws: Never.self) { try db.read { tx in try check(tx, collection, indexes) } } }
      }
      let error = #expect(throws: DatabaseError.self) {
        try db.write { tx throws in try tx[collection].set(Visit(minute: -3, note: ""), for: "bad") }
      }
      let cause = error?.code == .extensionFailed ? error?.cause as? DatabaseError : error
      #expect(cause?.code == .decodingFailed && cause?.key == "bad", "\(error as Any)")
      readers.wait()
      try db.read { tx in try check(tx, collection, indexes) }
      try db.close()
    }
  }

  private func check(
    _ tx: ReadTransaction, _ collection: RowCollection<Visit, Looks>, _ indexes: Indexes<Visit, Looks>
  ) throws {
    #expect(try tx[collection].find { $0.minute < 10 }.requireIndex().keys == ["good"])
    #expect(try tx[collection].contains("bad") == false)
    try tx.access(to: indexes).verify()
  }

  private func check(_ tx: ReadTransaction, hasLast: Bool) throws {
    let rows = Array(tx[.visits].rows)
    #expect(rows.count == (hasLast ? 39 : 37))
    for minute in 0..<21 {
      let expected = rows.filter { $0.object.minute == Double(minute) }.map(\.key)
      #expect(try tx[.visits].find { $0.minute == Double(minute) }.requireIndex().keys == expected, "\(minute)")
      #expect(try tx[.visits].find { $0.minute == Double(minute) + 0.25 }.isEmpty)
    }
    for count in [0, 10, 40, 47, 110] {
      let expected = rows.filter { $0.metadata?.count == count }.map(\.key)
      #expect(try tx[.visits].find { $0.metadata.count == count }.requireIndex().keys == expected, "\(count)")
    }
    #expect(try tx[.visits].find { $0.note == "" }.count == rows.count)
    #expect(try tx[.visits].find { $0.note == "" && $0.minute > 10 }.count == rows.count { $0.object.minute > 10 })
    try tx.access(to: Indexes.visits).verify()
  }
}
