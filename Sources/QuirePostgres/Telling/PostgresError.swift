// What goes wrong between a database and its mirror.

#if Postgres
  /// An error of a mirror. ``code`` is what programs compare; the message says what happened and what helps.
  public struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: String, Hashable, Sendable {
      /// Another feeder has moved the cursor that is in PostgreSQL. Nothing of the batch was stored.
      case anotherFeeder
      /// The cursor in PostgreSQL is of another database, of a copy that has gone another way, or of another life of
      /// the feed. Nothing was changed.
      case foreignMirror
      /// PostgreSQL refuses what it is told, and will refuse it until somebody changes something there: a password or
      /// rights are missing, a table was changed by hand, or a declared column does not fit.
      case refused
      /// There is no connection, or it was lost. The feeder tries again by itself.
      case notReachable
      /// A declaration, or an option, cannot be.
      case invalidDeclaration
      /// The mirror was told to stop.
      case stopped
      /// There is nothing of the feed in PostgreSQL.
      case noMirror
      /// The connection was lost while a transaction was committed: it took effect, or it did not.
      case outcomeUnknown
      /// A row is not of the type that it is read as, or cannot be made of it.
      case otherType
      /// A transaction was used when its closure had ended. Nothing was sent.
      case transactionEnded
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened and what helps.
    public let message: String
    /// The five characters by which PostgreSQL names an error, if it was one of its.
    public let sqlState: String?

    init(_ code: Code, _ message: String, sqlState: String? = nil) {
      self.code = code
      self.message = message
      self.sqlState = sqlState
    }

    /// Code, message and SQLSTATE.
    public var description: String { "\(code): \(message)" + (sqlState.map { " [SQLSTATE \($0)]" } ?? "") }
  }
#endif
