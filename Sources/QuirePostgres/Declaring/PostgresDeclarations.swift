// Checking what an app declares.

#if Postgres
  /// What tables may be declared.
  enum PostgresDeclarations {
    /// PostgreSQL cuts longer names off.
    static let longestName = 63
    /// The columns that every table has.
    private static let reserved: Set<String> = [
      "key", "row_id", "csn", "object", "metadata", "raw", "raw_metadata",
      // Of every table of PostgreSQL's.
      "ctid", "cmin", "cmax", "xmin", "xmax", "tableoid",
    ]

    /// Throws `invalidDeclaration` for a collection or a column that is there twice, and for a name that cannot be.
    static func check(_ tables: [PostgresTable]) throws(PostgresError) {
      for (index, table) in tables.enumerated() {
        if tables[..<index].contains(where: { $0.collection.hasBytes(of: table.collection) }) {
          throw PostgresError(.invalidDeclaration, "The collection “\(table.collection)” has two tables.")
        }
        var names: Set<String> = []
        for column in table.columns {
          let count = column.name.utf8.count
          let isPlain = column.name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
          guard count > 0, count <= longestName, isPlain, !reserved.contains(column.name) else {
            throw PostgresError(
              .invalidDeclaration,
              """
              “\(column.name)” of the table of “\(table.collection)” is no name of a column: it is one that every \
              table has, is empty, has more than \(longestName) bytes, or characters that cannot be seen.
              """)
          }
          guard names.insert(column.name).inserted else {
            throw PostgresError(
              .invalidDeclaration, "The table of “\(table.collection)” has the column “\(column.name)” twice.")
          }
        }
        for columns in table.indexes {
          let known = names.union(["key", "row_id", "csn", "object", "metadata"])
          guard !columns.isEmpty, columns.allSatisfy(known.contains) else {
            throw PostgresError(
              .invalidDeclaration,
              "An index of the table of “\(table.collection)” is over a column that is not declared.")
          }
        }
      }
    }
  }
#endif
