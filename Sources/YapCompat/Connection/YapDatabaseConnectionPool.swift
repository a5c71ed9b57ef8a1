// A few connections that share the work.

/// Hands out connections: an idle one, a new one below the limit, or the one with the least to do. New call:
/// `Database.read(_:)`, as connections cost nothing and reads never wait for each other.
public final class YapDatabaseConnectionPool: Sendable {
  private struct State {
    var limit: UInt = 3
    var config: YapDatabaseConnectionConfig?
    var didCreate: (@Sendable (YapDatabaseConnection) -> Void)?
    var connections: [YapDatabaseConnection] = []
  }

  private let database: YapDatabase
  private let state = Guarded(State())

  /// A pool without connections yet. New call: none.
  public init(database: YapDatabase) { self.database = database }

  /// How many connections there may be; 0 is 3. Fewer than there are drops those that were made last. New call: none.
  public var connectionLimit: UInt {
    get { state.withLock { $0.limit } }
    set {
      state.withLock { state in
        state.limit = newValue == 0 ? 3 : newValue
        let extra = state.connections.count - Int(clamping: state.limit)
        if extra > 0 { state.connections.removeLast(extra) }
      }
    }
  }

  /// The settings of new connections; nil for those of the database. New call: `Connection.Options`.
  public var connectionDefaults: YapDatabaseConnectionConfig? {
    get { state.withLock { $0.config } }
    set { state.withLock { $0.config = newValue } }
  }

  /// Called with each new connection before it is handed out. New call: none.
  @preconcurrency public var didCreateNewConnectionBlock: (@Sendable (YapDatabaseConnection) -> Void)? {
    get { state.withLock { $0.didCreate } }
    set { state.withLock { $0.didCreate = newValue } }
  }

  /// A connection to use. New call: `Database.makeConnection(_:)`.
  public func connection() -> YapDatabaseConnection {
    let (connection, didCreate) = state.withLock { state in
      let leastBusy = state.connections.min { $0.pendingTransactionCount < $1.pendingTransactionCount }
      let isFull = state.connections.count >= Int(clamping: state.limit)
      if let leastBusy, isFull || leastBusy.pendingTransactionCount == 0 {
        return (leastBusy, nil as (@Sendable (YapDatabaseConnection) -> Void)?)
      }
      let made = database.newConnection(state.config)
      state.connections.append(made)
      assert(state.connections.count <= Int(clamping: state.limit), "there are more connections than may be")
      return (made, state.didCreate)
    }
    didCreate?(connection)
    return connection
  }
}
