// Collections with secrets, and hands that reach below the object layer.

#if Encryption
  import QuireDatabase
  import QuireStorage
  import QuireTesting

  struct Diary: Codable, Sendable, Equatable { var day: Int, text: String }

  /// The trees that stored rows are in; for tests that change them below the object layer.
  struct RawTrees {
    struct NoTree: Error {}

    let rows: Tree
    let info: Tree

    init(_ tree: (String) -> Tree?) throws {
      guard let rows = tree("quire.rows"), let info = tree("quire.info") else { throw NoTree() }
      self.rows = rows
      self.info = info
    }
  }

  /// Keys that are the same in each run.
  func testKey(_ number: UInt8) throws -> EncryptionKey {
    try EncryptionKey(bytes: (0..<32).map { $0 &+ number &* 7 })
  }

  extension RowCollection where Object == Diary, Metadata == String {
    /// Both halves encrypted.
    static func diary(_ ring: KeyRing, acceptsPlain: Bool = false, _ name: String = "diary") -> Self {
      RowCollection(
        name, coder: .binary.encrypted(with: ring, acceptsPlain: acceptsPlain),
        metadataCoder: .binary.encrypted(with: ring, acceptsPlain: acceptsPlain))
    }

    /// Nothing encrypted.
    static var plainDiary: Self { RowCollection("diary", compression: .dictionary(above: 64)) }
  }

  extension Diary {
    static func example(_ index: Int) -> Diary {
      Diary(day: index, text: "Dear diary, today is day \(index), and nobody must read this sentence about it.")
    }
  }

  extension Database {
    /// Stores the examples, each with metadata, in transactions of so many.
    func fill(_ collection: RowCollection<Diary, String>, _ range: Range<Int>, together: Int = 100) throws {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: together) {
        try write { tx throws in
          for index in start..<min(start + together, range.upperBound) {
            try tx[collection].set(.example(index), metadata: "mood \(index)", for: "d\(index)")
          }
        }
      }
    }

    /// Whether all examples are there.
    func hasExamples(_ collection: RowCollection<Diary, String>, _ range: Range<Int>) throws -> Bool {
      try read { tx throws in
        for index in range {
          let row = try tx[collection].row("d\(index)")
          guard row?.object == .example(index), row?.metadata == "mood \(index)" else { return false }
        }
        return tx[collection].count == range.count
      }
    }

    /// The numbers of the keys that objects and metadata are encrypted with; nil among them for what is not.
    func keyIDs(_ name: String = "diary") throws -> Set<UInt32?> {
      try read { tx throws in
        var found: Set<UInt32?> = []
        for row in tx.rawRows(name) {
          for form in [row.objectStorage.form, row.metadataStorage?.form] {
            switch form {
            case .encrypted(let id): found.insert(id)
            case nil: break
            default: found.insert(nil)
            }
          }
        }
        return found
      }
    }
  }

  /// The parts of a stored row that has metadata.
  struct StoredParts {
    var head: [UInt8]
    var metadata: [UInt8]
    var object: [UInt8]

    init(_ row: [UInt8]) {
      let metadataStart = 11 + Int(row[5]) + Int(row[6]) << 8
      let count = Int(row[7]) + Int(row[8]) << 8
      head = Array(row[..<metadataStart])
      metadata = Array(row[metadataStart..<metadataStart + count])
      object = Array(row[(metadataStart + count)...])
    }

    var row: [UInt8] {
      var head = head
      head.replaceSubrange(7..<9, with: [UInt8(metadata.count & 0xff), UInt8(metadata.count >> 8)])
      return head + metadata + object
    }
  }
#endif
