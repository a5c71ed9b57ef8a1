// One batch in one transaction of PostgreSQL's: the cursor is moved, if it is where it was, and the rows are stored.

#if Postgres
  internal import QuireDatabase

  extension Sink {
    /// Stores a batch, and moves the cursor to `next`, both or neither.
    ///
    /// If PostgreSQL refuses a row, all is done again with savepoints, and the rows that it refuses are set aside.
    ///
    /// - Parameters:
    ///   - csn: the commit that the rows are of.
    ///   - copies: whether rows are known to be new, so that COPY takes them.
    /// - Throws: `FenceError` if the cursor is not where it was; `SQLError`, without a state if nobody knows whether it
    ///   was carried out.
    func store(_ changes: [SinkChange], csn: UInt64, copies: Bool = false, next: SinkState) throws {
      let before = tables
      do {
        try attempt(changes, csn, copies ? .copy : .plain, next)
      } catch let error as SQLError where error.answer == .poison {
        try connection.run(Statement.rollback)
        tables = before
        try attempt(changes, csn, .careful, next)
      }
      state = next
    }

    private func attempt(_ changes: [SinkChange], _ csn: UInt64, _ way: SinkStep.Way, _ next: SinkState) throws {
      try connection.run(Statement.begin)
      try moveCursor(to: next)
      let step = SinkStep(sink: self, csn: csn, way: way, next: next)
      for change in changes { try step.apply(change) }
      try connection.run(Statement.commit)
      for row in step.done.rejected { report(.rejected(row)) }
    }

    /// Moves the cursor. Its row stays locked, so that a second feeder waits here, and then finds that it was moved.
    private func moveCursor(to next: SinkState) throws {
      let moved = try connection.run(Statement.moveCursor, next.parameters + [.text(feed)] + state.mark.parameters)
      guard moved.changedCount == 1 else {
        try connection.run(Statement.rollback)
        throw FenceError()
      }
    }

    /// Makes the columns and indexes that are declared and not there, and the tables that somebody has dropped; rows
    /// get them when they are next filled.
    ///
    /// - Throws: as `store`, and `invalidDeclaration`.
    func changeTables() throws {
      let missing = try missingTables()
      let names = Set(missing.map(\.name))
      let changing = tablesToChange().filter { !names.contains($0.name) }
      guard !changing.isEmpty || !missing.isEmpty else { return }
      var filling = state
      // Nobody is to take an empty table for the rows of a commit. What was filled before is filled anew with it.
      if !missing.isEmpty, state.state != .bootstrapping { (filling.state, filling.progress) = (.catchingUp, nil) }
      try connection.run(Statement.begin)
      try moveCursor(to: filling)
      let step = SinkStep(sink: self, csn: state.csn, way: .plain, next: filling)
      for table in missing { try step.makeAgain(table) }
      for table in changing { try step.addColumns(to: table) }
      try connection.run(Statement.commit)
      state = filling
    }
  }

  /// The cursor is not where it was.
  struct FenceError: Error {}

  /// The steps of one transaction.
  struct SinkStep {
    /// How rows are stored.
    enum Way {
      /// By COPY where that can be; they are known to be new.
      case copy
      /// By arrays.
      case plain
      /// By arrays, and by ever fewer of them where they are refused.
      case careful
    }

    /// What was done so far.
    final class Done {
      /// The rows that were set aside.
      var rejected: [RejectedRow] = []
      /// The collections whose tables got their names.
      var named: Set<[UInt8]> = []
    }

    let sink: Sink
    let csn: UInt64
    let way: Way
    let next: SinkState
    let done = Done()

    var connection: PostgresConnection { sink.connection }
    var label: Parameter { .integer(Int64(bitPattern: csn)) }
    var feed: Parameter { .text(sink.feed) }

    func apply(_ change: SinkChange) throws {
      switch change {
      case .store(let collection, let rows): try store(rows, try table(of: collection))
      case .remove(let collection, let keys): try remove(keys, collection)
      case .clear(let collection):
        guard let table = sink.tables[Array(collection.utf8)] else { return }
        try connection.run(Statement.clear(table.name), [label])
        try acceptAll(of: table)
      case .clearAll(let isNew):
        for table in sink.tables.values.sorted(by: { $0.name < $1.name }) {
          if isNew {
            try connection.run(Statement.empty(table.name))
          } else {
            try connection.run(Statement.clear(table.name), [label])
            try acceptAll(of: table)
          }
        }
        if isNew { try connection.run(Statement.acceptAll, [feed]) }
      case .rename(let old, let new): try rename(old, new)
      case .note(let collection, let notes): try note(notes, collection)
      case .didFill:
        try connection.run(Statement.didFill, [feed])
        for key in sink.tables.keys { sink.tables[key]?.needsFill = false }
      }
    }

    // MARK: Rows

    private func store(_ rows: [SinkRow], _ table: SinkTable) throws {
      if table.rejectedCount > 0 { try accept(rows.map(\.key), table) }
      var sound = rows[...]
      if rows.contains(where: { $0.defect != nil }) {
        for row in rows where row.defect != nil { try reject(row, table, row.defect ?? "", nil) }
        sound = rows.filter { $0.defect == nil }[...]
      }
      guard !sound.isEmpty else { return }
      switch way {
      case .careful: try halve(sound, table)
      case .copy where sink.declaredColumns(table.collection).isEmpty:
        try connection.copy(table.statements.copy, RowArrays.stream(sound, csn, hasBytes: sink.keepsBytes))
      case .copy, .plain: try upsert(sound, table)
      }
    }

    private func upsert(_ rows: ArraySlice<SinkRow>, _ table: SinkTable) throws(SQLError) {
      let columnCount = sink.declaredColumns(table.collection).count
      let arrays = RowArrays.arrays(rows, hasBytes: sink.keepsBytes, columnCount: columnCount)
      try connection.run(table.statements.upsert, [label] + arrays)
    }

    /// Stores rows, and sets those aside that are refused, which halving finds.
    private func halve(_ rows: ArraySlice<SinkRow>, _ table: SinkTable) throws {
      try connection.run(Statement.savepoint)
      do throws(SQLError) {
        try upsert(rows, table)
      } catch {
        guard error.answer == .poison else { throw error }
        try connection.run(Statement.rollbackToSavepoint)
        try connection.run(Statement.releaseSavepoint)
        if rows.count == 1, let row = rows.first { return try reject(row, table, error.message, error.state) }
        let middle = rows.startIndex + rows.count / 2
        try halve(rows[..<middle], table)
        return try halve(rows[middle...], table)
      }
      try connection.run(Statement.releaseSavepoint)
    }

    private func remove(_ keys: [String], _ collection: String) throws {
      guard let table = sink.tables[Array(collection.utf8)] else { return }
      if table.rejectedCount > 0 { try accept(keys, table) }
      var array = ArrayParameter(.text)
      // PostgreSQL has no text with U+0000: such a row was never stored.
      for key in keys where !key.utf8.contains(0) { array.append(key) }
      guard array.count > 0 else { return }
      try connection.run(table.statements.delete, [.array(array), label])
    }

    // MARK: Rows that are set aside

    /// Sets a row aside. What its table has of it is older.
    private func reject(_ row: SinkRow, _ table: SinkTable, _ reason: String, _ state: String?) throws {
      try remove([row.key], table.collection)
      let collection = table.collection
      let isLong = row.byteCount > SinkRow.longestByteCount
      var parameters: [Parameter] = [
        feed, .text(Self.plain(collection)), .bytes(Array(collection.utf8)), .text(Self.plain(row.key)),
        .bytes(Array(row.key.utf8)), label, .integer(row.rowID), .text(Self.plain(reason)),
      ]
      // Nothing is an empty text, or no bytes: a parameter has no null.
      parameters.append(state.map { .text($0) } ?? .text(""))
      parameters += [.bytes(isLong ? [] : row.raw ?? []), .bytes(isLong ? [] : row.rawMetadata ?? [])]
      try connection.run(Statement.reject, parameters)
      sink.tables[Array(collection.utf8)]?.rejectedCount += 1
      done.rejected.append(
        RejectedRow(
          collection: collection, key: row.key, csn: CSN(csn), reason: reason, sqlState: state))
    }

    /// A text that PostgreSQL takes.
    private static func plain(_ text: String) -> String { text.utf8.contains(0) ? shown(text) : text }

    /// Rows that are stored anew, or removed, are set aside no more.
    private func accept(_ keys: [String], _ table: SinkTable) throws(SQLError) {
      var array = ArrayParameter(.bytea)
      for key in keys { array.append(Array(key.utf8)) }
      let name = Array(table.collection.utf8)
      let accepted = try connection.run(Statement.acceptRows, [feed, .bytes(name), .array(array)])
      sink.tables[name]?.rejectedCount -= accepted.changedCount
    }

    private func acceptAll(of table: SinkTable) throws(SQLError) {
      guard table.rejectedCount > 0 else { return }
      let name = Array(table.collection.utf8)
      let accepted = try connection.run(Statement.acceptCollection, [feed, .bytes(name), label])
      sink.tables[name]?.rejectedCount -= accepted.changedCount
    }
  }
#endif
