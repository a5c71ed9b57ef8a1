// GRDB as a peer: rows as records, as a Swift app would have them.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// GRDB's pool over the same table as `SQLiteStore`'s. Records are decoded by hand and statements are cached: what
  /// GRDB's documentation advises where speed matters.
  ///
  /// It is measured in the rows that say what the layer above SQLite costs, not in those that SQLite itself decides.
  final class GRDBStore: StoreUnderTest {
    static let name = "grdb"
    static let skippedRows: Set<String> = [
      "multi-get", "bulk-load", "sorted-load", "load-one-transaction", "remove-half", "size", "size-removed",
      "size-compacted", "compact", "reopen", "recovery", "memory", "page-faults", "cold-scan", "values-4k", "get-4k",
      "pinned-reader", "memory-small",
    ]
    /// GRDB does not tell its version; this is the one that the manifest asks for.
    private static let packageVersion = "7.10.0"

    private let pool: DatabasePool

    /// A pool sets `synchronous` to NORMAL itself: durable commits need it set back.
    init(directory: String, options: StoreOptions) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA cache_size = -\(options.cacheSize / 1024)")
      }
      pool = try DatabasePool(path: "\(directory)/rows.sqlite", configuration: configuration)
      try pool.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL")")
        try database.execute(sql: "CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID")
      }
    }

    var version: String {
      let sqlite = try? pool.read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
      return "\(Self.packageVersion) over SQLite \(sqlite ?? "unknown")"
    }

    func put(_ rows: RowBlock, _ range: Range<Int>, perTransaction: Int) throws {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: perTransaction) {
        try pool.write { database in
          for index in start..<min(start + perTransaction, range.upperBound) {
            try Entry(k: Data(rows.key(index)), v: Data(rows.value(index))).insert(database, onConflict: .replace)
          }
        }
      }
    }

    func putInOneTransaction(_ next: () throws -> RowBlock?) throws {
      try pool.write { database in
        while let rows = try next() {
          for index in 0..<rows.count {
            try Entry(k: Data(rows.key(index)), v: Data(rows.value(index))).insert(database, onConflict: .replace)
          }
        }
      }
    }

    func remove(_ rows: RowBlock, _ range: Range<Int>) throws {
      try pool.write { database in
        for index in range {
          guard try Entry.deleteOne(database, key: Data(rows.key(index))) else {
            throw StoreFailure(description: "GRDB: a key is missing")
          }
        }
      }
    }

    func sumOfValues(of keys: KeyList, _ range: Range<Int>) throws -> UInt64 {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT k, v FROM rows WHERE k = ?")
        var total: UInt64 = 0
        for index in range {
          guard let entry = try Entry.fetchOne(statement, arguments: [Data(keys[index])]) else {
            throw StoreFailure(description: "GRDB: a key is missing")
          }
          total &+= entry.v.withUnsafeBytes { sum(of: $0) }
        }
        return total
      }
    }

    func sumOfRanges(from keys: KeyList, _ range: Range<Int>, length: Int) throws -> UInt64 {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT k, v FROM rows WHERE k >= ? ORDER BY k LIMIT ?")
        var total: UInt64 = 0
        for index in range {
          let entries = try Entry.fetchCursor(statement, arguments: [Data(keys[index]), length])
          while let entry = try entries.next() { total &+= entry.v.withUnsafeBytes { sum(of: $0) } }
        }
        return total
      }
    }

    func scan(after body: () throws -> Void) throws -> Contents {
      try pool.read { database in
        try body()
        var contents = Contents()
        let entries = try Entry.fetchCursor(database, sql: "SELECT k, v FROM rows ORDER BY k")
        while let entry = try entries.next() { entry.v.withUnsafeBytes { contents.add($0) } }
        return contents
      }
    }

    func count() throws -> Int { try pool.read { try Entry.fetchCount($0) } }

    func settle() throws { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }

    func compact() throws { try pool.vacuum() }

    func close() throws { try pool.close() }
  }

  /// A row as a record.
  private struct Entry: FetchableRecord, PersistableRecord {
    static let databaseTableName = "rows"
    let k: Data
    let v: Data

    init(k: Data, v: Data) { (self.k, self.v) = (k, v) }

    init(row: Row) { (k, v) = (row[0], row[1]) }

    func encode(to container: inout PersistenceContainer) {
      container["k"] = k
      container["v"] = v
    }
  }
#endif
