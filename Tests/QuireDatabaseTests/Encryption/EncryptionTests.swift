// Encrypted collections: what goes in comes out, with the right keys and nothing else.

#if Encryption
  import Crypto
  import Foundation
  import QuireDatabase
  import QuireStorage
  import QuireTesting
  import Testing

  @Suite struct EncryptionTests {
    private let ring: KeyRing

    init() throws { ring = KeyRing(current: try testKey(1)) }

    @Test func theCacheGivesNobodyWhatItsKeysDoNot() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      try db.write { tx throws in
        try tx[RowCollection.plainDiary].set(.example(1), metadata: "m", for: "d1")
      }
      try db.close()
      db = try folder.open(Database.Options(durability: .relaxed, objectCache: ObjectCacheOptions()))
      let lenient = RowCollection.diary(ring, acceptsPlain: true)
      for _ in 0..<3 { try db.read { tx throws in #expect(try tx[lenient].get("d1") == .example(1)) } }
      let strict = RowCollection.diary(ring)
      #expect(errorCode { try db.read { tx throws in _ = try tx[strict].get("d1") } } == .notEncrypted)
      #expect(db.objectCacheStatistics?.insertions == 0)
      try db.close()
    }

    @Test func isReadAfterReopeningAndFromBackups() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      try db.fill(.diary(ring), 0..<300)
      #expect(try db.hasExamples(.diary(ring), 0..<300))
      #expect(try db.keyIDs() == [testKey(1).id])
      try db.verify()
      let copy = folder.url.appendingPathComponent("copy.quire").path
      try db.backup(to: copy)
      try db.close()
      db = try folder.open()
      #expect(try db.hasExamples(.diary(ring), 0..<300))
      try db.close()
      let reader = try Database(at: copy, options: .init(isReadOnly: true))
      #expect(try reader.hasExamples(.diary(ring), 0..<300))
      try reader.close()
    }

    @Test func nothingOfAValueStandsInTheFiles() throws {
      let folder = try TestFolder()
      let db = try folder.open()
      try db.fill(.diary(ring), 0..<1_500)
      try db.checkpoint()
      for url in try FileManager.default.contentsOfDirectory(at: folder.url, includingPropertiesForKeys: nil) {
        let bytes = try Data(contentsOf: url)
        #expect(bytes.range(of: Data("nobody must read".utf8)) == nil, "\(url.lastPathComponent)")
        #expect(bytes.range(of: Data("mood 7".utf8)) == nil, "\(url.lastPathComponent)")
        // Keys are not hidden, which the test has to see, or it sees nothing at all.
        if url.lastPathComponent == "test.quire" { #expect(bytes.range(of: Data("d777".utf8)) != nil) }
      }
      try db.close()
    }

    @Test func everyCallReadsAndWrites() throws {
      let db = try Database.inMemory()
      let diary = RowCollection<Diary, String>.diary(ring)
      try db.fill(diary, 0..<50)
      try db.write { tx throws in
        #expect(try tx[diary].update("d1") { $0.day = 1_000 })
        #expect(try tx[diary].replaceMetadata("other", for: "d2"))
        #expect(try tx[diary].replace(.example(7), for: "d3"))
        #expect(try tx[diary].get("d1")?.day == 1_000)
        try tx[diary].set(.example(9), encoded: try encoded(.example(9)), for: "d4")
        try tx[diary].remove("d5")
      }
      try db.read { tx throws in
        #expect(try tx[diary].get("d1") == Diary(day: 1_000, text: Diary.example(1).text))
        #expect(try tx[diary].metadata("d1") == "mood 1")
        #expect(try tx[diary].row("d2")?.metadata == "other" && tx[diary].get("d2") == .example(2))
        #expect(try tx[diary].get("d3") == .example(7) && tx[diary].metadata("d3") == "mood 3")
        #expect(try tx[diary].row("d4")?.object == .example(9) && tx[diary].metadata("d4") == nil)
        #expect(tx[diary].rows.count { _ in true } == 49)
        #expect(try tx[diary].rows(for: ["d10", "d5", "d11"]).map(\.object) == [.example(10), .example(11)])
      }
      #expect(try db.keyIDs() == [testKey(1).id])
    }

    /// The bytes that the binary coder makes.
    private func encoded(_ diary: Diary) throws -> [UInt8] {
      let db = try Database.inMemory()
      let plain = RowCollection<Diary, String>("diary", compression: .none)
      return try db.write { tx throws in
        try tx[plain].set(diary, for: "k")
        return try tx.rawRows("diary").row("k")?.object ?? []
      }
    }

    @Test func upgradesAndOtherFormsAreEncryptedToo() throws {
      let db = try Database.inMemory()
      let old = RowCollection<TrackV1, NoMetadata>("tracks", coder: .json.encrypted(with: ring))
      let folder = try TestFolder()
      let file = try folder.open()
      try file.write { tx throws in try tx[old].set(TrackV1(name: "A"), for: "a") }
      try file.close()
      let again = try folder.open()
      let new = RowCollection<TrackV2, NoMetadata>(
        "tracks",
        coder: .json.encrypted(with: ring).upgrading(from: TrackV1.self) { TrackV2(title: $0.name, minutes: 3) })
      #expect(try again.read { tx in try tx[new].get("a") } == TrackV2(title: "A", minutes: 3))
      #expect(try again.rewriteRows(of: new).rewrittenCount == 1)
      #expect(try again.rewriteRows(of: new).rewrittenCount == 0)
      #expect(try again.read { tx in try tx[new].get("a") } == TrackV2(title: "A", minutes: 3))
      try again.close()
      let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp.encrypted(with: ring))
      try db.write { tx throws in try tx[dates].set(Date(timeIntervalSinceReferenceDate: 5), for: "d") }
      #expect(try db.read { tx in try tx[dates].get("d") } == Date(timeIntervalSinceReferenceDate: 5))
    }

    @Test func isCompressedFirstAsTheCollectionSays() throws {
      let db = try Database.inMemory()
      func size(_ name: String, _ compression: Compression) throws -> Int {
        let texts = RowCollection<[UInt8], NoMetadata>(
          name, coder: .bytes.encrypted(with: ring), compression: compression)
        let value = [UInt8](repeating: 7, count: 4_000)
        try db.write { tx throws in try tx[texts].set(value, for: "k") }
        #expect(try db.read { tx in try tx[texts].get("k") } == value)
        return try db.read { tx in try tx.rawRows(name).row("k")?.objectStorage.byteCount } ?? 0
      }
      #expect(try size("a", .none) == 4_000 + 1 + 34)
      #expect(try size("b", .lz4(above: 256)) < 100)
      #expect(try size("c", .dictionary(above: 64)) < 100)
      #expect(try size("d", .lz4(above: 4_000)) == 4_000 + 1 + 34)
    }

    // MARK: Dictionaries

    @Test func noDictionaryIsMadeOfSecrets() throws {
      let folder = try TestFolder()
      let db = try folder.open()
      // Only the object is encrypted; the metadata are long, alike, and in the clear.
      let half = RowCollection<Diary, String>(
        "half", coder: .binary.encrypted(with: ring), metadataCoder: .binary, compression: .dictionary(above: 64))
      try db.write { tx throws in
        for index in 0..<3_000 {
          let metadata = "All of these metadata say the same for long enough, but for the number \(index)."
          try tx[half].set(.example(index), metadata: metadata, for: "d\(index)")
        }
      }
      #expect(errorCode { try db.trainDictionary(for: half) } == .invalidOption)
      try db.fill(.diary(ring), 0..<3_000)
      #expect(errorCode { try db.trainDictionary(for: .diary(ring)) } == .invalidOption)
      let forms = try db.read { tx throws in tx.rawRows("half").map { $0.metadataStorage?.form } }
      #expect(forms.allSatisfy { $0 == .plain })
      try db.close()
      let engine = try StorageEngine(at: folder.path, options: StorageOptions(isReadOnly: true))
      #expect(try engine.read { tx in tx.tree(named: "quire.dictionaries") == nil })
      try engine.close()
    }

    // MARK: Keys

    @Test func theWrongKeyIsAClearError() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      try db.fill(.diary(ring), 0..<5)
      try db.close()
      db = try folder.open()
      let other = KeyRing(current: try testKey(2))
      do {
        try db.read { tx throws in _ = try tx[.diary(other)].get("d1") }
        Issue.record("a row was decrypted with another key")
      } catch let error as DatabaseError {
        #expect(error.code == .missingKey && error.collection == "diary" && error.key == "d1")
        #expect("\(error)".contains(String(try testKey(1).id, radix: 16)))
      }
      // With the key beside the other one, in the same opening.
      let both = KeyRing(current: try testKey(2), older: [try testKey(1)])
      #expect(try db.hasExamples(.diary(both), 0..<5))
      try db.close()
    }

    @Test func aPlainCoderAndAnEncryptingOneDoNotMix() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      try db.fill(.diary(ring), 0..<5)
      #expect(errorCode { try db.read { tx throws in _ = try tx[.plainDiary].get("d1") } } == .collectionMismatch)
      try db.close()
      db = try folder.open()
      #expect(errorCode { try db.read { tx throws in _ = try tx[.plainDiary].get("d1") } } == .missingKey)
      #expect(errorCode { try db.read { tx throws in _ = try tx[.diary(ring)].get("d1") } } == .collectionMismatch)
      try db.close()
    }

    @Test func plainRowsAreRefusedUnlessTheyAreAskedFor() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      try db.fill(.plainDiary, 0..<2_000)
      #expect(try db.dictionaryNumbers("diary") == [1])
      try db.close()
      db = try folder.open()
      #expect(errorCode { try db.read { tx throws in _ = try tx[.diary(ring)].get("d1") } } == .notEncrypted)
      #expect(errorCode { try db.read { tx throws in _ = try tx[.diary(ring)].get("d1999") } } == .notEncrypted)
      #expect(errorCode { try db.read { tx throws in _ = try tx[.diary(ring)].metadata("d1") } } == .notEncrypted)
      #expect(errorCode { try db.rewriteRows(of: .diary(ring)) } == .notEncrypted)
      // A migration.
      #expect(try db.hasExamples(.diary(ring, acceptsPlain: true), 0..<2_000))
      #expect(try db.rewriteRows(of: .diary(ring, acceptsPlain: true)).rewrittenCount == 2_000)
      #expect(try db.rewriteRows(of: .diary(ring, acceptsPlain: true)).rewrittenCount == 0)
      #expect(try db.hasExamples(.diary(ring), 0..<2_000))
      #expect(try db.keyIDs() == [testKey(1).id])
      try db.verify()
      try db.close()
      // The dictionary, which held pieces of rows, has gone with the last row that named it; its number stays given.
      let engine = try StorageEngine(at: folder.path, options: StorageOptions(isReadOnly: true))
      let left = try engine.read { tx -> [[UInt8]] in
        guard let tree = tx.tree(named: "quire.dictionaries") else { return [] }
        var cursor = try tx.cursor(tree)
        var values: [[UInt8]] = []
        while try cursor.next() { values.append(try cursor.value ?? []) }
        return values
      }
      #expect(left.count == 1 && left.first?.prefix(8) == [1, 0, 0, 0, 0, 0, 0, 0])
      try engine.close()
    }

    @Test func keysAreToldApart() throws {
      let key = try testKey(1)
      #expect(try key == testKey(1) && key != testKey(2) && key.id != testKey(2).id)
      #expect(EncryptionKey.random() != .random())
      #expect(key.withBytes { $0.count } == 32)
      #expect(!"\(key)".contains(key.withBytes { String($0[5]) + ", " }))
      #expect(errorCode { _ = try EncryptionKey(bytes: [1, 2, 3]) } == .invalidOption)
      #expect(errorCode { _ = try EncryptionKey(SymmetricKey(size: .bits128)) } == .invalidOption)
    }

    @Test func rolledBackFirstRowsLeaveNothing() throws {
      struct Undo: Error {}
      let db = try Database.inMemory()
      let diary = RowCollection<Diary, String>.diary(ring)
      try db.write { tx throws in
        _ = try? tx.savepoint {
          try tx[diary].set(.example(1), for: "d1")
          throw Undo()
        }
        try tx[diary].set(.example(2), for: "d2")
      }
      #expect(try db.read { tx in try tx[diary].get("d2") } == .example(2))
      _ = try? db.write { tx throws in
        try tx[diary].set(.example(3), for: "d3")
        throw Undo()
      }
      try db.fill(diary, 10..<20)
      #expect(try db.read { tx in tx[diary].rows.count { _ in true } } == 11)
      try db.verify()
    }
  }
#endif
