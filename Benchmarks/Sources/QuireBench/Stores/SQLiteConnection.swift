// One connection to SQLite with its prepared statements.

#if PEER_SQLITE
  internal import CSQLite

  /// A connection. Statements are prepared once, as SQLite's documentation advises.
  ///
  /// Sharing it between threads is safe because one at a time uses it, which `SQLiteStore` sees to.
  final class SQLiteConnection: @unchecked Sendable {
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens the file, in WAL mode.
    init(path: String, options: StoreOptions) throws {
      var opened: OpaquePointer?
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      let status = sqlite3_open_v2(path, &opened, flags, nil)
      guard let handle = opened else { throw StoreFailure(description: "SQLite: out of memory") }
      self.handle = handle
      try check(status)
      sqlite3_busy_timeout(handle, 60_000)
      try run("PRAGMA journal_mode = WAL")
      try run("PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL")")
      try run("PRAGMA cache_size = -\(options.cacheSize / 1024)")
    }

    /// Runs statements whose rows nobody wants.
    func run(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Runs `body` in a transaction that begins with the statement `begin`.
    func transaction<Result>(_ begin: String, _ body: () throws -> Result) throws -> Result {
      try step(begin)
      do {
        let result = try body()
        try step("COMMIT")
        return result
      } catch {
        try? run("ROLLBACK")
        throw error
      }
    }

    /// Runs a statement without parameters or rows, prepared once.
    private func step(_ sql: String) throws {
      let statement = try statement(sql)
      let status = sqlite3_step(statement)
      sqlite3_reset(statement)
      if status != SQLITE_DONE { try check(status) }
    }

    /// The statement of this text, ready to be bound and stepped.
    func statement(_ sql: String) throws -> OpaquePointer {
      if let statement = statements[sql] { return statement }
      var prepared: OpaquePointer?
      try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
      guard let prepared else { throw StoreFailure(description: "SQLite: “\(sql)” is empty") }
      statements[sql] = prepared
      return prepared
    }

    /// How many rows the last statement changed.
    var changes: CInt { sqlite3_changes(handle) }

    /// The bytes that commits have added to the log since the file was opened: pages with their heads.
    var logByteCount: Int {
      var (pages, highest): (CInt, CInt) = (0, 0)
      sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 0)
      return Int(pages) * (4096 + 24)
    }

    func close() throws {
      for statement in statements.values { sqlite3_finalize(statement) }
      try check(sqlite3_close(handle))
    }

    @inline(__always) func check(_ status: CInt) throws {
      if status != SQLITE_OK { throw StoreFailure(description: "SQLite: \(String(cString: sqlite3_errmsg(handle)))") }
    }
  }
#endif
