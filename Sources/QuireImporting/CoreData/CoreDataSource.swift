// The rows of a store of Core Data's or SwiftData's: a collection for each entity, by its name.

import QuireDatabase

/// The rows of a store of Core Data's, as records.
///
/// The key of a row is its number, `Z_PK`, as text. A relationship to one is the key of the other row. A table that
/// joins two entities is a collection of pairs.
package final class CoreDataSource: RowSource {
  private let database: SQLiteDatabase
  private var queue: TableQueue
  /// What is not carried over: what Core Data keeps for itself.
  package private(set) var leftOut: [LeftOut]
  /// How many values were made something else by what their columns are.
  package var coercions: [String: Int] { queue.coercions }

  /// The store at `path`.
  ///
  /// - Parameters:
  ///   - target: where the new database is going to be: the source is copied beside it if it has a write-ahead log.
  ///   - map: what entities, relationships to many and their columns become; keys stay as they are.
  package init(_ path: String, besides target: String, map: ImportMap = ImportMap()) throws {
    let database = try SQLiteDatabase(path, besides: target)
    self.database = database
    let tables = try database.tables()
    guard tables.contains(where: { $0.name == "Z_PRIMARYKEY" && $0.type == "table" }) else {
      throw ImportError(
        """
        \(path) has no table “Z_PRIMARYKEY”, as Core Data's stores have. `quire-import sqlite` reads tables of any kind.
        """)
    }
    let entities = try CoreDataEntities(database)
    let columns = CoreDataColumns(
      database: database, entities: entities, indexes: try database.indexNames(),
      files: ExternalFiles(ofStoreAt: database.file.path))
    var layout = CoreDataLayout(tables, columns, map)
    queue = TableQueue(try layout.readers())
    try map.check(known: layout.names, in: path)
    leftOut = database.notes + layout.leftOut
  }

  package func next() throws -> SourceItem? { try queue.next() }

  package func checkUnchanged() throws { try database.file.checkUnchanged() }
}

/// Which tables of a store are read, and how.
private struct CoreDataLayout {
  private let columns: CoreDataColumns
  private let map: ImportMap
  private var tables: [ByteString: SQLiteDatabase.Table] = [:]
  /// The tables that are read, and those that were told of.
  private var known: Set<ByteString> = []
  private(set) var leftOut: [LeftOut] = []
  /// What is read: entities, and relationships to many.
  private(set) var names: [String] = []

  init(_ tables: [SQLiteDatabase.Table], _ columns: CoreDataColumns, _ map: ImportMap) {
    (self.columns, self.map) = (columns, map)
    for table in tables { self.tables[Self.tableKey(table.name)] = table }
  }

  private var entities: CoreDataEntities { columns.entities }

