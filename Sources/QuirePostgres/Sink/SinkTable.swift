// The table of one collection, as a sink knows it.

#if Postgres
  /// A table.
  struct SinkTable: Sendable {
    let collection: String
    var name: String
    /// The columns beside those that every table has, as they were made; some may be declared no more.
    var columns: [PostgresColumn]
    /// The commit at which it got its name.
    var csn: UInt64
    /// Whether it has columns that are not filled.
    var needsFill = false
    /// What the bytes of its rows are read with, as an export has it; empty if it is not known.
    var notes = ""
    /// How many rows of the collection are set aside, at the most.
    var rejectedCount = 0
    /// What stores rows in it.
    var statements = SinkStatements()
  }

  /// The statements of a table, made once.
  struct SinkStatements: Sendable {
    var upsert = ""
    var copy = ""
    var delete = ""

    init() {}

    init(_ table: String, hasBytes: Bool, _ columns: [PostgresColumn]) {
      upsert = Statement.upsert(table, hasBytes: hasBytes, columns)
      copy = Statement.copy(table, hasBytes: hasBytes)
      delete = Statement.deleteRows(table)
    }
  }

  /// Columns as `quire_collection` has them: a line each, with the name behind the type.
  enum ColumnList {
    static func text(_ columns: [PostgresColumn]) -> String {
      columns.map { "\($0.type)\t\($0.name)" }.joined(separator: "\n")
    }

    static func columns(_ text: String) -> [PostgresColumn] {
      text.split(separator: "\n").compactMap { line in
        let parts = line.split(separator: "\t", maxSplits: 1)
        return parts.count == 2 ? PostgresColumn(name: String(parts[1]), type: String(parts[0])) : nil
      }
    }
  }
#endif
