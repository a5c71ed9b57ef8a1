// Rows of YapDatabase's shape in LMDB, by hand.

#if PEER_LMDB
  internal import CLMDB
  internal import Foundation

  /// What somebody would write who wants the same of LMDB: an index from collection and key to the row's number, and
  /// rows under their numbers, which hold key, object and metadata one behind the other. Walks in the order of keys
  /// look each row up.
  ///
  /// Sharing it between threads is safe because an environment takes any number of them.
  final class LMDBShapedStore: ShapedStore, @unchecked Sendable {
    static var name: String { "lmdb" }
    private let environment: OpaquePointer
    private let index: MDB_dbi
    private let rowTree: MDB_dbi
    /// The number of the next row.
    private var next: Int64 = 1

    init(_ folder: String, count: Int) throws {
      var created: OpaquePointer?
      try checkLMDB(mdb_env_create(&created))
      guard let environment = created else { throw StoreFailure(description: "mdb_env_create gave nothing") }
      try checkLMDB(mdb_env_set_mapsize(environment, 4 << 30))
      try checkLMDB(mdb_env_set_maxdbs(environment, 2))
      try checkLMDB(mdb_env_open(environment, folder, 0, 0o600))
      var transaction: OpaquePointer?
      var (index, rowTree): (MDB_dbi, MDB_dbi) = (0, 0)
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      try checkLMDB(mdb_dbi_open(transaction, "index", UInt32(MDB_CREATE), &index))
      try checkLMDB(mdb_dbi_open(transaction, "rows", UInt32(MDB_CREATE | MDB_INTEGERKEY), &rowTree))
      try checkLMDB(mdb_txn_commit(transaction))
      (self.environment, self.index, self.rowTree) = (environment, index, rowTree)
    }

    /// Runs `body` with the bytes of collection and key, with a zero between.
    @inline(__always) private func withIndexKey<Result>(
      _ key: String, _ body: (inout MDB_val) throws -> Result
    ) throws -> Result {
      var key = key
      return try key.withUTF8 { text in
        let prefix = ShapedRows.collection.utf8.count + 1
        return try withUnsafeTemporaryAllocation(byteCount: prefix + text.count, alignment: 8) { bytes in
          bytes.copyBytes(from: ShapedRows.collection.utf8)
          bytes[prefix - 1] = 0
          UnsafeMutableRawBufferPointer(rebasing: bytes[prefix...]).copyMemory(from: UnsafeRawBufferPointer(text))
          var value = MDB_val(UnsafeRawBufferPointer(bytes))
          return try body(&value)
        }
      }
    }

    /// Puts a row under its number: the lengths of key and object in front of key, object and metadata.
    private func put(
      _ rowID: Int64, _ key: String, _ object: [UInt8], _ metadata: [UInt8], _ transaction: OpaquePointer?
    ) throws {
      var key = key
      try key.withUTF8 { text in
        try withUnsafeBytes(of: rowID) { number in
          var name = MDB_val(number)
          var value = MDB_val()
          value.mv_size = 8 + text.count + object.count + metadata.count
          try checkLMDB(mdb_put(transaction, rowTree, &name, &value, UInt32(MDB_RESERVE)))
          let room = UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size)
          room.storeBytes(of: UInt32(text.count), as: UInt32.self)
          room.storeBytes(of: UInt32(object.count), toByteOffset: 4, as: UInt32.self)
          var place = 8
          func append(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: room[place...]).copyMemory(from: bytes)
            place += bytes.count
          }
          append(UnsafeRawBufferPointer(text))
          object.withUnsafeBytes { append($0) }
          metadata.withUnsafeBytes { append($0) }
        }
      }
    }

    private func writing(_ body: (OpaquePointer?) throws -> Void) throws {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      do { try body(transaction) } catch {
        mdb_txn_abort(transaction)
        throw error
      }
      try checkLMDB(mdb_txn_commit(transaction))
    }

    private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
      defer { mdb_txn_abort(transaction) }
      return try body(transaction)
    }

    func store(_ rows: ShapedRows, _ range: Range<Int>) throws {
      try writing { transaction in
        for place in range {
          let rowID = next
          next += 1
          try withIndexKey(rows.keys[place]) { key in
            try withUnsafeBytes(of: rowID) { number in
              var value = MDB_val(number)
              try checkLMDB(mdb_put(transaction, index, &key, &value, UInt32(MDB_NOOVERWRITE)))
            }
          }
          try put(rowID, rows.keys[place], rows.objects[place], rows.metadata[place], transaction)
        }
      }
    }

    private func rowID(_ key: String, _ transaction: OpaquePointer?) throws -> Int64 {
      try withIndexKey(key) { key in
        var value = MDB_val()
        try checkLMDB(mdb_get(transaction, index, &key, &value))
        return value.bytes.loadUnaligned(as: Int64.self)
      }
    }

    /// The parts of a row, lent.
    @inline(__always) private func row(
      _ rowID: Int64, _ transaction: OpaquePointer?
    ) throws -> (key: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer, metadata: UnsafeRawBufferPointer) {
      var value = MDB_val()
      try withUnsafeBytes(of: rowID) { number in
        var name = MDB_val(number)
        try checkLMDB(mdb_get(transaction, rowTree, &name, &value))
      }
      let bytes = value.bytes
      let keyEnd = 8 + Int(bytes.loadUnaligned(as: UInt32.self))
      let objectEnd = keyEnd + Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      let key = UnsafeRawBufferPointer(rebasing: bytes[8..<keyEnd])
      let object = UnsafeRawBufferPointer(rebasing: bytes[keyEnd..<objectEnd])
      return (key, object, UnsafeRawBufferPointer(rebasing: bytes[objectEnd...]))
    }

    func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws {
      try writing { transaction in
        for place in places {
          let rowID = try rowID(rows.keys[place], transaction)
          try put(rowID, rows.keys[place], objects[place], rows.metadata[place], transaction)
        }
      }
    }

    func rowIDs(of keys: [String]) throws -> [Int64] {
      try reading { transaction in try keys.map { try rowID($0, transaction) } }
    }

    func sumOfObjects(of keys: [String]) throws -> UInt64 {
      try reading { transaction in
        var total: UInt64 = 0
        for key in keys { total &+= sum(of: [UInt8](try row(rowID(key, transaction), transaction).object)) }
        return total
      }
    }

    func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try reading { transaction in
        var total: UInt64 = 0
        for rowID in rowIDs {
          let row = try row(rowID, transaction)
          try expect(!String(decoding: row.key, as: UTF8.self).isEmpty, "LMDB: row \(rowID) has no key")
          total &+= sum(of: [UInt8](row.object)) &+ sum(of: [UInt8](row.metadata))
        }
        return total
      }
    }

    /// Walks through the index, and hands out each key and its row's number.
    private func walk(
      _ body: (OpaquePointer?, String, Int64, inout ShapedDigest) throws -> Void
    ) throws -> ShapedDigest {
      try reading { transaction in
        var cursor: OpaquePointer?
        try checkLMDB(mdb_cursor_open(transaction, index, &cursor))
        defer { mdb_cursor_close(cursor) }
        var digest = ShapedDigest()
        var (key, value) = (MDB_val(), MDB_val())
        let prefix = ShapedRows.collection.utf8.count + 1
        var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while status == 0 {
          let text = String(decoding: key.bytes[prefix...], as: UTF8.self)
          try body(transaction, text, value.bytes.loadUnaligned(as: Int64.self), &digest)
          digest.endRow()
          status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if status != MDB_NOTFOUND { try checkLMDB(status) }
        return digest
      }
    }

    func digestOfKeys() throws -> ShapedDigest { try walk { _, key, _, digest in digest.add(key: key) } }

    func digestOfRows() throws -> ShapedDigest {
      try walk { transaction, key, rowID, digest in
        let row = try row(rowID, transaction)
        digest.add(key: key)
        [UInt8](row.object).withUnsafeBytes { digest.add($0) }
        [UInt8](row.metadata).withUnsafeBytes { digest.add($0) }
      }
    }

    func digestOfMetadata() throws -> ShapedDigest {
      try walk { transaction, key, rowID, digest in
        digest.add(key: key)
        [UInt8](try row(rowID, transaction).metadata).withUnsafeBytes { digest.add($0) }
      }
    }

    func close() { mdb_env_close(environment) }
  }
#endif
