// Rows that somebody has changed below the object layer, where checksums are no obstacle to who can make them.

#if Encryption
  import Foundation
  import QuireDatabase
  import QuireStorage
  import QuireTesting
  import Testing

  @Suite struct EncryptionTamperTests {
    private let ring: KeyRing

    init() throws { ring = KeyRing(current: try testKey(1)) }

    private static func texts(_ ring: KeyRing, _ name: String = "texts") -> RowCollection<[UInt8], [UInt8]> {
      RowCollection(
        name, coder: .bytes.encrypted(with: ring), metadataCoder: .bytes.encrypted(with: ring), compression: .none)
    }

    /// Changes the rows of a closed database by their numbers.
    private func change(_ folder: TestFolder, _ body: (inout [Int64: [UInt8]]) throws -> Void) throws {
      let engine = try StorageEngine(at: folder.path)
      try engine.write { tx in
        let trees = try RawTrees { tx.tree(named: $0) }
        var rows: [Int64: [UInt8]] = [:]
        var cursor = try tx.cursor(trees.rows)
        var number: Int64 = 0
        while try cursor.next() {
          number += 1
          rows[number] = try cursor.value
        }
        let before = rows
        try body(&rows)
        for (number, row) in rows where before[number] != row { try tx.put(row, for: number, in: trees.rows) }
      }
      try engine.close()
    }

    /// The rest of the format by hand: what others have encrypted, this reads.
    @Test func knownAnswer() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      let key = try EncryptionKey(bytes: Array(0..<32))
      let texts = RowCollection<[UInt8], NoMetadata>("texts", coder: .bytes.encrypted(with: key))
      try db.write { tx throws in try tx[texts].set([1], for: "s1") }
      try db.close()
      // HKDF-SHA256 and AES-256-GCM of another library: key 00 01 … 1f, salt 64 65 … 73, collection 1, nonce c8 … d3,
      // the value “hello” stored plain.
      let stored: [UInt8] = [
        0x03, 0x01, 0xb5, 0x74, 0x1c, 0xb9, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3,
        0x5c, 0x19, 0x7b, 0x38, 0xf0, 0x0f, 0xf4, 0x13, 0xa1, 0x08, 0x86, 0x7c, 0xf8, 0x05, 0x84, 0xa3, 0x04, 0x6f,
        0xdf, 0x77, 0x14, 0xa2,
      ]
      let engine = try StorageEngine(at: folder.path)
      try engine.write { tx in
        let trees = try RawTrees { tx.tree(named: $0) }
        try tx.put(Array(100..<116) as [UInt8], for: Array("encryptionSalt".utf8), in: trees.info)
        try tx.put([0, 1, 0, 0, 0, 2, 0] + Array("s1".utf8) + stored, for: 1 as Int64, in: trees.rows)
      }
      try engine.close()
      db = try folder.open()
      #expect(key.id == 0xb91c_74b5)
      #expect(try db.read { tx in try tx[texts].get("s1") } == Array("hello".utf8))
      try db.close()
    }

    @Test func everyChangedByteIsNoticed() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      let texts = Self.texts(ring)
      let byteCount = 34 + 1 + 20
      try db.write { tx throws in
        for index in 0..<2 * byteCount {
          try tx[texts].set(
            [UInt8](repeating: 5, count: 20), metadata: [UInt8](repeating: 6, count: 20), for: "k\(index)")
        }
      }
      try db.close()
      var random = SeededRandom(seed: 1)
      try change(folder) { rows in
        for index in 0..<2 * byteCount {
          guard let row = rows[Int64(index + 1)] else { continue }
          var parts = StoredParts(row)
          #expect(parts.object.count == byteCount && parts.metadata.count == byteCount)
          let flip = UInt8(1 + random.below(255))
          if index < byteCount { parts.object[index] ^= flip } else { parts.metadata[index - byteCount] ^= flip }
          rows[Int64(index + 1)] = parts.row
        }
      }
      db = try folder.open()
      try db.read { tx throws in
        for index in 0..<2 * byteCount {
          let isObject = index < byteCount
          let code = errorCode { _ = try isObject ? tx[texts].get("k\(index)") : tx[texts].metadata("k\(index)") }
          let expected: Set<DatabaseError.Code?> =
            switch index % byteCount {
            // The way of storing: any but 3 is not encrypted. Then the form, the key, and all the rest.
            case 0: [.notEncrypted]
            case 1: [.newerFormat]
            case 2..<6: [.missingKey]
            default: [.notAuthentic]
            }
          #expect(expected.contains(code), "byte \(index): \(String(describing: code))")
          // The other half is as it was.
          if isObject {
            #expect(try tx[texts].metadata("k\(index)") == [UInt8](repeating: 6, count: 20))
          } else {
            #expect(try tx[texts].get("k\(index)") == [UInt8](repeating: 5, count: 20))
          }
        }
      }
      try db.close()
    }

    @Test func everyTruncationIsNoticed() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      let texts = Self.texts(ring)
      try db.write { tx throws in
        for index in 0..<55 { try tx[texts].set([UInt8](repeating: 5, count: 20), metadata: [6], for: "k\(index)") }
      }
      try db.close()
      try change(folder) { rows in
        for index in 0..<55 {
          guard let row = rows[Int64(index + 1)] else { continue }
          rows[Int64(index + 1)] = row.dropLast(55 - index)
        }
      }
      db = try folder.open()
      for index in 0..<55 {
        let code = errorCode { try db.read { tx throws in _ = try tx[texts].get("k\(index)") } }
        #expect(code != nil, "\(index) bytes of the object were read")
      }
      try db.close()
    }

    @Test func valuesInOtherPlacesAreRefused() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      let (texts, others) = (Self.texts(ring), Self.texts(ring, "others"))
      try db.write { tx throws in
        for index in 0..<10 { try tx[texts].set([1, UInt8(index)], metadata: [2, UInt8(index)], for: "k\(index)") }
        for index in 0..<10 { try tx[others].set([3, UInt8(index)], metadata: [4, UInt8(index)], for: "k\(index)") }
      }
      try db.close()
      try change(folder) { rows in
        guard var first = rows[1].map(StoredParts.init), var second = rows[2].map(StoredParts.init),
          var third = rows[3].map(StoredParts.init), let foreign = rows[14].map(StoredParts.init),
          var fourth = rows[4].map(StoredParts.init)
        else { return }
        // Two rows exchange their objects; a row its object and metadata; one gets the object of the same key in
        // another collection.
        (first.object, second.object) = (second.object, first.object)
        (third.object, third.metadata) = (third.metadata, third.object)
        fourth.object = foreign.object
        (rows[1], rows[2], rows[3], rows[4]) = (first.row, second.row, third.row, fourth.row)
      }
      db = try folder.open()
      for key in ["k0", "k1", "k2", "k3"] {
        #expect(errorCode { try db.read { tx throws in _ = try tx[texts].get(key) } } == .notAuthentic, "\(key)")
      }
      #expect(errorCode { try db.read { tx throws in _ = try tx[texts].metadata("k2") } } == .notAuthentic)
      #expect(try db.read { tx in try tx[texts].metadata("k0") } == [2, 0])
      #expect(try db.read { tx in try tx[texts].get("k4") } == [1, 4])
      // Rewriting does not make them good.
      #expect(try db.rewriteRows(of: texts, skippingFailures: true).failedCount == 4)
      try db.close()
    }

    @Test func valuesOfAnotherDatabaseAreRefused() throws {
      let (first, second) = (try TestFolder(), try TestFolder())
      let texts = Self.texts(ring)
      for folder in [first, second] {
        let db = try folder.open()
        try db.write { tx throws in try tx[texts].set([7], metadata: [8], for: "k") }
        try db.close()
      }
      var stolen: [UInt8]?
      try change(first) { rows in stolen = rows[1] }
      try change(second) { rows in rows[1] = stolen }
      let db = try second.open()
      #expect(errorCode { try db.read { tx throws in _ = try tx[texts].get("k") } } == .notAuthentic)
      try db.close()
    }

    @Test func withoutItsSaltNothingDecrypts() throws {
      let folder = try TestFolder()
      var db = try folder.open()
      let texts = Self.texts(ring)
      try db.write { tx throws in try tx[texts].set([7], metadata: [8], for: "k") }
      try db.close()
      for salt in [nil, [], [UInt8](repeating: 1, count: 15), [UInt8](repeating: 1, count: 16)] as [[UInt8]?] {
        let engine = try StorageEngine(at: folder.path)
        try engine.write { tx in
          let trees = try RawTrees { tx.tree(named: $0) }
          if let salt {
            try tx.put(salt, for: Array("encryptionSalt".utf8), in: trees.info)
          } else {
            try tx.delete(Array("encryptionSalt".utf8), in: trees.info)
          }
        }
        try engine.close()
        db = try folder.open()
        let code = errorCode { try db.read { tx throws in _ = try tx[texts].get("k") } }
        #expect(code == (salt?.count == 16 ? .notAuthentic : .damagedRow))
        try db.close()
      }
    }
  }
#endif
