// What SQLite's FTS5 shows of rows that it finds.

import CSQLite3
import QuireFullText
import QuireText

/// A table of FTS5's in memory that is asked for highlights and snippets.
final class SnippetOracle {
  struct Failure: Error, CustomStringConvertible { let description: String }

  private let columnCount: Int
  private let handle: OpaquePointer?

  /// - Parameters:
  ///   - tokenizer: the value of the option `tokenize`.
  ///   - own: the tokenizer that is meant by the name of the bridge.
  init(columns: [String], tokenizer: String = "unicode61", own: (any Tokenizer)? = nil) throws {
    columnCount = columns.count
    var handle: OpaquePointer?
    let status = sqlite3_open(":memory:", &handle)
    self.handle = handle
    guard status == SQLITE_OK else { throw failure }
    if let own { try FTS5Bridge.register(own, with: handle) }
    let sql = "create virtual table t using fts5(\(columns.joined(separator: ", ")), tokenize = \"\(tokenizer)\")"
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  deinit { sqlite3_close(handle) }

  private var failure: Failure { Failure(description: String(cString: sqlite3_errmsg(handle))) }

  /// Adds a row; rows have the numbers from 1 on.
  func add(_ texts: [String]) throws {
    let places = texts.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    _ = try rows("insert into t values (\(places))", texts)
  }

  /// What is found: the number of the row, what `highlight()` gives for each column, and what `snippet()` gives for all
  /// columns and then for each.
  func shown(_ query: String, tokens: Int) throws -> [(row: Int, highlights: [String], snippets: [String])] {
    let highlights = (0..<columnCount).map { "highlight(t, \($0), '<b>', '</b>')" }
    let snippets = (-1..<columnCount).map { "snippet(t, \($0), '<b>', '</b>', '…', \(tokens))" }
    let list = (highlights + snippets).joined(separator: ", ")
    return try rows("select rowid, \(list) from t where t match ?1 order by rowid", [query]).map { values in
      (Int(values[0]) ?? 0, Array(values[1...columnCount]), Array(values[(columnCount + 1)...]))
    }
  }

  private func rows(_ sql: String, _ values: [String]) throws -> [[String]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure }
    defer { sqlite3_finalize(statement) }
    for (index, value) in values.enumerated() {
      // -1 has SQLite keep a copy.
      let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      sqlite3_bind_text(statement, Int32(index + 1), value, Int32(value.utf8.count), copied)
    }
    var rows: [[String]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
          })
      case SQLITE_DONE: return rows
      default: throw failure
      }
    }
  }
}
