// LMDB as a peer: its defaults, its own calls, nothing between.

#if canImport(CLMDB)
  internal import CLMDB

  /// LMDB with its default flags: a map read through the page cache, commits that flush (no `MDB_NOSYNC`), kernel
  /// read-ahead on (no `MDB_NORDAHEAD`), pages written by `pwrite` (no `MDB_WRITEMAP`).
  ///
  /// Sharing it between threads is safe because an environment takes any number of them, and each call below makes a
  /// transaction of its own.
  final class LMDBStore: StoreUnderTest, @unchecked Sendable {
    static let name = "lmdb"
    /// Address space, not memory: large enough that no row ever runs into it.
    private static let mapByteCount = 16 << 30

    private let environment: OpaquePointer
    private let database: MDB_dbi

    /// LMDB has no cache of its own: `cacheSize` does not apply, the page cache serves it.
    init(directory: String, cacheSize: Int) throws {
      var created: OpaquePointer?
      try check(mdb_env_create(&created))
      guard let environment = created else { throw StoreFailure(description: "mdb_env_create gave nothing") }
      self.environment = environment
      try check(mdb_env_set_mapsize(environment, Self.mapByteCount))
      try check(mdb_env_open(environment, directory, 0, 0o600))
      var opened: MDB_dbi = 0
      var transaction: OpaquePointer?
      try check(mdb_txn_begin(environment, nil, 0, &transaction))
      try check(mdb_dbi_open(transaction, nil, 0, &opened))
      try check(mdb_txn_commit(transaction))
      database = opened
    }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction))
        for index in start..<min(start + perTransaction, range.upperBound) {
          var key = MDB_val(rows.key(index))
          var value = MDB_val(rows.value(index))
          try check(mdb_put(transaction, database, &key, &value, 0))
        }
        try check(mdb_txn_commit(transaction))
      }
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      var transaction: OpaquePointer?
      try check(mdb_txn_begin(environment, nil, 0, &transaction))
      for index in range {
        var key = MDB_val(rows.key(index))
        try check(mdb_del(transaction, database, &key, nil))
      }
      try check(mdb_txn_commit(transaction))
    }

    @inline(never)
    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { transaction in
        var total: UInt64 = 0
        var value = MDB_val()
        for index in range {
          var key = MDB_val(keys[index])
          try check(mdb_get(transaction, database, &key, &value))
          total &+= sum(of: value.bytes)
        }
        return total
      }
    }

    /// LMDB has no call for many keys.
    func sumOfManyValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try sumOfValues(of: keys, range)
    }

    func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
      try withCursor { cursor in
        var total: UInt64 = 0
        for index in range {
          var key = MDB_val(keys[index])
          var value = MDB_val()
          var status = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
          var remaining = length
          while status == 0 {
            total &+= sum(of: value.bytes)
            remaining -= 1
            if remaining == 0 { break }
            status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
          }
          if status != MDB_NOTFOUND { try check(status) }
        }
        return total
      }
    }

    func scan() throws -> Contents {
      try withCursor { cursor in
        var contents = Contents(count: 0, sum: 0)
        var key = MDB_val()
        var value = MDB_val()
        var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while status == 0 {
          contents.count += 1
          contents.sum &+= sum(of: value.bytes)
          status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if status != MDB_NOTFOUND { try check(status) }
        return contents
      }
    }

    /// LMDB does not count its flushes.
    var flushes: UInt64? { nil }

    func close() { mdb_env_close(environment) }

    @inline(__always)
    private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
      var transaction: OpaquePointer?
      try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
      defer { mdb_txn_abort(transaction) }
      return try body(transaction)
    }

    @inline(__always)
    private func withCursor<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
      try reading { transaction in
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, database, &cursor))
        defer { mdb_cursor_close(cursor) }
        return try body(cursor)
      }
    }
  }

  extension MDB_val {
    @inline(__always) fileprivate init(_ bytes: UnsafeRawBufferPointer) {
      self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inline(__always) fileprivate var bytes: UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }
  }

  @inline(__always) private func check(_ status: CInt) throws {
    if status != 0 { throw StoreFailure(description: "LMDB: \(String(cString: mdb_strerror(status)))") }
  }
#endif
