// Long work, databases without files, and databases that are only read.

import Foundation
import QuireDatabase
import QuireTesting
import class QuireStorage.StorageEngine
import Testing

@Suite struct OperationTests {
  private func fill(_ db: Database) throws {
    try db.write { tx throws in
      for index in 0..<500 { try tx[.texts("t")].set("value \(index)", metadata: "m\(index)", for: "k\(index)") }
      try tx[.songs].set(Song("one"), for: "s1")
    }
  }

  @Test func backupsAreDatabasesOfTheirOwn() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db)
    let copy = folder.path + "-copy"
    try db.backup(to: copy)
    #expect(errorCode { try db.backup(to: copy) } == .alreadyExists)
    try db.write { tx throws in try tx.removeAll() }
    let opened = try Database(at: copy)
    try opened.verify()
    try opened.read { tx throws in
      #expect(tx[.texts("t")].count == 500)
      #expect(try tx[.texts("t")].get("k77") == "value 77")
      #expect(try tx[.songs].get("s1") == Song("one"))
    }
    try opened.close()
    try db.compact()
    try db.verify()
    #expect(try db.read { tx in tx.collections } == [])
  }

  @Test func memoryHoldsADatabase() async throws {
    let db = try Database.inMemory()
    try synchronously { try fill(db) }
    #expect(try await db.read { tx in try tx[.texts("t")].get("k3") } == "value 3")
    try await db.verify()
    #expect(db.statistics.flushes == 0 || db.statistics.commits > 0)
    try synchronously { try db.close() }
  }

  @Test func readingOnlyWritesNothing() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try fill(db)
    try db.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.path))
    let reader = try folder.open(Database.Options(isReadOnly: true))
    try reader.verify()
    #expect(try reader.read { tx in try tx[.texts("t")].get("k9") } == "value 9")
    #expect(errorCode { try reader.write { tx throws in try tx[.texts("t")].set("x", for: "y") } } == .readOnly)
    let second = try folder.open(Database.Options(isReadOnly: true))
    #expect(try second.read { tx in tx.count } == 501)
    try second.close()
    try reader.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path)) == before)
    // An empty file cannot become a database of objects by reading.
    let missing = errorCode { _ = try Database(at: folder.path + "-none", options: .init(isReadOnly: true)) }
    #expect(missing == .notFound)
  }

  @Test func aStoreOfTreesIsNoDatabaseOfObjects() throws {
    let folder = try TestFolder()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in _ = try tx.createTree("mine", keys: .bytes) }
    try engine.close()
    #expect(errorCode { _ = try folder.open() } == .notADatabase)
  }

  private func synchronously(_ body: () throws -> Void) throws { try body() }
}
