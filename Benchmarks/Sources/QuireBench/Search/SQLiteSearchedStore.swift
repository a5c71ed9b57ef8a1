// Texts in SQLite with FTS5, by its C interface.

#if PEER_SQLITE
  internal import CSQLite
  internal import Foundation

  /// Texts in a table, and an FTS5 table without contents: the index alone, as small and fast as FTS5 has it. The app
  /// hands the old text back where one is changed.
  class SQLiteSearchedStore: SearchedStore {
    class var name: String { "sqlite" }
    class var findsTheSame: Bool { true }
    /// How FTS5 cuts words.
    class var tokenizer: String { "unicode61" }
    private let connection: SQLiteConnection
    private let path: String
    private var isIndexed = false

    required init(_ folder: String, cacheSize: Int) throws {
      path = "\(folder)/sqlite"
      connection = try SQLiteConnection(path: path, options: StoreOptions(cacheSize: cacheSize))
      try connection.run("CREATE TABLE texts (id INTEGER PRIMARY KEY, name TEXT, summary TEXT, body TEXT)")
    }

    private static let replace = "INSERT OR REPLACE INTO texts (id, name, summary, body) VALUES (?, ?, ?, ?)"
    private static let insert = "INSERT INTO found (rowid, name, summary, body) VALUES (?, ?, ?, ?)"
    private static let delete =
      "INSERT INTO found (rowid, name, summary, body, found) VALUES (?, ?, ?, ?, 'delete')"

    func store(_ changes: ArraySlice<TextChange>) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        for change in changes {
          try run(Self.replace, change.number, change.text)
          guard isIndexed else { continue }
          if let old = change.old { try run(Self.delete, change.number, old) }
          try run(Self.insert, change.number, change.text)
        }
      }
    }

    /// Runs a statement that takes a text.
    private func run(_ sql: String, _ number: Int, _ text: SearchText) throws {
      let statement = try connection.statement(sql)
      defer { sqlite3_reset(statement) }
      sqlite3_bind_int64(statement, 1, Int64(number + 1))
      try bind(text.name, statement, 2)
      try bind(text.summary, statement, 3)
      try bind(text.body, statement, 4)
      let status = sqlite3_step(statement)
      if status != SQLITE_DONE { try connection.check(status) }
    }

    /// SQLite copies the bytes: their place in memory is good during this call only.
    private func bind(_ text: String, _ statement: OpaquePointer, _ place: CInt) throws {
      var text = text
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      try connection.check(
        text.withUTF8 { bytes in
          bytes.withMemoryRebound(to: CChar.self) {
            sqlite3_bind_text(statement, place, $0.baseAddress, CInt($0.count), transient)
          }
        })
    }

    func makeFullText() throws {
      try connection.run(
        "CREATE VIRTUAL TABLE found USING fts5 (name, summary, body, content = '', tokenize = '\(Self.tokenizer)')")
      try connection.run("INSERT INTO found (rowid, name, summary, body) SELECT id, name, summary, body FROM texts")
      isIndexed = true
    }

    func dropFullText() throws {
      try connection.run("DROP TABLE found")
      isIndexed = false
    }

    /// Merges all that was written into one piece.
    func optimize() throws { try connection.run("INSERT INTO found (found) VALUES ('optimize')") }

    /// Binds a question, steps through all rows, and hands each to `body`.
    private func ask(_ sql: String, _ question: String, _ body: (OpaquePointer) -> Void) throws {
      let statement = try connection.statement(sql)
      defer { sqlite3_reset(statement) }
      try bind(question, statement, 1)
      while true {
        let status = sqlite3_step(statement)
        if status == SQLITE_DONE { return }
        guard status == SQLITE_ROW else { return try connection.check(status) }
        body(statement)
      }
    }

    func count(_ question: String) throws -> Int {
      var count = 0
      try ask("SELECT count(*) FROM found WHERE found MATCH ?", question) { count = Int(sqlite3_column_int64($0, 0)) }
      return count
    }

    func numbers(_ question: String) throws -> [Int] {
      var numbers: [Int] = []
      try ask("SELECT rowid FROM found WHERE found MATCH ?", question) {
        numbers.append(Int(sqlite3_column_int64($0, 0)) - 1)
      }
      return numbers
    }

    /// Its `rank` is negative.
    func best(_ question: String, limit: Int) throws -> [(number: Int, score: Double)] {
      var best: [(number: Int, score: Double)] = []
      try ask("SELECT rowid, rank FROM found WHERE found MATCH ? ORDER BY rank LIMIT \(limit)", question) {
        best.append((Int(sqlite3_column_int64($0, 0)) - 1, -sqlite3_column_double($0, 1)))
      }
      return best
    }

    func fileByteCount() throws -> Int {
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      try connection.run("VACUUM")
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    func logByteCount() -> Int { connection.logByteCount }

    func close() throws { try connection.close() }
  }

  /// The same with words stemmed.
  final class PorterSearchedStore: SQLiteSearchedStore {
    override class var name: String { "sqlite-porter" }
    override class var findsTheSame: Bool { false }
    override class var tokenizer: String { "porter unicode61" }
  }
#endif
