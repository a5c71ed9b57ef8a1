// The tables of a file of SQLite's: a collection each, of records by the names of columns.

import Foundation
import QuireDatabase

/// The rows of all tables, or of some, as records.
///
/// The key is the primary key as text; the parts of one of several columns are joined by `|`, with a backslash in front
/// of a `|` or a backslash in them. A table without one has the rowid. A column that is NULL is no field.
package final class TableSource: RowSource {
  private let database: SQLiteDatabase
  private var tables: [TableReader] = []
  /// What is not carried over: views, virtual tables, and what belongs to these.
  package private(set) var leftOut: [LeftOut] = []
  /// How many values were made something else by the declared types of their columns.
  package private(set) var coercions: [String: Int] = [:]

  /// The tables of the file at `path`.
  ///
  /// - Parameters:
  ///   - target: where the new database is going to be: the source is copied beside it if it has a write-ahead log.
  ///   - only: the names of the tables that are read; all if there are none.
  package init(_ path: String, besides target: String, only: [String] = []) throws {
    database = try SQLiteDatabase(path, besides: target)
    leftOut = database.notes
    // The statement: a table of the file may be called as the function is.
    let list = try database.statement("PRAGMA main.table_list")
    let wanted = Set(only.map { ByteString($0) })
    var missing = wanted
    while try list.step("table list") {
      guard let name = list.text(1), let type = list.text(2) else {
        throw ImportError("\(path) has a table whose name is no UTF-8.")
      }
      if name.hasPrefix("sqlite_") || !(only.isEmpty || wanted.contains(ByteString(name))) { continue }
      missing.remove(ByteString(name))
      if type == "table" {
        tables.append(try TableReader(name, hasRowID: list.integer(4) == 0, in: database))
      } else {
        leftOut.append(LeftOut(name: name, reason: "it is a \(type == "shadow" ? "part of a virtual table" : type)"))
      }
    }
    if let name = missing.first { throw ImportError("\(path) has no table “\(name.string)”.") }
    tables.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for table in tables {
      leftOut += table.computed.map {
        LeftOut(name: "\(table.name).\($0)", reason: "it is computed from other columns")
      }
    }
    tables.reverse()
  }

  package func next() throws -> SourceItem? {
    while let table = tables.last {
      if let item = try table.next(&coercions) { return item }
      tables.removeLast()
    }
    return nil
  }

  package func checkUnchanged() throws { try database.file.checkUnchanged() }
}

/// One table that is read.
private final class TableReader {
  let name: String
  /// Columns that are computed whenever they are read.
  private(set) var computed: [String] = []
  private let statement: SQLiteStatement
  private var columns: [(name: String, hint: ColumnHint)] = []
  /// Where the parts of the key stand in a row.
  private var keyColumns: [Int] = []
  private var count = 0

  /// What a statement of SQLite's has room for.
  private static let mostColumns = 2000

  init(_ name: String, hasRowID: Bool, in database: SQLiteDatabase) throws(ImportError) {
    self.name = name
    let list = try database.statement("PRAGMA main.table_xinfo(\(SQLiteDatabase.quoted(name)))")
    var parts: [(order: Int64, column: Int)] = []
    while try list.step(name) {
      guard let column = list.text(1), let declared = list.text(2) else {
        throw ImportError("The table “\(name)” has a column whose name is no UTF-8.")
      }
      if list.integer(6) == 2 {
        computed.append(column)
        continue
      }
      if list.integer(5) > 0 { parts.append((list.integer(5), columns.count)) }
      columns.append((column, ColumnHint(declared: declared)))
    }
    keyColumns = parts.sorted { $0.order < $1.order }.map(\.column)
    var selected = columns.map { SQLiteDatabase.quoted($0.name) }
    if parts.isEmpty {
      let taken = columns.map { $0.name.lowercased() }
      guard hasRowID, let rowID = ["rowid", "_rowid_", "oid"].first(where: { !taken.contains($0) }) else {
        throw ImportError("The table “\(name)” has no primary key, and its columns hide the rowid. Leave it out.")
      }
      guard columns.count < Self.mostColumns else {
        throw ImportError(
          """
          The table “\(name)” has \(columns.count) columns and no primary key, and a statement has room for one less \
          with the rowid. Name the other tables by --only.
          """)
      }
      keyColumns = [columns.count]
      selected.append(rowID)
    }
    statement = try database.statement(
      "SELECT \(selected.joined(separator: ", ")) FROM main.\(SQLiteDatabase.quoted(name))")
  }

  func next(_ coercions: inout [String: Int]) throws -> SourceItem? {
    guard try statement.step("\(name), behind \(count) rows") else { return nil }
    count += 1
    var fields: [RowValue.Field] = []
    fields.reserveCapacity(columns.count)
    var byteCount = 0
    for (index, column) in columns.enumerated() {
      guard var value = statement.value(index) else { return bad("The text in “\(column.name)” is no UTF-8.") }
      byteCount += 8
      switch value {
      case .null: continue
      case .text(let text): byteCount += text.utf8.count
      case .bytes(let bytes): byteCount += bytes.count
      default: break
      }
      if let coerced = column.hint.coerced(value) {
        value = coerced.value
        coercions[coerced.what, default: 0] += 1
      }
      fields.append(RowValue.Field(column.name, value))
    }
    guard let key = key() else { return bad("Its primary key has a NULL, or a text that is no UTF-8.") }
    let row = SourceRow(collection: name, key: key, content: .record(.record(fields)), byteCount: byteCount)
    return .row(row, table: name, place: key)
  }

  private func bad(_ reason: String) -> SourceItem {
    .bad(BadRow(table: name, row: key() ?? "number \(count)", reason: reason))
  }

  private func key() -> String? {
    var parts: [String] = []
    for column in keyColumns {
      guard let part = part(column) else { return nil }
      parts.append(part)
    }
    return SourceRow.key(joining: parts)
  }

  private func part(_ column: Int) -> String? {
    switch statement.value(column) {
    case .integer(let number): return String(number)
    case .double(let number): return "\(number)"
    case .text(let text): return text
    case .bytes(let bytes):
      if column < columns.count, case .uuid(let uuid)? = columns[column].hint.coerced(.bytes(bytes))?.value {
        return uuid.uuidString
      }
      return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    default: return nil
    }
  }
}
