// Queries on rows in PostgreSQL.

#if Postgres
  extension PostgresRows {
    /// Rows that a condition on declared columns finds. Nothing is asked before a result is.
    ///
    /// ```swift
    /// let found = try tx[.songs].find { $0.year == 1990 && $0.title >= "N" }.order(by: .descending(\.year)).limit(10)
    /// for row in try found.all { print(row.key, row.object.title) }
    /// ```
    ///
    /// - Throws: what `condition` throws, `refused` and `notReachable`.
    public func find(
      _ condition: (PostgresFields<Object, Metadata>) throws -> PostgresCondition
    ) throws -> PostgresQuery<Object, Metadata> {
      PostgresQuery(rows: self, condition: try condition(PostgresFields(try table()?.declared)))
    }
  }

  /// A query. Its results throw `invalidDeclaration` if it names a field that has no column.
  public struct PostgresQuery<Object: Codable & Sendable, Metadata: Codable & Sendable> {
    private let rows: PostgresRows<Object, Metadata>
    private let condition: PostgresCondition
    private var orders: [PostgresOrder<Object>] = []
    private var most: Int?

    init(rows: PostgresRows<Object, Metadata>, condition: PostgresCondition) {
      (self.rows, self.condition) = (rows, condition)
    }

    /// The same rows in this order, and behind it in that of their keys. Rows without a value come as PostgreSQL has
    /// them: last where the order ascends.
    public func order(by orders: PostgresOrder<Object>...) -> Self {
      var other = self
      other.orders += orders
      return other
    }

    /// The first ones alone.
    public func limit(_ count: Int) -> Self {
      var other = self
      other.most = max(0, count)
      return other
    }

    /// The rows. One round trip.
    public var all: [PostgresRow<Object, Metadata>] {
      get throws {
        guard let table = try rows.table() else { return [] }
        let (sql, parameters) = try condition.statement()
        let fields = PostgresFields<Object, Metadata>(table.declared)
        let order = try orders.map { order -> String in
          let name = fields.columnName(order.path, "\(order.path)")
          if case .undeclared(let error) = name { throw error }
          return name.ordered + (order.isDescending ? " DESC" : "")
        }
        return try rows.rows(
          rows.session.send(table.statements.find(sql, order: order, limit: most), parameters))
      }
    }

    /// The objects.
    public var objects: [Object] { get throws { try all.map(\.object) } }

    /// The keys.
    public var keys: [String] { get throws { try all.map(\.key) } }

    /// The first row; nil if there is none.
    public var first: PostgresRow<Object, Metadata>? { get throws { try limit(1).all.first } }

    /// How many rows the condition finds, whatever the limit.
    public var count: Int {
      get throws {
        guard let table = try rows.table() else { return 0 }
        let (sql, parameters) = try condition.statement()
        return Int(try rows.session.send(table.statements.count(sql), parameters).integer(0, 0) ?? 0)
      }
    }

    // MARK: What there is none of

    /// Pages are not found by number here.
    @available(
      *, unavailable,
      message: "PostgreSQL reads all rows in front of a page. Go on behind the last key or value that was shown."
    )
    public func offset(_ count: Int) -> Never { preconditionFailure("no program compiles that calls this") }
  }
#endif
