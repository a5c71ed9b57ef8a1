// LMDB as a peer: its defaults, its own calls, nothing between.

#if PEER_LMDB
  internal import CLMDB
  internal import Foundation

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// LMDB with its default flags: a map read through the page cache, kernel read-ahead on (no `MDB_NORDAHEAD`), pages
  /// written by `pwrite` (no `MDB_WRITEMAP`). Relaxed commits are those of `MDB_NOSYNC`, which promises less than the
  /// other stores do: after a crash of the machine the file may be damaged.
  ///
  /// Sharing it between threads is safe because an environment takes any number of them, and each call below makes a
  /// transaction of its own.
  final class LMDBStore: StoreUnderTest, @unchecked Sendable {
    static let name = "lmdb"
    /// Address space, not memory: large enough that no row ever runs into it, such as that of many commits beside a
    /// reader who stays. Tools that watch a process cannot spare so much for the others.
    private static func mapByteCount(_ durability: CommitDurability) -> Int {
      durability == .full ? 4 << 30 : 64 << 30
    }

    private let directory: String
    private let flags: UInt32
    private let environment: OpaquePointer
    private let database: MDB_dbi

    /// LMDB has no cache of its own: `cacheSize` does not apply, the page cache serves it.
    init(directory: String, options: StoreOptions) throws {
      self.directory = directory
      flags = options.durability == .full ? 0 : UInt32(MDB_NOSYNC)
      (environment, database) = try Self.open(directory, flags, mapByteCount: Self.mapByteCount(options.durability))
    }

    private static func open(
      _ directory: String, _ flags: UInt32, mapByteCount: Int
    ) throws -> (OpaquePointer, MDB_dbi) {
      var created: OpaquePointer?
      try checkLMDB(mdb_env_create(&created))
      guard let environment = created else { throw StoreFailure(description: "mdb_env_create gave nothing") }
      try checkLMDB(mdb_env_set_mapsize(environment, mapByteCount))
      try checkLMDB(mdb_env_open(environment, directory, flags, 0o600))
      var opened: MDB_dbi = 0
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      try checkLMDB(mdb_dbi_open(transaction, nil, 0, &opened))
      try checkLMDB(mdb_txn_commit(transaction))
      return (environment, opened)
    }

    var version: String {
      var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
      mdb_version(&major, &minor, &patch)
      return "\(major).\(minor).\(patch)"
    }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
        var transaction: OpaquePointer?
        try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
        for index in start..<min(start + perTransaction, range.upperBound) {
          var key = MDB_val(rows.key(index))
          var value = MDB_val(rows.value(index))
          try checkLMDB(mdb_put(transaction, database, &key, &value, 0))
        }
        try checkLMDB(mdb_txn_commit(transaction))
      }
    }

    func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      do {
        while let rows = try next() {
          for index in 0..<rows.count {
            var key = MDB_val(rows.key(index))
            var value = MDB_val(rows.value(index))
            try checkLMDB(mdb_put(transaction, database, &key, &value, 0))
          }
        }
      } catch {
        mdb_txn_abort(transaction)
        throw error
      }
      try checkLMDB(mdb_txn_commit(transaction))
    }

    /// Sorts the rows, the time for which counts, and appends them: what LMDB's manual advises for bulk loads.
    func load(_ rows: RowBlock) throws {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      for index in rows.sortedIndices() {
        var key = MDB_val(rows.key(index))
        var value = MDB_val(rows.value(index))
        try checkLMDB(mdb_put(transaction, database, &key, &value, UInt32(MDB_APPEND)))
      }
      try checkLMDB(mdb_txn_commit(transaction))
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, 0, &transaction))
      for index in range {
        var key = MDB_val(rows.key(index))
        try checkLMDB(mdb_del(transaction, database, &key, nil))
      }
      try checkLMDB(mdb_txn_commit(transaction))
    }

    @inline(never)
    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { transaction in
        var total: UInt64 = 0
        var value = MDB_val()
        for index in range {
          var key = MDB_val(keys[index])
          try checkLMDB(mdb_get(transaction, database, &key, &value))
          total &+= sum(of: value.bytes)
        }
        return total
      }
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
          if status != MDB_NOTFOUND { try checkLMDB(status) }
        }
        return total
      }
    }

    func scan(after body: () throws -> Void) throws -> Contents {
      try withCursor { cursor in
        try body()
        var contents = Contents()
        var key = MDB_val()
        var value = MDB_val()
        var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while status == 0 {
          contents.add(value.bytes)
          status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if status != MDB_NOTFOUND { try checkLMDB(status) }
        return contents
      }
    }

    func count() throws -> Int {
      try reading { transaction in
        var statistics = MDB_stat()
        try checkLMDB(mdb_stat(transaction, database, &statistics))
        return Int(statistics.ms_entries)
      }
    }

    /// Copies what is in use into a new file, which takes the place of the old one.
    func compact() throws {
      let copy = "\(directory)/compacted"
      try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: copy) }
      try checkLMDB(mdb_env_copy2(environment, copy, UInt32(MDB_CP_COMPACT)))
      // The environment goes on with the old file, which is gone once it is closed: nobody measures it any more.
      guard rename("\(copy)/data.mdb", "\(directory)/data.mdb") == 0 else {
        throw StoreFailure(description: "LMDB: errno \(errno) while renaming the compacted copy")
      }
    }

    func close() { mdb_env_close(environment) }

    @inline(__always)
    private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
      var transaction: OpaquePointer?
      try checkLMDB(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
      defer { mdb_txn_abort(transaction) }
      return try body(transaction)
    }

    @inline(__always)
    private func withCursor<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
      try reading { transaction in
        var cursor: OpaquePointer?
        try checkLMDB(mdb_cursor_open(transaction, database, &cursor))
        defer { mdb_cursor_close(cursor) }
        return try body(cursor)
      }
    }
  }

  extension MDB_val {
    @inline(__always) init(_ bytes: UnsafeRawBufferPointer) {
      self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inline(__always) var bytes: UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }
  }

  /// Throws what LMDB says of a status that is none of success.
  @inline(__always) func checkLMDB(_ status: CInt) throws {
    if status != 0 { throw StoreFailure(description: "LMDB: \(String(cString: mdb_strerror(status)))") }
  }
#endif
