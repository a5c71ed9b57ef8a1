// The tables of a file of SQLite's: a collection each, of records by the names of columns.

import QuireDatabase

/// The rows of all tables, or of some, as records.
///
/// The key is the primary key as text; the parts of one of several columns are joined by `|`, with a backslash in front
/// of a `|` or a backslash in them. A table without one has the rowid. A column that is NULL is no field.
package final class TableSource: RowSource {
  private let database: SQLiteDatabase
  private var queue: TableQueue
  /// What is not carried over: views, virtual tables, and what belongs to these.
  package private(set) var leftOut: [LeftOut] = []
  /// How many values were made something else by the declared types of their columns.
  package var coercions: [String: Int] { queue.coercions }

  /// The tables of the file at `path`.
  ///
  /// - Parameters:
  ///   - target: where the new database is going to be: the source is copied beside it if it has a write-ahead log.
  ///   - only: the names of the tables that are read; all if there are none.
  ///   - map: what tables and columns become.
  package init(
    _ path: String, besides target: String, only: [String] = [], map: ImportMap = ImportMap()
  ) throws {
    database = try SQLiteDatabase(path, besides: target)
    leftOut = database.notes
    let wanted = Set(only.map { ByteString($0) })
    var missing = wanted
    var readers: [(name: String, reader: TableReader)] = []
    var columnsLeftOut: [LeftOut] = []
    let tables = try database.tables()
    try map.check(known: tables.filter { $0.type == "table" }.map(\.name), in: path)
    for table in tables {
      if !(only.isEmpty || wanted.contains(ByteString(table.name))) { continue }
      missing.remove(ByteString(table.name))
      if map.table(table.name)?.isLeftOut == true {
        leftOut += map.leftOut(table.name)
      } else if table.type == "table" {
        readers.append((table.name, try Self.reader(table, in: database, map, &columnsLeftOut)))
      } else {
        let what = table.type == "shadow" ? "part of a virtual table" : table.type
        leftOut.append(LeftOut(name: table.name, reason: "it is a \(what)"))
      }
    }
    if let name = missing.first { throw ImportError("\(path) has no table “\(name.string)”.") }
    readers.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    queue = TableQueue(readers.map(\.reader))
    leftOut += columnsLeftOut
  }

  package func next() throws -> SourceItem? { try queue.next() }

  package func checkUnchanged() throws { try database.file.checkUnchanged() }

  // MARK: Tables

  /// What a statement of SQLite's has room for.
  private static let mostColumns = 2000

  private static func reader(
    _ table: SQLiteDatabase.Table, in database: SQLiteDatabase, _ map: ImportMap, _ leftOut: inout [LeftOut]
  ) throws(ImportError) -> TableReader {
    let all = try database.columns(of: table.name)
    for column in all where column.isComputed {
      leftOut.append(LeftOut(computed: column.name, of: table.name))
    }
    let columns = all.filter { !$0.isComputed }
    var plan = TablePlan(name: table.name, collection: table.name, columns: [], keyColumns: [])
    plan.columns = columns.map { column in
      let rule = ColumnHint(declared: column.declared).map { ColumnRule.hint($0) } ?? .stored
      return TablePlan.Column(name: column.name, field: column.name, rule: rule)
    }
    plan.keyColumns = columns.indices.filter { columns[$0].keyOrder > 0 }
      .sorted { columns[$0].keyOrder < columns[$1].keyOrder }
    var selected = columns.map { SQLiteDatabase.quoted($0.name) }
    if plan.keyColumns.isEmpty {
      let rowID = try rowID(table, columns.map { $0.name.lowercased() })
      plan.keyColumns = [columns.count]
      plan.columns.append(TablePlan.Column(name: rowID, field: nil, rule: .stored))
      selected.append(rowID)
    }
    if let changes = map.table(table.name) { try plan.follow(changes) }
    leftOut += map.leftOut(table.name)
    let statement = try database.statement(
      "SELECT \(selected.joined(separator: ", ")) FROM main.\(SQLiteDatabase.quoted(table.name))")
    return TableReader(table.name, statement, columnCount: selected.count, .always(plan))
  }

  /// The name under which a table without a primary key has its rowid.
  private static func rowID(_ table: SQLiteDatabase.Table, _ taken: [String]) throws(ImportError) -> String {
    guard table.hasRowID, let rowID = ["rowid", "_rowid_", "oid"].first(where: { !taken.contains($0) }) else {
      throw ImportError("The table “\(table.name)” has no primary key, and its columns hide the rowid. Leave it out.")
    }
    guard taken.count < mostColumns else {
      throw ImportError(
        """
        The table “\(table.name)” has \(taken.count) columns and no primary key, and a statement has room for one less \
        with the rowid. Name the other tables by --only.
        """)
    }
    return rowID
  }
}
