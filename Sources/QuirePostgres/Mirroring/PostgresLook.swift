// Looking at a mirror, and comparing it with the database.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// Looks at what a mirror has stored. Changes nothing.
  struct PostgresLook {
    private let mirror: PostgresMirror

    init(_ mirror: PostgresMirror) { self.mirror = mirror }

    /// Errors of PostgreSQL's as apps are told of them.
    private func telling<Result>(_ body: () throws -> Result) throws -> Result {
      do { return try body() } catch let error as SQLError { throw error.told }
    }

    func status() throws -> PostgresStatus {
      try telling {
        let sink = try Sink(mirror.settings, makesTables: false)
        let state = sink.state
        var behind: FeedStatus.Amount?
        if let cursor = state.cursor {
          do throws(DatabaseError) { behind = try mirror.database.status(of: mirror.feed, at: cursor).behind } catch {
            // How far it is behind is not known then.
            guard error.code == .cursorExpired || error.code == .cursorForeign else { throw error }
          }
        }
        let tables = sink.tables.values.map { ($0.collection, $0.name) }
        return PostgresStatus(
          feed: mirror.feed.name, state: state.state, csn: CSN(state.csn), behind: behind,
          rejectedCount: sink.tables.values.reduce(0) { $0 + $1.rejectedCount },
          tables: Dictionary(tables) { first, _ in first })
      }
    }

    func rejected() throws -> [RejectedRow] {
      try telling { try rejected(Sink(mirror.settings, makesTables: false)).map(\.row) }
    }

    private func rejected(_ sink: Sink) throws(SQLError) -> [(row: RejectedRow, raw: [UInt8])] {
      let rows = try sink.connection.run(Statement.readRejected, [.text(sink.feed)])
      return (0..<rows.count).map { row in
        let state = rows.text(row, 4) ?? ""
        let told = RejectedRow(
          collection: String(decoding: rows.bytes(row, 0) ?? [], as: UTF8.self),
          key: String(decoding: rows.bytes(row, 1) ?? [], as: UTF8.self),
          csn: CSN(UInt64(bitPattern: rows.integer(row, 2) ?? 0)), reason: rows.text(row, 3) ?? "",
          sqlState: state.isEmpty ? nil : state)
        return (told, rows.bytes(row, 5) ?? [])
      }
    }

    // MARK: What a run would do

    func plan() throws -> PostgresPlan {
      try telling {
        let sink: Sink
        do { sink = try Sink(mirror.settings, makesTables: false) } catch let error as PostgresError
          where error.code == .noMirror
        {
          let made = [Statement.createFeeds, Statement.createCollections, Statement.createRejected]
          return PostgresPlan(statements: made + (try tables([:])), bootstraps: true, rowCount: try rowCount())
        }
        let bootstraps = try FeedSteps.reasonToBegin(mirror, sink.state) != nil
        let missing = Set(try sink.missingTables().map { Array($0.collection.utf8) })
        let changes = try sink.tablesToChange().filter { !missing.contains(Array($0.collection.utf8)) }
          .flatMap { try sink.changes(of: $0) }
        let behind = try sink.state.cursor.flatMap { cursor in
          bootstraps ? nil : try mirror.database.status(of: mirror.feed, at: cursor).behind.changes
        }
        return PostgresPlan(
          statements: changes + (try tables(sink.tables.filter { !missing.contains($0.key) })),
          bootstraps: bootstraps,
          rowCount: try behind ?? rowCount())
      }
    }

    /// The statements that make the tables which are not there.
    private func tables(_ known: [[UInt8]: SinkTable]) throws -> [String] {
      let bytes = Statement.byteColumns.map { PostgresColumn(name: $0, type: "bytea") }
      return try collections().filter { known[Array($0.utf8)] == nil }.map { name in
        let declared = mirror.tables.first { $0.collection.hasBytes(of: name) }?.columns ?? []
        return Statement.createTable(
          TableNames.plain(name), (mirror.options.keepsBytes ? bytes : []) + declared)
      }
    }

    private func collections() throws -> [String] {
      try mirror.database.read { tx in tx.collections }.filter { mirror.feed.collections.contains($0) }
    }

    private func rowCount() throws -> Int {
      let names = try collections()
      return try mirror.database.read { tx in try names.reduce(0) { try $0 + tx.values(in: $1).count() } }
    }

    // MARK: Comparing

    func verify(_ body: @escaping (PostgresDifference) -> Void) throws -> Int {
      try telling {
        let sink = try Sink(mirror.settings, makesTables: false)
        try sink.connection.run(Statement.beginReading)
        let aside = Dictionary(grouping: try rejected(sink)) { Array($0.row.collection.utf8) }
        let names = Set(try collections().map { Array($0.utf8) })
          .union(sink.tables.keys).union(aside.keys).sorted { $0.lexicographicallyPrecedes($1) }
        let equal = try mirror.database.read { tx in
          var equal = 0
          for name in names {
            let collection = String(decoding: name, as: UTF8.self)
            let hasBytes = sink.tables[name]?.columns.contains { $0.name == Statement.byteColumns[0] } ?? false
            var comparison = RowComparison(
              collection: collection, rejected: (aside[name] ?? []).map { ($0.row.key, $0.raw) },
              hasBytes: hasBytes && sink.keepsBytes, report: body)
            var pages = TablePages(sink, sink.tables[name]?.name, comparison.hasBytes)
            for row in tx.values(in: collection) { try comparison.compare(row, &pages) }
            try comparison.finish(&pages)
            equal += comparison.equalCount
          }
          return equal
        }
        try sink.connection.run(Statement.commit)
        return equal
      }
    }
  }
#endif
