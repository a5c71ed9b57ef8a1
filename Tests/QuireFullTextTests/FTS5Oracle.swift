// SQLite's FTS5 as an oracle: the same rows and the same questions.

import CSQLite3
import QuireDatabase
import QuireFullText
import QuireTesting
import QuireText

/// A table of FTS5's in memory.
final class FTS5Oracle {
  let columns: [String]
  private let handle: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  /// What SQLite says of a statement that fails.
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// - Parameters:
  ///   - tokenizer: the value of the option `tokenize`.
  ///   - own: the tokenizer that is meant by the name of the bridge.
  ///   - detail: the value of the option `detail`.
  init(
    columns: [String], tokenizer: String = "unicode61", own: (any Tokenizer)? = nil, detail: String = "full"
  ) throws {
    self.columns = columns
    var handle: OpaquePointer?
    let status = sqlite3_open(":memory:", &handle)
    self.handle = handle
    guard status == SQLITE_OK else { throw failure() }
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    if let own { try FTS5Bridge.register(own, with: handle) }
    try execute("create virtual table oracle using fts5(\(names), tokenize = \"\(tokenizer)\", detail = \(detail))")
    try execute("insert into oracle(oracle, rank) values ('rank', 'bm25()')")
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(handle)
  }

  func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
  }

  // MARK: Changing

  /// Inserts a row, or replaces the one with this number.
  func set(_ row: RowID, _ texts: [String]) throws {
    try remove(row)
    try insert(row, texts)
  }

  /// Inserts a row whose number is free.
  func insert(_ row: RowID, _ texts: [String]) throws {
    let places = (0...columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let statement = try prepared("insert into oracle(rowid, \(names)) values (\(places))")
    sqlite3_bind_int64(statement, 1, row.rawValue)
    for (index, text) in texts.enumerated() { bind(text, Int32(index + 2), statement) }
    try finish(statement)
  }

  func remove(_ row: RowID) throws {
    let statement = try prepared("delete from oracle where rowid = ?1")
    sqlite3_bind_int64(statement, 1, row.rawValue)
    try finish(statement)
  }

  func removeAll() throws { try execute("delete from oracle") }

  // MARK: Asking

  /// The rows that a query finds, ascending.
  func rowIDs(match query: String) throws -> [RowID] {
    let statement = try prepared("select rowid from oracle where oracle match ?1 order by rowid")
    bind(query, 1, statement)
    return try rows(of: statement) { RowID(sqlite3_column_int64($0, 0)) }
  }

  /// The rows that two queries find, each in a column or in all, ascending.
  func rowIDs(match query: String, in column: String?, _ other: String, in otherColumn: String?) throws -> [RowID] {
    let names = [column, otherColumn].map { $0.map { "\"\($0)\"" } ?? "oracle" }
    let statement = try prepared(
      "select rowid from oracle where \(names[0]) match ?1 and \(names[1]) match ?2 order by rowid")
    bind(query, 1, statement)
    bind(other, 2, statement)
    return try rows(of: statement) { RowID(sqlite3_column_int64($0, 0)) }
  }

  /// The rows that a query finds with what bm25() says of them, turned so that the best is the highest; the best
  /// first, equal ones by row.
  func ranked(match query: String, weights: [Double] = [], limit: Int = -1) throws -> [(row: RowID, score: Double)] {
    let list = weights.map { ", \($0)" }.joined()
    let statement = try prepared(
      """
      select rowid, -bm25(oracle\(list)) as score from oracle where oracle match ?1
      order by score desc, rowid limit ?2
      """)
    bind(query, 1, statement)
    sqlite3_bind_int64(statement, 2, Int64(limit))
    return try rows(of: statement) { (RowID(sqlite3_column_int64($0, 0)), sqlite3_column_double($0, 1)) }
  }

  /// All tokens, in the order of their bytes, with the number of rows that have them.
  func terms() throws -> [(text: String, rowCount: Int)] {
    try execute("create virtual table if not exists temp.terms using fts5vocab(main, oracle, row)")
    let statement = try prepared("select term, doc from terms order by term")
    return try rows(of: statement) {
      (sqlite3_column_text($0, 0).map { String(cString: $0) } ?? "", Int(sqlite3_column_int64($0, 1)))
    }
  }

  /// The tokens of all rows, in the order of the rows and of the tokens.
  func tokens() throws -> [String] {
    try execute("create virtual table if not exists temp.places using fts5vocab(main, oracle, instance)")
    let statement = try prepared("select term from places order by doc, col, offset")
    return try rows(of: statement) { sqlite3_column_text($0, 0).map { String(cString: $0) } ?? "" }
  }

  /// What SQLite says is wrong with a query; nil if it is right.
  func complaint(about query: String) -> String? {
    do {
      _ = try rowIDs(match: query)
      return nil
    } catch { return "\(error)" }
  }

  // MARK: Statements

  private func failure() -> Failure { Failure(description: String(cString: sqlite3_errmsg(handle))) }

  private func prepared(_ sql: String) throws -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var new: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &new, nil) == SQLITE_OK, let statement = new else { throw failure() }
    statements[sql] = statement
    return statement
  }

  private func bind(_ text: String, _ number: Int32, _ statement: OpaquePointer) {
    // -1 has SQLite keep a copy.
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(statement, number, text, Int32(text.utf8.count), copied)
  }

  private func finish(_ statement: OpaquePointer) throws { _ = try rows(of: statement) { _ in () } }

  private func rows<Row>(of statement: OpaquePointer, _ row: (OpaquePointer) -> Row) throws -> [Row] {
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    var rows: [Row] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rows.append(row(statement))
      case SQLITE_DONE: return rows
      default: throw failure()
      }
    }
  }
}
