// What FTS5's tokenizers make of texts.

import CSQLite3
import Testing

/// A database in memory that is asked what FTS5 makes of texts.
final class SQLiteTokenizer {
  private var database: OpaquePointer?

  /// - Parameter tokenizer: the value of the option `tokenize`, without quotes in it.
  init(_ tokenizer: String) throws {
    try #require(sqlite3_open(":memory:", &database) == SQLITE_OK)
    try run("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = \"\(tokenizer)\")")
    try run("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, instance)")
  }

  deinit { sqlite3_close_v2(database) }

  private func run(_ statement: String) throws {
    try #require(sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK, "\(statement): \(message)")
  }

  private var message: String { String(cString: sqlite3_errmsg(database)) }

  private func withStatement(_ text: String, _ body: (OpaquePointer?) throws -> Void) throws {
    var statement: OpaquePointer?
    try #require(sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK, "\(message)")
    defer { sqlite3_finalize(statement) }
    try body(statement)
  }

  /// The terms of each text, in order.
  func terms(_ texts: [[UInt8]]) throws -> [[[UInt8]]] {
    try run("DELETE FROM texts")
    try run("BEGIN")
    try withStatement("INSERT INTO texts(rowid, text) VALUES (?, ?)") { statement in
      for (index, text) in texts.enumerated() {
        sqlite3_bind_int64(statement, 1, Int64(index))
        // What is bound stays where it is until the step has been made.
        try text.withUnsafeBytes { buffer in
          let bytes = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
          sqlite3_bind_text(statement, 2, bytes, Int32(buffer.count), nil)
          try #require(sqlite3_step(statement) == SQLITE_DONE, "\(message)")
        }
        sqlite3_reset(statement)
      }
    }
    try run("COMMIT")
    var terms = [[[UInt8]]](repeating: [], count: texts.count)
    try withStatement("SELECT doc, term FROM tokens ORDER BY doc, offset") { statement in
      while sqlite3_step(statement) == SQLITE_ROW {
        let row = Int(sqlite3_column_int64(statement, 0))
        let count = Int(sqlite3_column_bytes(statement, 1))
        let bytes = UnsafeRawBufferPointer(start: sqlite3_column_text(statement, 1), count: count)
        terms[row].append([UInt8](bytes))
      }
    }
    return terms
  }
}
