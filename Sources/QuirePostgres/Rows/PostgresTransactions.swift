// Transactions on rows in PostgreSQL.

#if Postgres
  public import QuireDatabase

  /// A transaction that reads. For the thread and the life of its closure.
  public struct PostgresReadTransaction {
    private let session: PostgresSession

    init(_ session: PostgresSession) { self.session = session }

    /// The rows of a collection.
    public subscript<Object: Codable, Metadata: Codable>(
      collection: RowCollection<Object, Metadata>
    ) -> PostgresRows<Object, Metadata> { PostgresRows(session, collection) }
  }

  /// A transaction that writes. For the thread and the life of its closure, which may run several times.
  public struct PostgresWriteTransaction {
    private let session: PostgresSession

    init(_ session: PostgresSession) { self.session = session }

    /// The rows of a collection. Its table is made by the first row that is stored.
    public subscript<Object: Codable, Metadata: Codable>(
      collection: RowCollection<Object, Metadata>
    ) -> WritablePostgresRows<Object, Metadata> { WritablePostgresRows(PostgresRows(session, collection)) }
  }

  // MARK: What there is none of

  extension PostgresReadTransaction {
    /// There are no views here.
    @available(
      *, unavailable, message: "PostgreSQL knows no positions in sorted groups. Use find, order(by:) and limit(_:)."
    )
    public func view<View>(_ view: View) -> Never { preconditionFailure("no program compiles that calls this") }
  }

  extension PostgresDatabase {
    /// There are no pinned snapshots here.
    @available(
      *, unavailable, message: "A server holds no snapshot for hours: it keeps VACUUM from its work. Read again."
    )
    public func pin() -> Never { preconditionFailure("no program compiles that calls this") }

    /// There is no stream of commits here.
    @available(*, unavailable, message: "PostgreSQL tells of changes by LISTEN and NOTIFY, or by logical decoding.")
    public var commits: Never { preconditionFailure("no program compiles that calls this") }

    /// Nothing is observed here.
    @available(*, unavailable, message: "PostgreSQL tells of changes by LISTEN and NOTIFY, or by logical decoding.")
    public func observe<Value>(_ body: (PostgresReadTransaction) throws -> Value) -> Never {
      preconditionFailure("no program compiles that calls this")
    }

    /// There are no extensions here.
    @available(*, unavailable, message: "Indexes are declared with PostgresTable, and views are queries here.")
    public func register<Extension>(_ extension: Extension) -> Never {
      preconditionFailure("no program compiles that calls this")
    }
  }

  extension PostgresRows {
    /// Rows have no numbers here.
    @available(*, unavailable, message: "Rows in PostgreSQL have keys and no numbers of their own.")
    public func rowID(_ key: String) -> Never { preconditionFailure("no program compiles that calls this") }

    /// Positions are not known here.
    @available(
      *, unavailable, message: "The position of a key costs PostgreSQL a walk through all before it. Use count."
    )
    public func rank(_ key: String) -> Never { preconditionFailure("no program compiles that calls this") }
  }
#endif
