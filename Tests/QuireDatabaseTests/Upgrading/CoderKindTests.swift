// The kind of a coder stands in the file: another one is told, and not what it makes of the bytes.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite("Kinds of coders in the file") struct CoderKindTests {
  private struct Song: Codable, Sendable, Equatable { var title: String }
  private struct Plays: Codable, Sendable, Equatable { var count: Int }

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private static let bytes = RowCollection<[UInt8], NoMetadata>("c", coder: .bytes)
  private static let upgradedBytes = RowCollection<[UInt8], NoMetadata>(
    "c", coder: .bytes.upgrading(from: Song.self) { Array($0.title.utf8) })

  private static func songs(_ coder: RowCoder<Song>) -> RowCollection<Song, NoMetadata> { .init("c", coder: coder) }

  private static let custom = RowCoder<Song>(
    encode: { Array($0.title.utf8) },
    decode: { span in Song(title: String(decoding: span.withUnsafeBytes { Array($0) }, as: UTF8.self)) })

  /// What a new opening says when it reads and stores a row.
  private func outcome<Object, Metadata>(
    _ collection: RowCollection<Object, Metadata>, _ object: Object
  ) throws -> DatabaseError? {
    let db = try folder.open()
    defer { try? db.close() }
    do {
      _ = try db.read { tx throws in try tx[collection].get("a") }
      try db.write { tx throws in try tx[collection].set(object, for: "b") }
      return nil
    } catch let error as DatabaseError {
      return error
    }
  }

  private func store<Object>(_ collection: RowCollection<Object, NoMetadata>, _ object: Object) throws {
    let db = try folder.open()
    try db.write { tx throws in try tx[collection].set(object, for: "a") }
    try db.close()
  }

  @Test("A coder's own old rows are not read as those of a binary one when it gets upgrades") func bytes() throws {
    try store(Self.bytes, [1, 2, 3])
    let error = try outcome(Self.upgradedBytes, [4])
    #expect(error?.code == .collectionMismatch && error?.collection == "c")
    #expect(error?.description.contains("bytes with upgrades") == true)
    #expect(try outcome(Self.bytes, [4]) == nil)
    let db = try folder.open()
    #expect(try db.read { tx throws in try tx[Self.bytes].get("a") } == [1, 2, 3])
    try db.close()
  }

  @Test("Another kind of coder is a mismatch that names both") func otherKinds() throws {
    try store(Self.songs(.json), Song(title: "Naima"))
    for coder in [RowCoder<Song>.binary, .propertyList, Self.custom] {
      let error = try outcome(Self.songs(coder), Song(title: "x"))
      #expect(error?.code == .collectionMismatch)
      #expect(error?.description.contains("JSON") == true)
      #expect(error?.description.contains(coder.identity.kind.rawValue) == true)
    }
    let db = try folder.open()
    #expect(try db.read { tx throws in try tx[Self.songs(.json)].get("a") } == Song(title: "Naima"))
    #expect(try db.read { tx throws in tx[Self.songs(.json)].count } == 1)
    try db.close()
  }

  @Test("A collection may go from a binary coder to one of another kind with an upgrade") func fromBinary() throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    let error = try outcome(Self.songs(Self.custom), Song(title: "x"))
    #expect(error?.code == .collectionMismatch && error?.description.contains("upgrading(from:)") == true)
    // JSON and property lists have upgrades for rows of their own.
    let json = try outcome(Self.songs(.json.upgrading(from: Song.self) { $0 }), Song(title: "x"))
    #expect(json?.code == .collectionMismatch && json?.description.contains("upgrading(from:)") == false)
    let upgraded = Self.songs(Self.custom.upgrading(from: Song.self) { Song(title: $0.title + "!") })
    let db = try folder.open()
    #expect(try db.read { tx throws in try tx[upgraded].get("a") } == Song(title: "Naima!"))
    try db.write { tx throws in try tx[upgraded].set(Song(title: "new"), for: "b") }
    try db.close()
    // There is no way back.
    #expect(try outcome(Self.songs(.binary), Song(title: "x"))?.code == .collectionMismatch)
    #expect(try outcome(Self.songs(Self.custom), Song(title: "x"))?.code == .collectionMismatch)
    #expect(try outcome(upgraded, Song(title: "x")) == nil)
  }

  @Test("Metadata that come later may have any coder, and keep it") func metadata() throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    let json = RowCollection<Song, Plays>("c", coder: .binary, metadataCoder: .json)
    let db = try folder.open()
    try db.write { tx throws in try tx[json].set(Song(title: "b"), metadata: Plays(count: 2), for: "b") }
    try db.close()
    let binary = RowCollection<Song, Plays>("c")
    #expect(try outcome(binary, Song(title: "x"))?.code == .collectionMismatch)
    #expect(try outcome(json, Song(title: "x")) == nil)
    #expect(try outcome(Self.songs(.binary), Song(title: "x")) == nil)
  }

  @Test("A collection that lost its last row has no kind, nor has what was rolled back") func newBeginnings() throws {
    struct Undo: Error {}
    let db = try folder.open()
    try? db.write { tx throws in
      try tx[Self.songs(.binary)].set(Song(title: "Naima"), for: "a")
      throw Undo()
    }
    try db.close()
    try store(Self.songs(.json), Song(title: "Naima"))
    let again = try folder.open()
    try again.write { tx throws in
      try? tx.savepoint { () throws in
        try tx[Self.songs(.json)].removeAll()
        throw Undo()
      }
      #expect(try tx[Self.songs(.json)].get("a") != nil)
    }
    _ = try again.write { tx throws in try tx[Self.songs(.json)].remove("a") }
    try again.close()
    #expect(try outcome(Self.songs(.propertyList), Song(title: "x")) == nil)
  }

  @Test("One process that uses two types for a name is told both") func bothTypes() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in try tx[Self.songs(.binary)].set(Song(title: "Naima"), for: "a") }
    let error = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in try tx[RowCollection<Plays, NoMetadata>("c", coder: .json)].get("a") }
    }
    #expect(error?.code == .collectionMismatch)
    for name in ["Song (binary)", "Plays (JSON)"] { #expect(error?.description.contains(name) == true) }
  }

  // MARK: What is known, and since when

  private struct Undo: Error {}
  private static let elsewhere = RowCollection<Int, NoMetadata>("elsewhere")

  /// What must not make the kind forgotten: none of these is a reason to let another coder in.
  private static let attempts: [@Sendable (QuireDatabase.WriteTransaction) throws -> Void] = [
    { tx in
      try? tx.savepoint { () throws in
        try tx.remove(RowKey("c", "a"))
        try tx[songs(.json)].set(Song(title: "x"), for: "a")
        throw Undo()
      }
    },
    { tx in
      try? tx.savepoint { () throws in
        try tx.remove(RowKey("c", "a"))
        throw Undo()
      }
    },
    { tx in
      try? tx.savepoint { () throws in
        try tx[elsewhere].set(1, for: "x")
        throw Undo()
      }
    },
    { tx in try? tx.savepoint { () throws in try tx[songs(.json)].set(Song(title: "x"), for: "b") } },
    { tx in try? tx[songs(.json)].set(Song(title: "x"), for: "b") },
  ]

  @Test("What is rolled back does not make the kind forgotten", arguments: 0..<5, [true, false])
  func rollbacks(_ attempt: Int, _ goesOn: Bool) throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    let db = try folder.open()
    // An error inside may have doomed the transaction; nothing of it remains then.
    try? db.write { tx throws in
      try Self.attempts[attempt](tx)
      if goesOn { try? tx[Self.songs(.json)].set(Song(title: "x"), for: "b") }
      try tx[Self.elsewhere].set(2, for: "y")
    }
    try db.close()
    #expect(try outcome(Self.songs(.json), Song(title: "x"))?.code == .collectionMismatch)
    #expect(try outcome(Self.songs(.binary), Song(title: "x")) == nil)
  }

  @Test("A kind that was noted before a savepoint is stored, though that was rolled back")
  func beforeSavepoint() throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    try forgetKinds()
    let db = try folder.open()
    try db.write { tx throws in
      try tx[Self.songs(.binary)].set(Song(title: "b"), for: "b")
      try? tx.savepoint { () throws in
        try tx[Self.songs(.binary)].set(Song(title: "c"), for: "c")
        throw Undo()
      }
    }
    try db.close()
    #expect(try outcome(Self.songs(.json), Song(title: "x"))?.code == .collectionMismatch)
  }

  /// Uses of a collection by a wrong coder that store nothing.
  private static let glances: [@Sendable (QuireDatabase.WriteTransaction) throws -> Void] = [
    { tx in _ = tx[bytes] }, { tx in _ = try tx[bytes].contains("a") }, { tx in _ = tx[bytes].count },
    { tx in _ = try? tx[songs(.json)].get("a") }, { tx in try tx[bytes].remove("b") },
    { tx in try tx[songs(.json)].replace(Song(title: "x"), for: "none") }, { tx in try tx[bytes].touch("a") },
  ]

  @Test("In a file that does not tell, looking is no reason to note a kind", arguments: 0..<7)
  func glances(_ glance: Int) throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    try forgetKinds()
    let db = try folder.open()
    try db.write { tx throws in
      try Self.glances[glance](tx)
      try tx[Self.elsewhere].set(2, for: "y")
    }
    try db.close()
    let again = try folder.open()
    #expect(try again.read { tx throws in try tx[Self.songs(.binary)].get("a") } == Song(title: "Naima"))
    try again.write { tx throws in try tx[Self.songs(.binary)].set(Song(title: "b"), for: "b") }
    try again.close()
    #expect(try outcome(Self.bytes, [1])?.code == .collectionMismatch)
  }

  @Test("Metadata have a kind from the first ones on that are stored") func lookingAtMetadata() throws {
    let json = RowCollection<Song, Plays>("c", coder: .binary, metadataCoder: .json)
    try store(Self.songs(.binary), Song(title: "Naima"))
    let db = try folder.open()
    try db.write { tx throws in
      _ = try tx[json].metadata("a")
      try tx[json].set(Song(title: "b"), for: "b")
    }
    try db.close()
    #expect(try outcome(RowCollection<Song, Plays>("c"), Song(title: "x")) == nil)
    let other = try folder.open()
    try other.write { tx throws in
      try tx[RowCollection<Song, Plays>("c")].set(Song(title: "c"), metadata: Plays(count: 1), for: "c")
    }
    try other.close()
    #expect(try outcome(json, Song(title: "x"))?.code == .collectionMismatch)
  }

  @Test("Rewriting rows notes the kind that they have then") func rewriting() throws {
    try store(Self.songs(.binary), Song(title: "Naima"))
    let db = try folder.open()
    #expect(try db.rewriteRows(of: Self.upgradedBytes).rewrittenCount == 1)
    try db.close()
    #expect(try outcome(Self.songs(.binary), Song(title: "x"))?.code == .collectionMismatch)
    #expect(try outcome(Self.upgradedBytes, [1]) == nil)
  }

  /// Makes the file one that was written before kinds were noted.
  private func forgetKinds() throws {
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      guard let collections = tx.tree(named: "quire.collections"),
        let record = try tx.value(for: Array("c".utf8), in: collections)
      else { throw Undo() }
      try tx.put(Array(record.dropLast(2)), for: Array("c".utf8), in: collections)
    }
    try engine.close()
  }
}
