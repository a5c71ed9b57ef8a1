// A parent and its children: one removal takes them all along.

internal import Foundation
internal import QuireDatabase
internal import QuireRelationships

#if PEER_SQLITE
  internal import CSQLite
#endif

/// What has a parent.
struct Child: SynthesizedCodable, Sendable {
  var name: String
  /// The key of its parent.
  var parent: String
}

/// A store in which children go with their parent.
protocol FamilyStore: AnyObject {
  static var name: String { get }
  /// Opens the store in an existing folder; commits wait for the system only.
  init(_ folder: String) throws
  /// Stores a parent and `count` children in one transaction.
  func store(parent: Int, children count: Int) throws
  /// Removes a parent; its children go with it.
  func remove(parent: Int) throws
  /// How many parents and children there are.
  func counts() throws -> [Int]
  func close() throws
}

/// A relationship whose rule has children removed.
final class QuireFamilyStore: FamilyStore {
  static var name: String { "quire" }
  private let db: Database
  private static let parents = RowCollection<String, NoMetadata>("parents", compression: .none)
  private static let children = RowCollection<Child, NoMetadata>("children", compression: .none)
  private static let relationship = Relationship("parent", over: children) { child in
    [Edge("parent", to: parents, key: child.parent, rules: .deleteSourceIfDestinationDeleted)]
  }

  init(_ folder: String) throws {
    db = try Database(at: "\(folder)/family.quire", options: Database.Options(durability: .relaxed))
    try db.register(Self.relationship)
  }

  func store(parent: Int, children count: Int) throws {
    try db.write { tx throws in
      try tx[Self.parents].set("parent \(parent)", for: "p\(parent)")
      for index in 0..<count {
        try tx[Self.children].set(Child(name: "child \(index)", parent: "p\(parent)"), for: "c\(parent)-\(index)")
      }
    }
  }

  func remove(parent: Int) throws { _ = try db.write { tx throws in try tx[Self.parents].remove("p\(parent)") } }

  func counts() throws -> [Int] { try db.read { tx in [tx[Self.parents].count, tx[Self.children].count] } }

  func close() throws { try db.close() }
}

#if PEER_SQLITE
  /// A foreign key with `ON DELETE CASCADE`, and the index on it without which that would search the whole table.
  final class SQLiteFamilyStore: FamilyStore {
    static var name: String { "sqlite" }
    private let connection: SQLiteConnection

    /// What GRDB has, too.
    static let schema = """
      CREATE TABLE parents (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
      CREATE TABLE children (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        parent TEXT NOT NULL REFERENCES parents(key) ON DELETE CASCADE);
      CREATE INDEX childrenOfParent ON children (parent);
      """

    init(_ folder: String) throws {
      var options = StoreOptions(cacheSize: 512 << 20)
      options.durability = .relaxed
      connection = try SQLiteConnection(path: "\(folder)/family.sqlite", options: options)
      try connection.run("PRAGMA foreign_keys = ON")
      try connection.run(Self.schema)
    }

    func store(parent: Int, children count: Int) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        try connection.run("INSERT INTO parents (key, name) VALUES ('p\(parent)', 'parent \(parent)')")
        let statement = try connection.statement("INSERT INTO children (key, name, parent) VALUES (?, ?, ?)")
        for index in 0..<count {
          for (place, text) in ["c\(parent)-\(index)", "child \(index)", "p\(parent)"].enumerated() {
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            sqlite3_bind_text(statement, CInt(place + 1), text, -1, transient)
          }
          try connection.finish(statement)
        }
      }
    }

    func remove(parent: Int) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        try connection.run("DELETE FROM parents WHERE key = 'p\(parent)'")
      }
    }

    func counts() throws -> [Int] {
      try ["parents", "children"].map { try connection.integer("SELECT count(*) FROM \($0)") }
    }

    func close() throws { try connection.close() }
  }
#endif

extension ObjectsRun {
  func measureCascades() throws {
    var stores: [any FamilyStore.Type] = [QuireFamilyStore.self]
    #if PEER_SQLITE
      stores.append(SQLiteFamilyStore.self)
    #endif
    #if PEER_GRDB
      stores.append(GRDBFamilyStore.self)
    #endif
    for run in 0..<runs {
      for type in turns(stores, run, named: { $0.name }) {
        try withFolder { folder in
          let store = try type.init(folder)
          try store.store(parent: 1, children: 10)
          try settle(needsMemory: true)
          try time(onWall: "store children", "µs/child", type.name, count * 1000) {
            try store.store(parent: 2, children: count)
          }
          try expect(try store.counts() == [2, count + 10], "\(type.name) has not stored all children")
          try settle()
          try time(onWall: "remove a parent with its children", "µs/child", type.name, count * 1000) {
            try store.remove(parent: 2)
          }
          try expect(try store.counts() == [1, 10], "\(type.name) has not removed the children of one parent")
          try store.close()
        }
      }
    }
  }
}
