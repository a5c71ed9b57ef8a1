// Rows of YapDatabase's shape in SQLite, by YapDatabase's own table and statements.

#if PEER_SQLITE
  internal import CSQLite
  internal import Foundation

  /// What YapDatabase 3 does, without its Objective-C and its caches: the table `database2` with a unique index on
  /// collection and key, write-ahead logging, statements that are prepared once, and a look-up of the row's number
  /// before each row is stored. One connection reads and one writes, as there. A row is got by its number with one
  /// statement; YapDatabase needs a second one for the key.
  ///
  /// Sharing it between two threads is safe because reading and writing use different connections.
  final class SQLiteShapedStore: ShapedStore, @unchecked Sendable {
    static var name: String { "sqlite" }
    private let writer: SQLiteConnection
    private let reader: SQLiteConnection

    init(_ folder: String, count: Int) throws {
      let options = StoreOptions(cacheSize: 512 << 20)
      writer = try SQLiteConnection(path: "\(folder)/rows.sqlite", options: options)
      try writer.run(
        """
        CREATE TABLE IF NOT EXISTS "database2" ("rowid" INTEGER PRIMARY KEY, "collection" CHAR NOT NULL, \
        "key" CHAR NOT NULL, "data" BLOB, "metadata" BLOB)
        """)
      try writer.run(
        #"CREATE UNIQUE INDEX IF NOT EXISTS "true_primary_key" ON "database2" ("collection", "key")"#)
      reader = try SQLiteConnection(path: "\(folder)/rows.sqlite", options: options)
    }

    private static let findRowID = #"SELECT "rowid" FROM "database2" WHERE "collection" = ? AND "key" = ?"#

    /// The number of a row; nil if there is none.
    private func rowID(_ key: String, _ connection: SQLiteConnection, _ statement: OpaquePointer) throws -> Int64? {
      try connection.withText(ShapedRows.collection, key, statement) {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return sqlite3_column_int64(statement, 0)
        case SQLITE_DONE: return nil
        case let status:
          try connection.check(status)
          return nil
        }
      }
    }

    func store(_ rows: ShapedRows, _ range: Range<Int>) throws {
      try writer.transaction("BEGIN IMMEDIATE") {
        let find = try writer.statement(Self.findRowID)
        let insert = try writer.statement(
          #"INSERT INTO "database2" ("collection", "key", "data", "metadata") VALUES (?, ?, ?, ?)"#)
        for index in range {
          guard try rowID(rows.keys[index], writer, find) == nil else {
            throw StoreFailure(description: "SQLite: \(rows.keys[index]) is there already")
          }
          try rows.objects[index].withUnsafeBytes { object in
            try rows.metadata[index].withUnsafeBytes { metadata in
              try writer.bind(object, 3, insert)
              try writer.bind(metadata, 4, insert)
              try writer.withText(ShapedRows.collection, rows.keys[index], insert) { try writer.finish(insert) }
            }
          }
        }
      }
    }

    func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws {
      try writer.transaction("BEGIN IMMEDIATE") {
        let find = try writer.statement(Self.findRowID)
        let update = try writer.statement(#"UPDATE "database2" SET "data" = ?, "metadata" = ? WHERE "rowid" = ?"#)
        for index in places {
          guard let rowID = try rowID(rows.keys[index], writer, find) else {
            throw StoreFailure(description: "SQLite: no \(rows.keys[index])")
          }
          try objects[index].withUnsafeBytes { object in
            try rows.metadata[index].withUnsafeBytes { metadata in
              try writer.bind(object, 1, update)
              try writer.bind(metadata, 2, update)
              sqlite3_bind_int64(update, 3, rowID)
              try writer.finish(update)
            }
          }
        }
      }
    }

    func rowIDs(of keys: [String]) throws -> [Int64] {
      try reader.transaction("BEGIN") {
        let find = try reader.statement(Self.findRowID)
        return try keys.map { try rowID($0, reader, find) ?? -1 }
      }
    }

    func sumOfObjects(of keys: [String]) throws -> UInt64 {
      try reader.transaction("BEGIN") {
        let statement = try reader.statement(
          #"SELECT "rowid", "data" FROM "database2" WHERE "collection" = ? AND "key" = ?"#)
        var total: UInt64 = 0
        for key in keys {
          try reader.withText(ShapedRows.collection, key, statement) {
            guard sqlite3_step(statement) == SQLITE_ROW else { throw StoreFailure(description: "SQLite: no \(key)") }
            total &+= sum(of: statement.bytes(1))
          }
        }
        return total
      }
    }

    func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try reader.transaction("BEGIN") {
        let statement = try reader.statement(
          #"SELECT "collection", "key", "data", "metadata" FROM "database2" WHERE "rowid" = ?"#)
        var total: UInt64 = 0
        for rowID in rowIDs {
          sqlite3_bind_int64(statement, 1, rowID)
          guard sqlite3_step(statement) == SQLITE_ROW else {
            throw StoreFailure(description: "SQLite: no row \(rowID)")
          }
          let (_, key) = (statement.text(0), statement.text(1))
          try expect(!key.isEmpty, "SQLite: row \(rowID) has no key")
          total &+= sum(of: statement.bytes(2)) &+ sum(of: statement.bytes(3))
          sqlite3_reset(statement)
        }
        return total
      }
    }

    /// Walks through columns of all rows: the key and so many others that are bytes.
    private func walk(_ sql: String, columns: Range<CInt>) throws -> ShapedDigest {
      try reader.transaction("BEGIN") {
        let statement = try reader.statement(sql)
        var digest = ShapedDigest()
        let collection = ShapedRows.collection
        try collection.utf8CString.withUnsafeBufferPointer { text in
          sqlite3_bind_text(statement, 1, text.baseAddress, -1, nil)
          while sqlite3_step(statement) == SQLITE_ROW {
            digest.add(key: statement.text(1))
            for column in columns { statement.bytes(column).withUnsafeBytes { digest.add($0) } }
            digest.endRow()
          }
          try reader.check(sqlite3_reset(statement))
        }
        return digest
      }
    }

    func digestOfKeys() throws -> ShapedDigest {
      try walk(#"SELECT "rowid", "key" FROM "database2" WHERE "collection" = ?"#, columns: 2..<2)
    }

    func digestOfRows() throws -> ShapedDigest {
      try walk(
        #"SELECT "rowid", "key", "data", "metadata" FROM "database2" WHERE "collection" = ?"#, columns: 2..<4)
    }

    func digestOfMetadata() throws -> ShapedDigest {
      try walk(#"SELECT "rowid", "key", "metadata" FROM "database2" WHERE "collection" = ?"#, columns: 2..<3)
    }

    func close() throws {
      try reader.close()
      try writer.close()
    }
  }

  extension SQLiteConnection {
    /// Binds two texts to the first two parameters, runs `body`, and resets the statement while the texts are there.
    @inline(__always) func withText<Result>(
      _ first: String, _ second: String, _ statement: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
      var (first, second) = (first, second)
      return try first.withUTF8 { first in
        try second.withUTF8 { second in
          defer { sqlite3_reset(statement) }
          try check(sqlite3_bind_text(statement, 1, first.characters, CInt(first.count), nil))
          try check(sqlite3_bind_text(statement, 2, second.characters, CInt(second.count), nil))
          return try body()
        }
      }
    }
  }

  extension UnsafeBufferPointer<UInt8> {
    /// The same bytes as C's characters.
    @inline(__always) var characters: UnsafePointer<CChar>? {
      UnsafeRawPointer(baseAddress)?.assumingMemoryBound(to: CChar.self)
    }
  }

  extension OpaquePointer {
    /// A column of this statement's row as bytes of one's own.
    @inline(__always) func bytes(_ column: CInt) -> [UInt8] {
      let start = sqlite3_column_blob(self, column)
      return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column))))
    }

    /// A column of this statement's row as text.
    @inline(__always) func text(_ column: CInt) -> String {
      guard let start = sqlite3_column_text(self, column) else { return "" }
      let count = Int(sqlite3_column_bytes(self, column))
      return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }
#endif
