// SQLite as a peer: one table with the key as its primary key.

#if PEER_SQLITE
  internal import CSQLite
  internal import Synchronization

  /// SQLite in WAL mode with `synchronous` FULL, or NORMAL for relaxed commits: its documentation promises for that
  /// what Quire does. One connection writes, behind a lock that queues its callers, where connections of their own
  /// would poll; each reading thread has one of its own. `WITHOUT ROWID`, because there is no other key.
  ///
  /// Sharing it between threads is safe because of these locks.
  final class SQLiteStore: StoreUnderTest, @unchecked Sendable {
    static let name = "sqlite"

    private let path: String
    private let options: StoreOptions
    private let writer: Mutex<SQLiteConnection>
    private let idleReaders = Mutex<[SQLiteConnection]>([])

    init(directory: String, options: StoreOptions) throws {
      path = "\(directory)/rows.sqlite"
      self.options = options
      let connection = try SQLiteConnection(path: path, options: options)
      try connection.run("CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID")
      writer = Mutex(connection)
    }

    var version: String { String(cString: sqlite3_libversion()) }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      try writer.withLock { connection in
        let statement = try connection.statement("INSERT OR REPLACE INTO rows (k, v) VALUES (?1, ?2)")
        for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
          try connection.transaction("BEGIN IMMEDIATE") {
            for index in start..<min(start + perTransaction, range.upperBound) {
              try connection.put(rows, index, statement)
            }
          }
        }
      }
    }

    func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
      try writer.withLock { connection in
        let statement = try connection.statement("INSERT OR REPLACE INTO rows (k, v) VALUES (?1, ?2)")
        try connection.transaction("BEGIN IMMEDIATE") {
          while let rows = try next() {
            for index in 0..<rows.count { try connection.put(rows, index, statement) }
          }
        }
      }
    }

    /// Sorts the rows, the time for which counts, so that every page is filled once.
    func load(_ rows: RowBlock) throws {
      try writer.withLock { connection in
        let statement = try connection.statement("INSERT OR REPLACE INTO rows (k, v) VALUES (?1, ?2)")
        try connection.transaction("BEGIN IMMEDIATE") {
          for index in rows.sortedIndices() { try connection.put(rows, index, statement) }
        }
      }
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      try writer.withLock { connection in
        let statement = try connection.statement("DELETE FROM rows WHERE k = ?1")
        try connection.transaction("BEGIN IMMEDIATE") {
          for index in range {
            try connection.bind(rows.key(index), 1, statement)
            try connection.finish(statement)
            guard connection.changes == 1 else { throw StoreFailure(description: "SQLite: a key is missing") }
          }
        }
      }
    }

    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try reading { connection in
        let statement = try connection.statement("SELECT v FROM rows WHERE k = ?1")
        var total: UInt64 = 0
        for index in range {
          try connection.bind(keys[index], 1, statement)
          guard sqlite3_step(statement) == SQLITE_ROW else {
            throw StoreFailure(description: "SQLite: a key is missing")
          }
          total &+= sum(of: firstColumn(of: statement))
          sqlite3_reset(statement)
        }
        return total
      }
    }

    func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
      try reading { connection in
        let statement = try connection.statement("SELECT v FROM rows WHERE k >= ?1 ORDER BY k")
        var total: UInt64 = 0
        for index in range {
          try connection.bind(keys[index], 1, statement)
          var remaining = length
          while remaining > 0, sqlite3_step(statement) == SQLITE_ROW {
            total &+= sum(of: firstColumn(of: statement))
            remaining -= 1
          }
          try connection.check(sqlite3_reset(statement))
        }
        return total
      }
    }

    func scan(after body: () throws -> Void) throws -> Contents {
      try reading { connection in
        // A transaction sees the moment of its first read, not of its beginning.
        _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
        try body()
        let statement = try connection.statement("SELECT v FROM rows ORDER BY k")
        var contents = Contents()
        while sqlite3_step(statement) == SQLITE_ROW { contents.add(firstColumn(of: statement)) }
        try connection.check(sqlite3_reset(statement))
        return contents
      }
    }

    func count() throws -> Int { try reading { try $0.integer("SELECT count(*) FROM rows") } }

    func settle() throws { try writer.withLock { try $0.run("PRAGMA wal_checkpoint(TRUNCATE)") } }

    func compact() throws {
      try writer.withLock { connection in
        try connection.run("VACUUM")
        try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    }

    func close() throws {
      for reader in idleReaders.withLock({ $0 }) { try reader.close() }
      try writer.withLock { try $0.close() }
    }

    private func reading<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
      let connection = try idleReaders.withLock { $0.popLast() } ?? SQLiteConnection(path: path, options: options)
      defer { idleReaders.withLock { $0.append(connection) } }
      return try connection.transaction("BEGIN") { try body(connection) }
    }

    @inline(__always) private func firstColumn(of statement: OpaquePointer) -> UnsafeRawBufferPointer {
      // In this order: asking for the bytes first would be asking for another representation.
      let start = sqlite3_column_blob(statement, 0)
      return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, 0)))
    }
  }

  extension SQLiteConnection {
    /// Binds bytes that stay where they are until the statement is reset.
    @inline(__always) func bind(
      _ bytes: UnsafeRawBufferPointer, _ place: CInt, _ statement: OpaquePointer
    ) throws {
      try check(sqlite3_bind_blob(statement, place, bytes.baseAddress, CInt(bytes.count), nil))
    }

    /// Steps a statement that gives no rows to its end.
    @inline(__always) func finish(_ statement: OpaquePointer) throws {
      let status = sqlite3_step(statement)
      let reset = sqlite3_reset(statement)
      if status != SQLITE_DONE { try check(reset) }
    }

    @inline(__always) fileprivate func put(_ rows: RowBlock, _ index: Int, _ statement: OpaquePointer) throws {
      try bind(rows.key(index), 1, statement)
      try bind(rows.value(index), 2, statement)
      try finish(statement)
    }

    /// The only value of the only row.
    func integer(_ sql: String) throws -> Int {
      let statement = try statement(sql)
      guard sqlite3_step(statement) == SQLITE_ROW else { throw StoreFailure(description: "SQLite: “\(sql)” is empty") }
      let value = Int(sqlite3_column_int64(statement, 0))
      try check(sqlite3_reset(statement))
      return value
    }
  }
#endif
