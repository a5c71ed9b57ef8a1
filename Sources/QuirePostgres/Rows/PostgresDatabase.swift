// Rows in PostgreSQL alone, by the types and the collections of an app.

#if Postgres
  public import QuireDatabase
  internal import QuireStorage
  internal import Synchronization

  /// Collections in PostgreSQL, read and written by the row types that an app has: those of a mirror, or others that
  /// have begun there.
  ///
  /// ```swift
  /// let remote = try PostgresDatabase(at: "dbname=app", tables: [PostgresTable(.songs) { $0.column("year", \.year) }])
  /// let song = try remote.read { tx in try tx[.songs].get("s1") }
  /// if let song { try remote.write { tx in try tx[.songs].set(song, for: "s2") } }
  /// ```
  ///
  /// Objects are the table's `jsonb`, which the type's `Codable` reads and writes, as JSON's coder does. Each call is a
  /// round trip to the server. What a database has and a server has not refuses to compile, with a word on what to do.
  ///
  /// A connection for each thread that is in a transaction; idle ones are kept. From any thread.
  ///
  /// The guide is <doc:OutgrowingOneMachine>.
  public final class PostgresDatabase: Sendable {
    /// How often a transaction is begun again that lost against others.
    static let longestRetry = 12

    private let info: String
    let tables: [PostgresTable]
    private let idle = Mutex<[IdleConnection]>([])

    /// A connection that no thread has.
    private struct IdleConnection: @unchecked Sendable {
      // Sendable: safe because one thread at a time has it.
      let connection: PostgresConnection
    }

    /// Names a server. Nothing is connected before the first transaction.
    ///
    /// - Parameters:
    ///   - info: where PostgreSQL is, as libpq takes it: a URI, or a list of `keyword=value`.
    ///   - tables: what is declared of the tables of collections; one without columns of its own needs nothing.
    /// - Throws: `invalidDeclaration`.
    public init(at info: String, tables: [PostgresTable] = []) throws(PostgresError) {
      try PostgresDeclarations.check(tables)
      self.info = info
      self.tables = tables
    }

    // MARK: Transactions

    /// Runs `body` in a transaction that reads, and sees one state of the server from its first call on. Blocks.
    ///
    /// - Throws: what `body` throws, `notReachable`, `refused`.
    public func read<Result>(_ body: (PostgresReadTransaction) throws -> Result) throws -> Result {
      try run(Statement.beginReading) { try body(PostgresReadTransaction($0)) }
    }

    /// Runs `body` in a transaction that writes, as if it were alone (SERIALIZABLE): against another that is in its way
    /// it may lose, and then `body` runs again, up to twelve times. So what it does beside its transaction may be done
    /// several times. Blocks. Not within another transaction of the same thread's: this one has a connection of its
    /// own, and waits for rows that the other has changed.
    ///
    /// - Throws: what `body` throws, and then nothing has changed; `notReachable`, `refused`; `outcomeUnknown` if the
    ///   connection was lost in the commit.
    @discardableResult
    public func write<Result>(_ body: (PostgresWriteTransaction) throws -> Result) throws -> Result {
      try run(RowStatement.beginWriting) { try body(PostgresWriteTransaction($0)) }
    }

    /// As the form that blocks, on a thread of its own.
    public func read<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresReadTransaction) throws -> Result
    ) async throws -> Result {
      try await ThreadStarter.system.run { [self] _ in
        try run(Statement.beginReading) { try body(PostgresReadTransaction($0)) }
      }
    }

    /// As the form that blocks, on a thread of its own.
    @discardableResult
    public func write<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresWriteTransaction) throws -> Result
    ) async throws -> Result {
      try await ThreadStarter.system.run { [self] _ in
        try run(RowStatement.beginWriting) { try body(PostgresWriteTransaction($0)) }
      }
    }

    private func run<Result>(_ begin: String, _ body: (PostgresSession) throws -> Result) throws -> Result {
      var triesLeft = Self.longestRetry
      while true {
        let kept = idle.withLock { $0.popLast() }
        let session = PostgresSession(try kept?.connection ?? connect(), self)
        do {
          let result = try session.run(begin, body)
          keep(session.connection)
          return result
        } catch {
          if session.isUsable { keep(session.connection) }
          // One that was lost while nobody had it has done nothing: the next one, or a new one, does it all.
          if kept != nil, !session.hasBegun { continue }
          triesLeft -= 1
          guard session.hasLost, triesLeft > 0 else { throw error }
        }
      }
    }

    private func connect() throws(PostgresError) -> PostgresConnection {
      do throws(SQLError) {
        let connection = try PostgresConnection(info, StopFlag())
        try Self.makeList(connection)
        return connection
      } catch {
        throw error.told
      }
    }

    /// Makes the list of tables, if no mirror has: outside of a transaction, which a failure would end.
    private static func makeList(_ connection: PostgresConnection) throws(SQLError) {
      do throws(SQLError) {
        try connection.run(RowStatement.tables, [.bytes([])])
      } catch {
        guard error.state == SQLState.undefinedTable else { throw error }
        do throws(SQLError) { try connection.run(Statement.createCollections) } catch {
          // Another one makes it at this moment.
          guard error.isMadeByAnother else { throw error }
        }
      }
    }

    private func keep(_ connection: PostgresConnection) {
      let kept = IdleConnection(connection: connection)
      idle.withLock { $0.append(kept) }
    }

    // MARK: Collections

    /// Takes a collection over from a mirror: from now on it is written here, and the mirror feeds it no more. A feeder
    /// that is at work stops with `anotherFeeder`; leave the collection out of its feed before it begins again.
    ///
    /// - Returns: false if no mirror feeds the collection, and nothing was done.
    /// - Throws: `refused` if the mirror has not come to the state of one commit, or has several; `notReachable`.
    @discardableResult
    public func adopt<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) throws -> Bool {
      try run(RowStatement.beginWriting) { session in
        guard let table = try session.table(collection.name), !table.feed.isEmpty else { return false }
        guard try session.send(RowStatement.stopFeeder, [.text(table.feed)]).changedCount == 1 else {
          throw PostgresError(
            .refused,
            """
            The mirror “\(table.feed)” has not come to the state of one commit. Let it, with no writer, and try again.
            """)
        }
        try session.send(RowStatement.adopt, [.text(table.feed), .bytes(Array(collection.name.utf8))])
        return true
      }
    }
  }
#endif
