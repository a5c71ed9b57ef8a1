// Rows of YapDatabase's shape in GRDB.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// A row as a record, decoded by `Codable` as GRDB's guides begin.
  private struct ShapedRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "database2"
    var rowid: Int64?
    var collection: String
    var key: String
    var data: Data
    var metadata: Data
  }

  /// GRDB as its users write it: a pool, `Codable` records, the query interface. Sharing it between threads is safe
  /// because it holds a pool and nothing else.
  class GRDBShapedStore: ShapedStore, @unchecked Sendable {
    class var name: String { "grdb" }
    fileprivate let pool: DatabasePool

    required init(_ folder: String, count: Int) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -\((512 << 20) / 1024)") }
      pool = try DatabasePool(path: "\(folder)/rows.sqlite", configuration: configuration)
      try pool.writeWithoutTransaction { database in
        // A pool sets it to NORMAL: durable commits need it set back.
        try database.execute(sql: "PRAGMA synchronous = FULL")
        try database.create(table: "database2", options: .ifNotExists) { table in
          table.autoIncrementedPrimaryKey("rowid")
          table.column("collection", .text).notNull()
          table.column("key", .text).notNull()
          table.column("data", .blob).notNull()
          table.column("metadata", .blob).notNull()
          table.uniqueKey(["collection", "key"])
        }
      }
    }

    func store(_ rows: ShapedRows, _ range: Range<Int>) throws {
      try pool.write { database in
        for index in range {
          try ShapedRecord(
            rowid: nil, collection: ShapedRows.collection, key: rows.keys[index], data: Data(rows.objects[index]),
            metadata: Data(rows.metadata[index])
          ).insert(database)
        }
      }
    }

    func rowIDs(of keys: [String]) throws -> [Int64] {
      try pool.read { database in
        let statement = try database.cachedStatement(
          sql: "SELECT rowid FROM database2 WHERE collection = ? AND key = ?")
        return try keys.map { try Int64.fetchOne(statement, arguments: [ShapedRows.collection, $0]) ?? -1 }
      }
    }

    func sumOfObjects(of keys: [String]) throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        for key in keys {
          guard
            let record = try ShapedRecord.fetchOne(
              database, key: ["collection": ShapedRows.collection, "key": key])
          else {
            throw StoreFailure(description: "GRDB: no \(key)")
          }
          total &+= record.data.withUnsafeBytes { sum(of: $0) }
        }
        return total
      }
    }

    func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        for rowID in rowIDs {
          guard let record = try ShapedRecord.fetchOne(database, key: rowID) else {
            throw StoreFailure(description: "GRDB: no row \(rowID)")
          }
          total &+= record.data.withUnsafeBytes { sum(of: $0) } &+ record.metadata.withUnsafeBytes { sum(of: $0) }
        }
        return total
      }
    }

    func digestOfKeys() throws -> ShapedDigest {
      try pool.read { database in
        var digest = ShapedDigest()
        let request = ShapedRecord.filter(Column("collection") == ShapedRows.collection)
          .select(Column("key"), as: String.self).order(Column("key"))
        let keys = try request.fetchCursor(database)
        while let key = try keys.next() {
          digest.add(key: key)
          digest.endRow()
        }
        return digest
      }
    }

    func digestOfRows() throws -> ShapedDigest {
      try pool.read { database in
        var digest = ShapedDigest()
        let records = try ShapedRecord.filter(Column("collection") == ShapedRows.collection).order(Column("key"))
          .fetchCursor(database)
        while let record = try records.next() {
          digest.add(key: record.key)
          record.data.withUnsafeBytes { digest.add($0) }
          record.metadata.withUnsafeBytes { digest.add($0) }
          digest.endRow()
        }
        return digest
      }
    }

    func digestOfMetadata() throws -> ShapedDigest {
      try pool.read { database in
        var digest = ShapedDigest()
        let rows = try ShapedRecord.filter(Column("collection") == ShapedRows.collection).order(Column("key"))
          .select(Column("key"), Column("metadata")).asRequest(of: GRDB.Row.self).fetchCursor(database)
        while let row = try rows.next() {
          digest.add(key: row[0])
          let metadata: Data = row[1]
          metadata.withUnsafeBytes { digest.add($0) }
          digest.endRow()
        }
        return digest
      }
    }

    func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws {
      try pool.write { database in
        for index in places {
          guard
            var record = try ShapedRecord.fetchOne(
              database, key: ["collection": ShapedRows.collection, "key": rows.keys[index]])
          else {
            throw StoreFailure(description: "GRDB: no \(rows.keys[index])")
          }
          (record.data, record.metadata) = (Data(objects[index]), Data(rows.metadata[index]))
          try record.update(database)
        }
      }
    }

    func close() throws { try pool.close() }
  }

  /// A row that is decoded by hand, column by column: what GRDB's guide to performance advises.
  private struct PlainRecord: FetchableRecord {
    let key: String
    let data: Data
    let metadata: Data

    init(row: GRDB.Row) { (key, data, metadata) = (row[0], row[1], row[2]) }
  }

  /// GRDB with cached statements and records decoded by hand. Safe because the class above is.
  final class GRDBCachedShapedStore: GRDBShapedStore, @unchecked Sendable {
    override class var name: String { "grdb-cached" }

    override func store(_ rows: ShapedRows, _ range: Range<Int>) throws {
      try pool.write { database in
        let statement = try database.cachedStatement(
          sql: "INSERT INTO database2 (collection, key, data, metadata) VALUES (?, ?, ?, ?)")
        for index in range {
          try statement.execute(arguments: [
            ShapedRows.collection, rows.keys[index], Data(rows.objects[index]), Data(rows.metadata[index]),
          ])
        }
      }
    }

    override func sumOfObjects(of keys: [String]) throws -> UInt64 {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT data FROM database2 WHERE collection = ? AND key = ?")
        var total: UInt64 = 0
        for key in keys {
          guard let data = try Data.fetchOne(statement, arguments: [ShapedRows.collection, key]) else {
            throw StoreFailure(description: "GRDB: no \(key)")
          }
          total &+= data.withUnsafeBytes { sum(of: $0) }
        }
        return total
      }
    }

    override func sumOfRows(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT key, data, metadata FROM database2 WHERE rowid = ?")
        var total: UInt64 = 0
        for rowID in rowIDs {
          guard let record = try PlainRecord.fetchOne(statement, arguments: [rowID]) else {
            throw StoreFailure(description: "GRDB: no row \(rowID)")
          }
          total &+= record.data.withUnsafeBytes { sum(of: $0) } &+ record.metadata.withUnsafeBytes { sum(of: $0) }
        }
        return total
      }
    }

    override func digestOfRows() throws -> ShapedDigest {
      try pool.read { database in
        var digest = ShapedDigest()
        let statement = try database.cachedStatement(
          sql: "SELECT key, data, metadata FROM database2 WHERE collection = ? ORDER BY key")
        let records = try PlainRecord.fetchCursor(statement, arguments: [ShapedRows.collection])
        while let record = try records.next() {
          digest.add(key: record.key)
          record.data.withUnsafeBytes { digest.add($0) }
          record.metadata.withUnsafeBytes { digest.add($0) }
          digest.endRow()
        }
        return digest
      }
    }

    override func update(_ rows: ShapedRows, _ places: ArraySlice<Int>, _ objects: [[UInt8]]) throws {
      try pool.write { database in
        let statement = try database.cachedStatement(
          sql: "UPDATE database2 SET data = ?, metadata = ? WHERE collection = ? AND key = ?")
        for index in places {
          try statement.execute(arguments: [
            Data(objects[index]), Data(rows.metadata[index]), ShapedRows.collection, rows.keys[index],
          ])
          try expect(database.changesCount == 1, "GRDB: no \(rows.keys[index])")
        }
      }
    }
  }
#endif
