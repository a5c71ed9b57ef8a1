// What a file of SQLite's says that it has: tables, their columns, and indexes.

import QuireDatabase

extension SQLiteDatabase {
  /// A table, a view or a virtual table, or a part of one.
  struct Table {
    let name: String
    /// `table`, `view`, `virtual` or `shadow`.
    let type: String
    let hasRowID: Bool
  }

  /// A column of a table.
  struct Column {
    let name: String
    /// The type that it declares, which SQLite keeps nobody to.
    let declared: String
    /// Whether it is computed whenever it is read.
    let isComputed: Bool
    /// Its place in the primary key, from 1; 0 if it is in none.
    let keyOrder: Int64
  }

  /// All tables but those that SQLite keeps for itself.
  func tables() throws(ImportError) -> [Table] {
    // The statement: a table of the file may be called as the function is.
    let list = try statement("PRAGMA main.table_list")
    var tables: [Table] = []
    while try list.step("table list") {
      guard let name = list.text(1), let type = list.text(2) else {
        throw ImportError("\(path) has a table whose name is no UTF-8.")
      }
      if name.hasPrefix("sqlite_") { continue }
      tables.append(Table(name: name, type: type, hasRowID: list.integer(4) == 0))
    }
    return tables
  }

  /// The columns of a table.
  func columns(of table: String) throws(ImportError) -> [Column] {
    let list = try statement("PRAGMA main.table_xinfo(\(Self.quoted(table)))")
    var columns: [Column] = []
    while try list.step(table) {
      guard let name = list.text(1), let declared = list.text(2) else {
        throw ImportError("The table “\(table)” has a column whose name is no UTF-8.")
      }
      columns.append(
        Column(name: name, declared: declared, isComputed: list.integer(6) == 2, keyOrder: list.integer(5)))
    }
    return columns
  }

  /// The names of all indexes that are UTF-8.
  func indexNames() throws(ImportError) -> Set<ByteString> {
    let list = try statement("SELECT name FROM main.sqlite_schema WHERE type = 'index'")
    var names: Set<ByteString> = []
    while try list.step("index list") { if let name = list.text(0) { names.insert(ByteString(name)) } }
    return names
  }

  /// Whether a statement that gives one number gives another one than 0.
  func isTrue(_ text: String, _ place: String) throws(ImportError) -> Bool {
    let statement = try statement(text)
    return try statement.step(place) && statement.integer(0) != 0
  }
}
