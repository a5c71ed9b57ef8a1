// What PostgreSQL can be sent: only what other engines with its protocol take as well.

#if Postgres
  import Foundation
  import QuireDatabase
  import Testing

  @testable import QuirePostgres

  @Suite("Statements of mirrors") struct StatementTests {
    private static let columns = [
      PostgresColumn(name: "title", type: "text"), PostgresColumn(name: "a\"b", type: "timestamptz"),
    ]

    /// Every statement, with all that can be in it.
    private static let all =
      [
        Statement.limitIdleTransactions, Statement.begin, Statement.beginReading, Statement.commit, Statement.rollback,
        Statement.savepoint, Statement.releaseSavepoint, Statement.rollbackToSavepoint, Statement.createFeeds,
        Statement.createCollections, Statement.createRejected, Statement.readFeed, Statement.insertFeed,
        Statement.moveCursor, Statement.readCollections, Statement.countTables, Statement.insertCollection,
        Statement.changeColumns, Statement.changeNotes, Statement.didFill, Statement.renameCollection,
        Statement.removeCollection,
        Statement.countRejected, Statement.readRejected, Statement.reject, Statement.acceptRows,
        Statement.acceptCollection, Statement.acceptAll, Statement.renameRejected,
        Statement.createTable("t", columns), Statement.addColumn("t", columns[1]),
        Statement.createIndex("i", "t", ["key", "title"]), Statement.renameTable("t", to: "u"),
        Statement.lookFor("t"), Statement.dropTable("t"), Statement.deleteRows("t"), Statement.clear("t"),
        Statement.empty("t"),
      ]
      + [true, false].flatMap { hasBytes in
        [
          Statement.upsert("t", hasBytes: hasBytes, columns), Statement.copy("t", hasBytes: hasBytes),
          Statement.readRows("t", hasBytes: hasBytes), Statement.readFirstRows("t", hasBytes: hasBytes),
        ] + rows(RowStatement(table: "t", hasBytes: hasBytes, columns: columns))
      } + HubStatement.allCases.map(\.rawValue)
      + [RowStatement.tables, RowStatement.beginWriting, RowStatement.stopFeeder, RowStatement.adopt]

    /// Those about rows in PostgreSQL alone.
    private static func rows(_ rows: RowStatement) -> [String] {
      let condition = PostgresFields<Song, NoMetadata>(
        PostgresTable(.songs) {
          $0.column("title", \.title)
          $0.column("rating", \.rating)
        })
      let title = condition[dynamicMember: \.title]
      let rating = condition[dynamicMember: \.rating]
      let all = try? (title >= "a" && !(rating < 2) || rating == nil || title.isIn(["b", "c"])).statement().sql
      return [
        rows.oneRow, rows.oneRowForUpdate, rows.contains, rows.count, rows.remove, rows.removeVersion, rows.removeAll,
        rows.range(">=", hasEnd: true, limit: 9), rows.range(">", hasEnd: false, limit: 9), rows.store(.replace),
        rows.store(.keep), rows.store(.replaceVersion),
      ] + (all.map { [rows.find($0, order: ["title DESC"], limit: 3), rows.count($0), rows.remove($0)] } ?? [])
    }

    /// The words that the subset has, besides names of tables and columns, in small letters.
    private static let words: Set<String> = [
      "add", "all", "alter", "and", "any", "as", "begin", "bigint", "binary", "boolean", "by", "bytea", "coalesce",
      "collate", "column", "commit", "conflict", "copy", "count", "create", "delete", "desc", "do", "double", "drop",
      "excluded", "exists", "false",
      "for", "format", "from", "group", "if", "index", "insert", "into", "is", "isolation", "jsonb", "key", "level",
      "limit", "max", "not",
      "nothing", "now", "null", "on", "only", "or", "order", "precision", "primary", "read", "release", "rename",
      "repeatable", "returning", "rollback",
      "savepoint", "select", "serializable", "set", "stdin", "table", "text", "timestamptz", "to", "true", "unnest",
      "update", "values",
      "where",
    ]

    /// Names of tables and columns of the mirror's own, and of settings.
    private static let names: Set<String> = [
      "quire_feed", "quire_collection", "quire_rejected", "quire", "feed", "lineage", "epoch", "csn", "part", "chain",
      "state", "cursor", "progress", "consistent_from", "seen", "name", "name_bytes", "table_name", "columns",
      "needs_fill", "notes", "collection", "collection_bytes", "key_bytes", "row_id", "reason", "sql_state", "raw",
      "raw_metadata", "object", "metadata", "t", "u", "idle_in_transaction_session_timeout",
      "quire_hub", "quire_hub_member", "quire_hub_push", "quire_hub_row", "quire_hub_row_seq", "hub", "last", "origin",
      "number", "token", "outcome", "version", "seq", "marks", "title", "r", "n",
    ]

    @Test("Every statement is of the portable subset", arguments: all) func subset(statement: String) throws {
      // Names in quotes are any; texts in quotes are data.
      let bare = statement.replacing(#/"(?:[^"]|"")*"/#, with: "").replacing(#/'[^']*'/#, with: "")
      for match in bare.matches(of: #/[A-Za-z_][A-Za-z_0-9]*/#) {
        let word = String(match.output)
        let isColumn = word.wholeMatch(of: #/c\d+/#) != nil
        #expect(Self.words.contains(word.lowercased()) || Self.names.contains(word) || isColumn, "\(word)")
      }
      let signs = Set(bare.filter { !$0.isLetter && !$0.isNumber && !$0.isWhitespace && $0 != "_" })
      #expect(signs.isSubset(of: Set("(),.=<>$:[]*+-")))
      #expect(!bare.contains(";"))
    }

    @Test("No statement is sent that does not stand in the files that list them") func listed() throws {
      // Words that begin statements, in texts of other files, would be such.
      let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      let folder = tests.deletingLastPathComponent().appendingPathComponent("Sources/QuirePostgres").path
      let files = try #require(FileManager.default.enumerator(atPath: folder))
      var (found, count): ([String], Int) = ([], 0)
      for case let path as String in files where path.hasSuffix(".swift") {
        // Of mirrors, of hubs, and of rows without a mirror.
        if ["Sink/Statement.swift", "Hub/HubStatement.swift", "Rows/RowStatement.swift"].contains(path) { continue }
        let text = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
        count += 1
        let begun = text.matches(of: #/"(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|COPY|BEGIN|COMMIT|SET) ?/#)
        found += begun.map { "\(path): \($0.output.1)" }
      }
      #expect(found == [] && count > 10)
    }

    @Test("Names with quotation marks stay names") func quoting() {
      #expect(Statement.quoted("a\"; DROP TABLE b; --") == "\"a\"\"; DROP TABLE b; --\"")
      #expect(Statement.dropTable("\"") == "DROP TABLE \"\"\"\"")
    }

    @Test(
      "Each error has its answer",
      arguments: [
        (nil, .again), ("40001", .again), ("40P01", .again), ("08006", .again), ("57P01", .again), ("53100", .again),
        ("25006", .again), ("25P03", .again), ("22P05", .poison), ("22021", .poison), ("23502", .poison),
        ("54000", .poison), ("42501", .refuse), ("42703", .refuse), ("42P01", .refuse), ("28P01", .refuse),
      ] as [(String?, SQLError.Answer)])
    func answers(state: String?, answer: SQLError.Answer) {
      #expect(SQLError(state: state, message: "").answer == answer)
    }
  }
#endif
