// Tables that are made, changed and renamed in a transaction.

#if Postgres
  extension SinkStep {
    /// The table of a collection, made if it is not there.
    func table(of collection: String) throws -> SinkTable {
      let key = Array(collection.utf8)
      if let table = sink.tables[key] { return table }
      let columns = sink.wantedColumns(collection)
      var table = SinkTable(
        collection: collection, name: try freeName(for: collection), columns: columns, csn: next.csn)
      table.statements = SinkStatements(
        table.name, hasBytes: sink.keepsBytes, sink.declaredColumns(collection))
      try change(Statement.createTable(table.name, columns))
      for statement in sink.indexes(of: table) { try change(statement) }
      try connection.run(
        Statement.insertCollection,
        [
          feed, .bytes(key), .text(TableNames.readable(collection)), .text(table.name), .text(ColumnList.text(columns)),
          .integer(Int64(bitPattern: table.csn)),
        ])
      sink.tables[key] = table
      done.named.insert(key)
      return table
    }

    /// Keeps what the bytes of a collection's rows are read with, if it is something else now.
    func note(_ notes: String, _ collection: String) throws {
      let key = Array(collection.utf8)
      guard let table = sink.tables[key], table.notes != notes else { return }
      try connection.run(Statement.changeNotes, [feed, .bytes(key), .text(notes)])
      sink.tables[key]?.notes = notes
    }

    /// Makes a table that somebody has dropped.
    func makeAgain(_ table: SinkTable) throws {
      let key = Array(table.collection.utf8)
      var table = table
      table.columns = sink.wantedColumns(table.collection)
      table.needsFill = true
      try change(Statement.createTable(table.name, table.columns))
      for statement in sink.indexes(of: table) { try change(statement) }
      try connection.run(Statement.changeColumns, [feed, .bytes(key), .text(ColumnList.text(table.columns))])
      sink.tables[key] = table
    }

    /// Adds what is declared and not there.
    func addColumns(to table: SinkTable) throws {
      let key = Array(table.collection.utf8)
      for statement in try sink.changes(of: table) { try change(statement) }
      var changed = table
      changed.columns += sink.wantedColumns(table.collection).filter { !table.columns.contains($0) }
      changed.needsFill = true
      try connection.run(Statement.changeColumns, [feed, .bytes(key), .text(ColumnList.text(changed.columns))])
      sink.tables[key] = changed
    }

    /// Gives the table of a collection another name. What the other name had is gone with its rows.
    ///
    /// - Throws: `StaleCursorError` if a table got its name behind the cursor: what a cursor that was put back tells of
    ///   renamings was done already.
    func rename(_ old: String, _ new: String) throws {
      let (oldKey, newKey) = (Array(old.utf8), Array(new.utf8))
      let from = sink.tables[oldKey]
      let known = sink.state.csn
      let isAhead = [oldKey, newKey].contains { key in
        !done.named.contains(key) && (sink.tables[key]?.csn ?? 0) > known
      }
      if isAhead { throw StaleCursorError() }
      guard let from else { return }
      if let other = sink.tables.removeValue(forKey: newKey) {
        try change(Statement.dropTable(other.name))
        try connection.run(Statement.removeCollection, [feed, .bytes(newKey)])
        try connection.run(Statement.acceptCollection, [feed, .bytes(newKey), .integer(.max)])
      }
      var table = SinkTable(
        collection: new, name: try freeName(for: new), columns: from.columns, csn: next.csn,
        needsFill: from.needsFill, notes: from.notes, rejectedCount: from.rejectedCount)
      table.statements = SinkStatements(table.name, hasBytes: sink.keepsBytes, sink.declaredColumns(new))
      try change(Statement.renameTable(from.name, to: table.name))
      try connection.run(
        Statement.renameCollection,
        [
          feed, .bytes(oldKey), .bytes(newKey), .text(TableNames.readable(new)), .text(table.name),
          .integer(Int64(bitPattern: table.csn)),
        ])
      try connection.run(
        Statement.renameRejected, [feed, .bytes(oldKey), .bytes(newKey), .text(TableNames.readable(new))])
      sink.tables[oldKey] = nil
      sink.tables[newKey] = table
      done.named.remove(oldKey)
      done.named.insert(newKey)
      let wanted = sink.wantedColumns(new)
      if wanted.contains(where: { !table.columns.contains($0) }) { try addColumns(to: table) }
    }

    /// The name that the table of a collection gets.
    private func freeName(for collection: String) throws(SQLError) -> String {
      let plain = TableNames.plain(collection)
      let isTaken = try connection.run(Statement.countTables, [.text(plain)]).integer(0, 0) != 0
      return isTaken ? TableNames.hashed(collection, sink.feed) : plain
    }

    private func change(_ statement: String) throws(SQLError) {
      try connection.run(statement)
      sink.report(.changedTable(statement))
    }
  }

  /// Tables are ahead of the cursor.
  struct StaleCursorError: Error {}
#endif
