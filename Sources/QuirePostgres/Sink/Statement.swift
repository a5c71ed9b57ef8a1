// Every statement that PostgreSQL can be sent. All are of a subset that engines with its protocol take as well: tables
// of bigint, text, bytea, jsonb and what apps declare; INSERT … ON CONFLICT, DELETE … = ANY, UPDATE … WHERE, COPY.

#if Postgres
  /// The statements.
  enum Statement {
    // MARK: Sessions and transactions

    /// Ends a session that has gone to sleep in a transaction, and its locks with it: where the network is cut, the
    /// server does not hear that the feeder is gone.
    static let limitIdleTransactions = "SET idle_in_transaction_session_timeout = '10s'"
    static let begin = "BEGIN"
    static let beginReading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    static let commit = "COMMIT"
    static let rollback = "ROLLBACK"
    static let savepoint = "SAVEPOINT quire"
    static let releaseSavepoint = "RELEASE SAVEPOINT quire"
    static let rollbackToSavepoint = "ROLLBACK TO SAVEPOINT quire"

    // MARK: Tables of the mirror's own

    static let createFeeds = """
      CREATE TABLE IF NOT EXISTS quire_feed (feed text PRIMARY KEY, lineage text NOT NULL, epoch bigint NOT NULL, \
      csn bigint NOT NULL, part bigint NOT NULL, chain bigint NOT NULL, state text NOT NULL, cursor bytea NOT NULL, \
      progress bytea NOT NULL, consistent_from bigint NOT NULL, seen timestamptz NOT NULL)
      """
    static let createCollections = """
      CREATE TABLE IF NOT EXISTS quire_collection (feed text NOT NULL, name_bytes bytea NOT NULL, name text NOT NULL, \
      table_name text NOT NULL, columns text NOT NULL, csn bigint NOT NULL, needs_fill boolean NOT NULL, \
      notes text NOT NULL, PRIMARY KEY (feed, name_bytes))
      """
    static let createRejected = """
      CREATE TABLE IF NOT EXISTS quire_rejected (feed text NOT NULL, collection text NOT NULL, \
      collection_bytes bytea NOT NULL, key text NOT NULL, key_bytes bytea NOT NULL, csn bigint NOT NULL, \
      row_id bigint NOT NULL, reason text NOT NULL, sql_state text, raw bytea, raw_metadata bytea, \
      PRIMARY KEY (feed, collection_bytes, key_bytes))
      """

    // MARK: The cursor

    static let readFeed = """
      SELECT state, cursor, progress, consistent_from, csn FROM quire_feed WHERE feed = $1
      """
    static let insertFeed = """
      INSERT INTO quire_feed VALUES ($1, '', 0, 0, 0, 0, 'bootstrapping', '', '', 0, now()) \
      ON CONFLICT (feed) DO NOTHING
      """
    /// Moves the cursor from where it is known to be; no row is changed if it is elsewhere.
    static let moveCursor = """
      UPDATE quire_feed SET lineage = $1, epoch = $2, csn = $3, part = $4, chain = $5, state = $6, cursor = $7, \
      progress = $8, consistent_from = $9, seen = now() \
      WHERE feed = $10 AND state = $11 AND cursor = $12 AND progress = $13
      """

    // MARK: Collections

    static let readCollections = """
      SELECT name_bytes, table_name, columns, csn, needs_fill, notes FROM quire_collection WHERE feed = $1
      """
    static let countTables = "SELECT count(*) FROM quire_collection WHERE table_name = $1"
    static let insertCollection = """
      INSERT INTO quire_collection (feed, name_bytes, name, table_name, columns, csn, needs_fill, notes) \
      VALUES ($1, $2, $3, $4, $5, $6, false, '')
      """
    static let changeNotes = "UPDATE quire_collection SET notes = $3 WHERE feed = $1 AND name_bytes = $2"
    static let changeColumns = """
      UPDATE quire_collection SET columns = $3, needs_fill = true WHERE feed = $1 AND name_bytes = $2
      """
    static let didFill = "UPDATE quire_collection SET needs_fill = false WHERE feed = $1"
    static let renameCollection = """
      UPDATE quire_collection SET name_bytes = $3, name = $4, table_name = $5, csn = $6 \
      WHERE feed = $1 AND name_bytes = $2
      """
    static let removeCollection = "DELETE FROM quire_collection WHERE feed = $1 AND name_bytes = $2"

    // MARK: Rows that are set aside

    static let countRejected = """
      SELECT collection_bytes, count(*) FROM quire_rejected WHERE feed = $1 GROUP BY collection_bytes
      """
    static let readRejected = """
      SELECT collection_bytes, key_bytes, csn, reason, sql_state, raw FROM quire_rejected WHERE feed = $1 \
      ORDER BY collection_bytes, key_bytes
      """
    static let reject = """
      INSERT INTO quire_rejected (feed, collection, collection_bytes, key, key_bytes, csn, row_id, reason, sql_state, \
      raw, raw_metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
      ON CONFLICT (feed, collection_bytes, key_bytes) DO UPDATE SET csn = excluded.csn, row_id = excluded.row_id, \
      reason = excluded.reason, sql_state = excluded.sql_state, raw = excluded.raw, raw_metadata = excluded.raw_metadata
      """
    static let acceptRows = """
      DELETE FROM quire_rejected WHERE feed = $1 AND collection_bytes = $2 AND key_bytes = ANY ($3)
      """
    static let acceptCollection = """
      DELETE FROM quire_rejected WHERE feed = $1 AND collection_bytes = $2 AND csn <= $3
      """
    static let acceptAll = "DELETE FROM quire_rejected WHERE feed = $1"
    static let renameRejected = """
      UPDATE quire_rejected SET collection_bytes = $3, collection = $4 WHERE feed = $1 AND collection_bytes = $2
      """

    // MARK: Tables of collections

    /// The columns that every table has, in the order of the parameters of `upsert`, with what reads them from a text.
    static let fixedColumns = ["key", "row_id", "object", "metadata"]
    static let byteColumns = ["raw", "raw_metadata"]

    static func createTable(_ table: String, _ columns: [PostgresColumn]) -> String {
      let more = columns.map { ", \(quoted($0.name)) \(made($0.type))" }.joined()
      return """
        CREATE TABLE \(quoted(table)) (key text COLLATE "C" PRIMARY KEY, row_id bigint NOT NULL, csn bigint NOT NULL, \
        object jsonb, metadata jsonb\(more))
        """
    }

    /// The type as a column is made with it. Texts are in the order of their bytes, as in a database, whatever the
    /// order of the server's language.
    private static func made(_ type: String) -> String { type == "text" ? "text \(byteOrder)" : type }

    /// What compares texts by their bytes.
    static let byteOrder = "COLLATE \"C\""

    static func addColumn(_ table: String, _ column: PostgresColumn) -> String {
      "ALTER TABLE \(quoted(table)) ADD COLUMN IF NOT EXISTS \(quoted(column.name)) \(made(column.type))"
    }

    static func createIndex(_ name: String, _ table: String, _ columns: [String]) -> String {
      """
      CREATE INDEX IF NOT EXISTS \(quoted(name)) ON \(quoted(table)) (\(columns.map(quoted).joined(separator: ", ")))
      """
    }

    static func renameTable(_ table: String, to other: String) -> String {
      "ALTER TABLE \(quoted(table)) RENAME TO \(quoted(other))"
    }

    /// Finds nothing, where there is such a table.
    static func lookFor(_ table: String) -> String { "SELECT csn FROM \(quoted(table)) LIMIT 0" }

    static func dropTable(_ table: String) -> String { "DROP TABLE \(quoted(table))" }

    /// Stores rows; one that is newer already is left as it is.
    ///
    /// - Parameters:
    ///   - hasBytes: whether bytes are stored.
    ///   - columns: the declared columns.
    static func upsert(_ table: String, hasBytes: Bool, _ columns: [PostgresColumn]) -> String {
      let names = fixedColumns + (hasBytes ? byteColumns : []) + columns.map(\.name)
      let byteTypes = hasBytes ? ["bytea[]", "bytea[]"] : []
      let types = ["text[]", "bigint[]", "text[]", "text[]"] + byteTypes + columns.map { _ in "text[]" }
      let byteCasts = hasBytes ? ["", ""] : []
      let casts = ["", "", "::jsonb", "::jsonb"] + byteCasts + columns.map { "::\($0.type)" }
      let arrays = types.enumerated().map { "$\($0 + 2)::\($1)" }.joined(separator: ", ")
      let places = names.indices.map { "c\($0)" }
      let values = zip(places, casts).map { $0 + $1 }.joined(separator: ", ")
      let list = names.map(quoted).joined(separator: ", ")
      let changes = names.dropFirst().map { "\(quoted($0)) = excluded.\(quoted($0))" }.joined(separator: ", ")
      return """
        INSERT INTO \(quoted(table)) AS t (csn, \(list)) SELECT $1::bigint, \(values) \
        FROM unnest(\(arrays)) AS u(\(places.joined(separator: ", "))) \
        ON CONFLICT (key) DO UPDATE SET csn = excluded.csn, \(changes) WHERE t.csn <= excluded.csn
        """
    }

    static func copy(_ table: String, hasBytes: Bool) -> String {
      let names = ["csn"] + fixedColumns + (hasBytes ? byteColumns : [])
      return "COPY \(quoted(table)) (\(names.map(quoted).joined(separator: ", "))) FROM STDIN (FORMAT binary)"
    }

    static func deleteRows(_ table: String) -> String {
      "DELETE FROM \(quoted(table)) WHERE key = ANY ($1) AND csn <= $2"
    }

    static func clear(_ table: String) -> String { "DELETE FROM \(quoted(table)) WHERE csn <= $1" }

    static func empty(_ table: String) -> String { "DELETE FROM \(quoted(table))" }

    static func readRows(_ table: String, hasBytes: Bool) -> String {
      """
      SELECT key, row_id\(hasBytes ? ", raw, raw_metadata" : "") FROM \(quoted(table)) WHERE key > $1 ORDER BY key \
      LIMIT 2000
      """
    }

    static func readFirstRows(_ table: String, hasBytes: Bool) -> String {
      "SELECT key, row_id\(hasBytes ? ", raw, raw_metadata" : "") FROM \(quoted(table)) ORDER BY key LIMIT 2000"
    }

    /// A name as SQL has it.
    static func quoted(_ name: String) -> String {
      "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
  }
#endif
