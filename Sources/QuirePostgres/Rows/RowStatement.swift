// The statements by which rows are read and written in PostgreSQL alone.

#if Postgres
  /// The statements about the rows of one table.
  struct RowStatement {
    let table: String
    /// Whether the table has columns for the bytes of coders: they are emptied, as nobody has made bytes of the row.
    let hasBytes: Bool
    let columns: [PostgresColumn]

    private var name: String { Statement.quoted(table) }
    private static let fields = "key, object, metadata, csn"

    /// The tables of a collection, by the bytes of its name.
    static let tables = """
      SELECT feed, table_name, columns FROM quire_collection WHERE name_bytes = $1 ORDER BY feed
      """
    static let beginWriting = "BEGIN ISOLATION LEVEL SERIALIZABLE"
    /// A feeder that has the table in its hands finds the cursor moved, and stops.
    static let stopFeeder = """
      UPDATE quire_feed SET state = 'catchingUp' WHERE feed = $1 AND state = 'consistent'
      """
    static let adopt = """
      UPDATE quire_collection SET feed = '' WHERE feed = $1 AND name_bytes = $2
      """

    // MARK: Reading

    /// Of one key.
    var oneRow: String { "SELECT \(Self.fields) FROM \(name) WHERE key = $1" }
    var oneRowForUpdate: String { oneRow + " FOR UPDATE" }
    var contains: String { "SELECT 1 FROM \(name) WHERE key = $1" }
    var count: String { "SELECT count(*) FROM \(name)" }

    /// Rows of a range of keys in their order. Keys are bytes, as in a database: the column has that order.
    ///
    /// - Parameters:
    ///   - first: the comparison of keys with `$1`.
    ///   - hasEnd: whether they are below `$2`.
    func range(_ first: String, hasEnd: Bool, limit: Int) -> String {
      let end = hasEnd ? " AND key < $2" : ""
      return "SELECT \(Self.fields) FROM \(name) WHERE key \(first) $1\(end) ORDER BY key LIMIT \(limit)"
    }

    /// Rows that a condition finds.
    func find(_ condition: String, order: [String], limit: Int?) -> String {
      let rest = limit.map { " LIMIT \($0)" } ?? ""
      let order = (order + ["key"]).joined(separator: ", ")
      return "SELECT \(Self.fields) FROM \(name) WHERE \(condition) ORDER BY \(order)\(rest)"
    }

    func count(_ condition: String) -> String { "SELECT count(*) FROM \(name) WHERE \(condition)" }

    // MARK: Writing

    /// When a row is stored that is there.
    enum Conflict {
      /// It is replaced.
      case replace
      /// It stays as it is.
      case keep
      /// It is replaced if its version is the last parameter.
      case replaceVersion
    }

    /// Stores rows: keys, objects, metadata and each column, as arrays of texts, and the version of those that are new.
    /// Returns the versions.
    func store(_ conflict: Conflict) -> String {
      let names = ["key", "object", "metadata"] + columns.map(\.name)
      let casts = ["", "::jsonb", "::jsonb"] + columns.map { "::\($0.type)" }
      let places = names.indices.map { "c\($0)" }
      let arrays = names.indices.map { "$\($0 + 1)::text[]" }.joined(separator: ", ")
      let values = zip(places, casts).map { "u." + $0 + $1 }.joined(separator: ", ")
      let changes =
        names.dropFirst().map { "\(Statement.quoted($0)) = excluded.\(Statement.quoted($0))" }
        + (hasBytes ? Statement.byteColumns.map { "\($0) = NULL" } : [])
      let rest =
        switch conflict {
        case .keep: "DO NOTHING"
        case .replace: "DO UPDATE SET csn = t.csn + 1, \(changes.joined(separator: ", "))"
        case .replaceVersion:
          "DO UPDATE SET csn = t.csn + 1, \(changes.joined(separator: ", ")) WHERE t.csn = $\(names.count + 2)"
        }
      return """
        INSERT INTO \(name) AS t (csn, row_id, \(names.map(Statement.quoted).joined(separator: ", "))) \
        SELECT $\(names.count + 1)::bigint, 0, \(values) \
        FROM unnest(\(arrays)) AS u(\(places.joined(separator: ", "))) \
        ON CONFLICT (key) \(rest) RETURNING csn
        """
    }

    var remove: String { "DELETE FROM \(name) WHERE key = $1" }
    var removeVersion: String { "DELETE FROM \(name) WHERE key = $1 AND csn = $2" }
    var removeAll: String { "DELETE FROM \(name)" }
    func remove(_ condition: String) -> String { "DELETE FROM \(name) WHERE \(condition)" }
  }
#endif
