// Encrypted rows in a build, or under a coder, that does not decrypt: an error that says what to do, and no garbage.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct EncryptedMarkerTests {
  struct NoTree: Error {}

  private static let blobs = RowCollection<[UInt8], [UInt8]>(
    "blobs", coder: .bytes, metadataCoder: .bytes, compression: .dictionary(above: 64))

  /// A database of one row whose object, or whose metadata, stands there as `stored` says.
  private func forged(_ folder: TestFolder, _ stored: [UInt8], isMetadata: Bool = false) throws -> Database {
    let db = try folder.open()
    try db.write { tx throws in try tx[Self.blobs].set([1, 2, 3], metadata: [4], for: "k") }
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      guard let rows = tx.tree(named: "quire.rows") else { throw NoTree() }
      let (object, metadata): ([UInt8], [UInt8]) = isMetadata ? ([0, 1, 2, 3], stored) : (stored, [0, 4])
      let row: [UInt8] = [1, 1, 0, 0, 0, 1, 0, UInt8(metadata.count), 0, 0, 0] + Array("k".utf8) + metadata + object
      try tx.put(row, for: 1 as Int64, in: rows)
    }
    try engine.close()
    return try folder.open()
  }

  /// As long as an encrypted value of three bytes is.
  private static let sealed: [UInt8] = [3, 1, 0xef, 0xbe, 0xad, 0xde] + [UInt8](repeating: 9, count: 12 + 4 + 16)

  @Test(arguments: [false, true]) func aCoderWithoutKeysSaysWhichKeyIsNeeded(isMetadata: Bool) throws {
    let folder = try TestFolder()
    let db = try forged(folder, Self.sealed, isMetadata: isMetadata)
    do {
      try db.read { tx throws in
        _ = isMetadata ? try tx[Self.blobs].metadata("k") : try tx[Self.blobs].get("k")
      }
      Issue.record("an encrypted row was read")
    } catch let error as DatabaseError {
      #expect(error.code == .missingKey && error.collection == "blobs" && error.key == "k")
      #expect("\(error)".contains("deadbeef") && "\(error)".contains("encrypted(with:)"))
    }
    // The other half is there, keys and counts too, and tools see what stands in the file.
    try db.read { tx throws in
      if isMetadata { #expect(try tx[Self.blobs].get("k") == [1, 2, 3]) }
      #expect(try tx[Self.blobs].contains("k") && tx[Self.blobs].count == 1)
      let row = try #require(try tx.rawRows("blobs").row("k"))
      let form = isMetadata ? row.metadataStorage?.form : row.objectStorage.form
      #expect(form == .encrypted(0xdead_beef))
      #expect((isMetadata ? row.metadata : row.object) == Self.sealed)
    }
    try db.verify()
    #expect(errorCode { try db.rewriteRows(of: Self.blobs) } == .missingKey)
    #expect(try db.rewriteRows(of: Self.blobs, skippingFailures: true).failedCount == 1)
    // It can be replaced.
    try db.write { tx throws in try tx[Self.blobs].set([5], metadata: [6], for: "k") }
    #expect(try db.read { tx in try tx[Self.blobs].get("k") } == [5])
    try db.close()
  }

  @Test func aNewerWayIsTold() throws {
    let folder = try TestFolder()
    let db = try forged(folder, [3, 2] + Self.sealed.dropFirst(2))
    #expect(errorCode { try db.read { tx throws in _ = try tx[Self.blobs].get("k") } } == .newerFormat)
    try db.close()
  }

  @Test(arguments: [1, 2, 6, 18, 34]) func aShortOneIsDamage(byteCount: Int) throws {
    let folder = try TestFolder()
    let db = try forged(folder, Array(Self.sealed.prefix(byteCount)))
    #expect(errorCode { try db.read { tx throws in _ = try tx[Self.blobs].get("k") } } == .damagedRow)
    #expect(errorCode { try db.verify() } == .damagedRow)
    try db.close()
  }
}
