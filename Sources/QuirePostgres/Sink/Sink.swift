// The tables of a mirror over one connection.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// What a sink is of, and where.
  struct SinkSettings: Sendable {
    let conninfo: String
    let feed: String
    let tables: [PostgresTable]
    let keepsBytes: Bool
    let stopping: StopFlag
    let report: @Sendable (PostgresEvent) -> Void
  }

  /// The tables of a mirror, over one connection. For one thread; of no use after an error.
  ///
  /// Invariants, between two transactions:
  /// 1. `state` is what `quire_feed` has, unless another feeder has moved it.
  /// 2. `tables` has what `quire_collection` has of the feed, and every table of it is there, or is made by
  ///    `changeTables` if somebody has dropped it.
  /// 3. A row is in the table of its collection or in `quire_rejected`, and not in both.
  final class Sink {
    let connection: PostgresConnection
    let feed: String
    let declared: [PostgresTable]
    let keepsBytes: Bool
    let report: (PostgresEvent) -> Void
    var state = SinkState()
    var tables: [[UInt8]: SinkTable] = [:]

    /// Connects, makes what every mirror has, and reads where this one is.
    ///
    /// - Throws: `SQLError`, and `foreignMirror` if what stands there is of no mirror.
    init(_ settings: SinkSettings, makesTables: Bool = true) throws {
      connection = try PostgresConnection(settings.conninfo, settings.stopping)
      feed = settings.feed
      declared = settings.tables
      keepsBytes = settings.keepsBytes
      report = settings.report
      try connection.run(Statement.limitIdleTransactions)
      if makesTables { try makeTables() }
      try read()
    }

    /// Reads what stands in PostgreSQL.
    func read() throws {
      try readState()
      try readTables()
    }

    /// Makes the tables that every mirror has, if they are not there: who may not make tables can be given them.
    private func makeTables() throws(SQLError) {
      do {
        if try connection.run(Statement.readFeed, [.text(feed)]).count == 1 { return }
      } catch {
        guard error.state == SQLState.undefinedTable else { throw error }
        do throws(SQLError) {
          // All or none: who finds the first of them looks for no other.
          try connection.run(Statement.begin)
          for statement in [Statement.createFeeds, Statement.createCollections, Statement.createRejected] {
            try connection.run(statement)
          }
          try connection.run(Statement.commit)
        } catch {
          guard error.isMadeByAnother else { throw error }
          // Another feeder makes them at this moment.
          throw SQLError(state: SQLState.serializationFailure, message: error.message)
        }
      }
      try connection.run(Statement.insertFeed, [.text(feed)])
    }

    /// Reads where the mirror is.
    private func readState() throws {
      let rows: Rows
      do { rows = try connection.run(Statement.readFeed, [.text(feed)]) } catch {
        throw error.state == SQLState.undefinedTable ? noMirror() : error
      }
      guard rows.count == 1 else { throw noMirror() }
      let (cursor, progress) = (rows.bytes(0, 1) ?? [], rows.bytes(0, 2) ?? [])
      guard let known = rows.text(0, 0).flatMap({ PostgresStatus.State(rawValue: $0) }),
        let from = rows.integer(0, 3)
      else { throw damagedState() }
      state = SinkState(
        state: known, cursor: FeedCursor(bytes: cursor), progress: BootstrapPosition(bytes: progress),
        consistentFrom: UInt64(bitPattern: from))
      guard (state.cursor != nil) == !cursor.isEmpty, (state.progress != nil) == !progress.isEmpty else {
        throw damagedState()
      }
    }

    private func noMirror() -> PostgresError {
      PostgresError(.noMirror, "There is nothing of the feed “\(feed)” in this database of PostgreSQL's.")
    }

    private func damagedState() -> PostgresError {
      PostgresError(
        .foreignMirror, "What `quire_feed` has of “\(feed)” was written by no mirror. Begin anew.")
    }

    private func readTables() throws(SQLError) {
      let rows = try connection.run(Statement.readCollections, [.text(feed)])
      tables = [:]
      for row in 0..<rows.count {
        guard let name = rows.bytes(row, 0), let table = rows.text(row, 1) else { continue }
        let columns = ColumnList.columns(rows.text(row, 2) ?? "")
        let collection = String(decoding: name, as: UTF8.self)
        tables[name] = SinkTable(
          collection: collection, name: table, columns: columns,
          csn: UInt64(bitPattern: rows.integer(row, 3) ?? 0), needsFill: rows.text(row, 4) == "t",
          notes: rows.text(row, 5) ?? "",
          statements: SinkStatements(table, hasBytes: keepsBytes, declaredColumns(collection)))
      }
      let rejected = try connection.run(Statement.countRejected, [.text(feed)])
      for row in 0..<rejected.count {
        guard let name = rejected.bytes(row, 0), let count = rejected.integer(row, 1) else { continue }
        tables[name]?.rejectedCount = Int(count)
      }
    }

    // MARK: Declarations

    func declaredColumns(_ collection: String) -> [PostgresColumn] {
      declared.first { $0.collection.hasBytes(of: collection) }?.columns ?? []
    }

    /// All columns that the table of a collection has beside those that every table has.
    func wantedColumns(_ collection: String) -> [PostgresColumn] {
      let bytes = Statement.byteColumns.map { PostgresColumn(name: $0, type: "bytea") }
      return (keepsBytes ? bytes : []) + declaredColumns(collection)
    }

    /// The tables that are there and lack columns or indexes.
    func tablesToChange() -> [SinkTable] {
      tables.values.filter { table in wantedColumns(table.collection).contains { !table.columns.contains($0) } }
        .sorted { $0.name < $1.name }
    }

    /// The tables that somebody has dropped. Asks once for each.
    func missingTables() throws(SQLError) -> [SinkTable] {
      var missing: [SinkTable] = []
      for table in tables.values.sorted(by: { $0.name < $1.name }) {
        do throws(SQLError) { try connection.run(Statement.lookFor(table.name)) } catch {
          guard error.state == SQLState.undefinedTable else { throw error }
          missing.append(table)
        }
      }
      return missing
    }

    /// What makes the columns and indexes of a table that are not there.
    ///
    /// - Throws: `invalidDeclaration` if a column is there with another type.
    func changes(of table: SinkTable) throws(PostgresError) -> [String] {
      var statements: [String] = []
      for column in wantedColumns(table.collection) where !table.columns.contains(column) {
        if let other = table.columns.first(where: { $0.name == column.name }) {
          throw PostgresError(
            .invalidDeclaration,
            """
            The column “\(column.name)” of the table \(table.name) is \(other.type), and is declared as \
            \(column.type). Declare another name.
            """)
        }
        statements.append(Statement.addColumn(table.name, column))
      }
      return statements + indexes(of: table)
    }

    func indexes(of table: SinkTable) -> [String] {
      let lists = declared.first { $0.collection.hasBytes(of: table.collection) }?.indexes ?? []
      return lists.map { Statement.createIndex(TableNames.index(table.name, $0), table.name, $0) }
    }
  }

  /// States of errors that are answered in particular.
  enum SQLState {
    static let undefinedTable = "42P01"
    static let serializationFailure = "40001"
  }
#endif
