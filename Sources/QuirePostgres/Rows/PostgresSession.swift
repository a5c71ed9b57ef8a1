// A transaction on a connection, and what it knows of tables.

#if Postgres
  internal import QuireDatabase
  internal import Synchronization

  /// The table of a collection, as it is.
  struct PostgresRowTable {
    /// The mirror that feeds it; empty if none does.
    let feed: String
    let statements: RowStatement
    let declared: PostgresTable?
  }

  /// A transaction on a connection. For one thread.
  ///
  /// Invariant: after `failure`, and when the closure of the transaction has ended, nothing more is sent but the end of
  /// the transaction: the connection is another one's then.
  final class PostgresSession {
    let connection: PostgresConnection
    private let database: PostgresDatabase
    private var tables: [[UInt8]: PostgresRowTable] = [:]
    private var failure: SQLError?
    private let isOver = Atomic(false)

    init(_ connection: PostgresConnection, _ database: PostgresDatabase) {
      (self.connection, self.database) = (connection, database)
    }

    /// Whether the transaction has lost against another one, and is right if it is done again.
    var hasLost: Bool { failure?.hasLostAgainstAnother == true }

    /// Whether the server has begun the transaction.
    private(set) var hasBegun = false

    /// Whether the connection is good for another transaction.
    private(set) var isUsable = true

    /// Runs the transaction.
    func run<Result>(_ begin: String, _ body: (PostgresSession) throws -> Result) throws -> Result {
      try send(begin)
      hasBegun = true
      let result: Result
      do {
        defer { isOver.store(true, ordering: .releasing) }
        result = try body(self)
      } catch {
        try rollBack()
        throw error
      }
      // A server takes the commit of a failed transaction for a rollback, without an error.
      if let failure {
        try rollBack()
        throw failure.told
      }
      do throws(SQLError) { try connection.run(Statement.commit) } catch {
        failure = error
        guard error.state == nil else { throw error.told }
        isUsable = false
        if begin == Statement.beginReading { throw error.told }
        throw PostgresError(
          .outcomeUnknown,
          "The connection was lost while the transaction was committed: \(error.message) Look whether it took effect.")
      }
      return result
    }

    private func rollBack() throws {
      guard failure?.state != nil || failure == nil else {
        isUsable = false
        return
      }
      do throws(SQLError) { try connection.run(Statement.rollback) } catch { isUsable = false }
    }

    /// Sends a statement.
    @discardableResult
    func send(_ sql: String, _ parameters: [Parameter] = []) throws(PostgresError) -> Rows {
      if isOver.load(ordering: .acquiring) {
        throw PostgresError(
          .transactionEnded, "The transaction has ended. Use it within its closure, and begin another one.")
      }
      if let failure { throw failure.told }
      do throws(SQLError) { return try connection.run(sql, parameters) } catch {
        failure = error
        if error.state == nil { isUsable = false }
        throw error.told
      }
    }

    // MARK: Tables

    /// The table of a collection; nil if there is none.
    func table(_ collection: String) throws(PostgresError) -> PostgresRowTable? {
      let key = Array(collection.utf8)
      if let table = tables[key] { return table }
      let found = try send(RowStatement.tables, [.bytes(key)])
      guard found.count > 0 else { return nil }
      guard let feed = found.text(0, 0), let name = found.text(0, 1), let columns = found.text(0, 2),
        // One that is nobody's but ours comes first, and is meant.
        found.count == 1 || feed.isEmpty
      else {
        throw PostgresError(
          .refused,
          "\(found.count) mirrors feed “\(collection)” into tables of their own. Which one is meant nobody knows.")
      }
      let declared = database.tables.first { $0.collection.hasBytes(of: collection) }
      let known = ColumnList.columns(columns)
      if let missing = declared?.columns.first(where: { !known.contains($0) }) {
        throw PostgresError(
          .invalidDeclaration,
          """
          The table \(name) has no column “\(missing.name)” of the type \(missing.type). Let a mirror with this \
          declaration run first.
          """)
      }
      let hasBytes = Statement.byteColumns.allSatisfy { name in known.contains { $0.name == name } }
      let table = PostgresRowTable(
        feed: feed, statements: RowStatement(table: name, hasBytes: hasBytes, columns: declared?.columns ?? []),
        declared: declared)
      tables[key] = table
      return table
    }

    /// The table of a collection that is to be written; made if there is none.
    func tableForWriting(_ collection: String) throws(PostgresError) -> PostgresRowTable {
      if let table = try table(collection) {
        guard table.feed.isEmpty else {
          throw PostgresError(
            .refused,
            """
            The mirror “\(table.feed)” feeds “\(collection)”, and would write over what is written here. Leave the \
            collection out of its feed, and call `adopt`.
            """)
        }
        return table
      }
      let declared = database.tables.first { $0.collection.hasBytes(of: collection) }
      let plain = TableNames.plain(collection)
      let isFree = try send(Statement.countTables, [.text(plain)]).integer(0, 0) == 0
      let name = isFree ? plain : TableNames.hashed(collection, "")
      try send(Statement.createTable(name, declared?.columns ?? []))
      for columns in declared?.indexes ?? [] {
        try send(Statement.createIndex(TableNames.index(name, columns), name, columns))
      }
      try send(
        Statement.insertCollection,
        [
          .text(""), .bytes(Array(collection.utf8)), .text(TableNames.readable(collection)), .text(name),
          .text(ColumnList.text(declared?.columns ?? [])), .integer(0),
        ])
      guard let table = try table(collection) else {
        throw PostgresError(.refused, "The table \(name) was made, and is not there.")
      }
      return table
    }
  }
#endif