  /// What SQLite takes for the same in two names of tables: it knows the cases of ASCII's letters alone.
  private static func tableKey(_ name: String) -> ByteString {
    ByteString(String(decoding: name.utf8.map { (0x61...0x7a).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self))
  }

  mutating func readers() throws(ImportError) -> [TableReader] {
    var readers: [TableReader] = []
    for (root, members) in entities.families {
      guard let name = entities.names[root] else { continue }
      if let reader = try family(name, members) { readers.append(reader) }
    }
    for table in tables.values.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    where !known.contains(ByteString(table.name)) {
      if let reader = try pairs(table) {
        readers.append(reader)
      } else {
        leftOut.append(LeftOut(name: table.name, reason: reason(table)))
      }
    }
    return readers
  }

  private func reason(_ table: SQLiteDatabase.Table) -> String {
    switch table.name.uppercased() {
    case "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY": "Core Data keeps its model there"
    case "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING": "Core Data keeps its history there"
    case let name where name.hasPrefix("A"): "Core Data keeps it for itself"
    default: "it is no entity's"
    }
  }

  /// The rows of an entity and of those under it; nil if they stay behind.
  private mutating func family(_ name: String, _ members: Set<Int64>) throws(ImportError) -> TableReader? {
    guard let table = tables[Self.tableKey("Z\(name.uppercased())")], table.type == "table" else {
      // What Core Data has for itself is called otherwise, and told of with the tables.
      if tables[Self.tableKey("A\(name.uppercased())")] == nil {
        leftOut.append(LeftOut(name: "entity “\(name)”", reason: "there is no table “Z\(name.uppercased())”"))
      }
      return nil
    }
    guard known.insert(ByteString(table.name)).inserted else {
      // Core Data has a table of another name for its entity, and the app's is called alike.
      if tables[Self.tableKey("A\(name.uppercased())")] == nil {
        leftOut.append(LeftOut(name: "entity “\(name)”", reason: "the table “\(table.name)” is another entity's"))
      }
      return nil
    }
    let all = try storedColumns(of: table.name)
    func place(_ name: String) throws(ImportError) -> Int {
      if let place = all.firstIndex(where: { $0.name == name }) { return place }
      throw ImportError("The table “\(table.name)” has no column “\(name)”, as Core Data's have: it is another's.")
    }
    let (key, entity) = (try place("Z_PK"), try place("Z_ENT"))
    let made = try columns.entity(table.name, all, &leftOut)
    let names = entities.names
    var mapped: [Int64: TablePlan] = [:]
    for number in members.sorted() {
      guard let name = names[number] else { continue }
      var plan = TablePlan(name: name, collection: name, columns: made, keyColumns: [key])
      if try follow(&plan) { mapped[number] = plan }
    }
    return try reader(
      table, all,
      .byNumber(column: entity) { [mapped] number in
        guard members.contains(number), let name = names[number] else { return nil }
        return mapped[number] ?? TablePlan(name: name, collection: name, columns: made, keyColumns: [key])
      })
  }

  /// The columns of a table but those that are computed, which are told.
  private mutating func storedColumns(of table: String) throws(ImportError) -> [SQLiteDatabase.Column] {
    let all = try columns.database.columns(of: table)
    for column in all where column.isComputed { leftOut.append(LeftOut(computed: column.name, of: table)) }
    return all.filter { !$0.isComputed }
  }

  /// The pairs of a table such as `Z_2TAGS`; nil for other tables.
  private mutating func pairs(_ table: SQLiteDatabase.Table) throws(ImportError) -> TableReader? {
    let rest = table.name.dropFirst(2)
    guard table.type == "table", table.name.hasPrefix("Z_"), rest.first?.isASCIIDigit == true else { return nil }
    let before = leftOut
    let all = try storedColumns(of: table.name)
    let keys = all.indices.filter { CoreDataColumns.order(all[$0].name) == nil }
    guard keys.count == 2 else {
      // The table is told as a whole.
      leftOut = before
      return nil
    }
    let relationship = String(rest).withoutNumber
    let owner = Int64(rest.prefix { $0.isASCIIDigit }).flatMap { entities.names[$0] }
    let name = owner.map { "\($0).\(relationship)" } ?? table.name
    var plan = TablePlan(name: name, collection: name, columns: columns.pairs(all), keyColumns: keys)
    try follow(&plan)
    return try reader(table, all, .always(plan))
  }

  /// Changes what the map says of a plan. Returns whether it says something.
  @discardableResult
  private mutating func follow(_ plan: inout TablePlan) throws(ImportError) -> Bool {
    names.append(plan.name)
    guard let changes = map.table(plan.name) else { return false }
    guard changes.key.isEmpty else {
      throw ImportError(
        "The map names a key of “\(plan.name)”: relationships of Core Data's lead to numbers, which stay keys."
      )
    }
    try plan.follow(changes)
    leftOut += map.leftOut(plan.name)
    return true
  }

  private func reader(
    _ table: SQLiteDatabase.Table, _ all: [SQLiteDatabase.Column], _ choice: TableReader.Choice
  ) throws(ImportError) -> TableReader {
    let selected = all.map { SQLiteDatabase.quoted($0.name) }.joined(separator: ", ")
    let statement = try columns.database.statement("SELECT \(selected) FROM main.\(SQLiteDatabase.quoted(table.name))")
    return TableReader(table.name, statement, columnCount: all.count, choice)
  }
}
