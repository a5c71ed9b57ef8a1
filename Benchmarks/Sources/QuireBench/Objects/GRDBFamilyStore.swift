// A parent and its children in GRDB.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// The same foreign key, by GRDB's records.
  final class GRDBFamilyStore: FamilyStore {
    static var name: String { "grdb" }
    private let pool: DatabasePool

    private struct ParentRecord: Codable, FetchableRecord, PersistableRecord {
      static let databaseTableName = "parents"
      var key: String
      var name: String
    }
    private struct ChildRecord: Codable, FetchableRecord, PersistableRecord {
      static let databaseTableName = "children"
      var key: String
      var name: String
      var parent: String
    }

    init(_ folder: String) throws {
      pool = try DatabasePool(path: "\(folder)/family.sqlite")
      try pool.write { try $0.execute(sql: SQLiteFamilyStore.schema) }
    }

    func store(parent: Int, children count: Int) throws {
      try pool.write { database in
        try ParentRecord(key: "p\(parent)", name: "parent \(parent)").insert(database)
        for index in 0..<count {
          try ChildRecord(key: "c\(parent)-\(index)", name: "child \(index)", parent: "p\(parent)").insert(database)
        }
      }
    }

    func remove(parent: Int) throws {
      _ = try pool.write { try ParentRecord.deleteOne($0, key: ["key": "p\(parent)"]) }
    }

    func counts() throws -> [Int] {
      try pool.read { [try ParentRecord.fetchCount($0), try ChildRecord.fetchCount($0)] }
    }

    func close() throws { try pool.close() }
  }
#endif
