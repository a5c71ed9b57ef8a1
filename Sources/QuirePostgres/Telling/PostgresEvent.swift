// What a mirror tells of itself.

#if Postgres
  public import QuireDatabase

  /// What the feeder of a mirror has done.
  public enum PostgresEvent: Sendable {
    /// It is connected; the cursor in PostgreSQL is at this commit.
    case connected(csn: CSN, state: PostgresStatus.State)
    /// The connection was lost, or PostgreSQL has refused something: for now, or, if the error is `refused`, until
    /// somebody does what it says. It tries again after a pause.
    case retry(PostgresError, pause: Duration)
    /// A batch is stored.
    case batch(csn: CSN, rows: Int, state: PostgresStatus.State)
    /// A row was set aside.
    case rejected(RejectedRow)
    /// A statement has made or changed a table.
    case changedTable(String)
    /// All rows go over anew, and why.
    case begins(String)
  }

  /// How far a mirror has come.
  public struct PostgresStatus: Sendable {
    /// What the tables show.
    public enum State: String, Hashable, Sendable {
      /// A part of the rows: not all have gone over yet.
      case bootstrapping
      /// A mixture of states.
      case catchingUp
      /// The rows of one commit.
      case consistent
    }

    /// The name of the feed.
    public let feed: String
    /// What the tables show.
    public let state: State
    /// The commit that the tables have come to.
    public let csn: CSN
    /// How far the feed is ahead; nil while rows go over for the first time, or if the cursor has expired.
    public let behind: FeedStatus.Amount?
    /// How many rows are set aside.
    public let rejectedCount: Int
    /// The tables by their collections.
    public let tables: [String: String]
  }

  /// A row that PostgreSQL has refused.
  public struct RejectedRow: Hashable, Sendable {
    /// Its collection.
    public let collection: String
    /// Its key.
    public let key: String
    /// The commit that it is of.
    public let csn: CSN
    /// Why it was refused.
    public let reason: String
    /// By which PostgreSQL names the reason; nil if it was found before.
    public let sqlState: String?
  }

  /// A row that is not the same on both sides.
  public enum PostgresDifference: Hashable, Sendable, CustomStringConvertible {
    /// PostgreSQL does not have it.
    case missing(collection: String, key: String)
    /// The database does not have it.
    case surplus(collection: String, key: String)
    /// Both have it, and it is not the same.
    case different(collection: String, key: String)
    /// It is set aside in PostgreSQL, and is not what was set aside, or is not there at all.
    case staleRejection(collection: String, key: String)

    /// One line.
    public var description: String {
      switch self {
      case .missing(let collection, let key): "missing \(shown(collection)) \(shown(key))"
      case .surplus(let collection, let key): "surplus \(shown(collection)) \(shown(key))"
      case .different(let collection, let key): "different \(shown(collection)) \(shown(key))"
      case .staleRejection(let collection, let key): "stale rejection \(shown(collection)) \(shown(key))"
      }
    }
  }

  /// What a run of a mirror would do.
  public struct PostgresPlan: Sendable {
    /// The statements that make or change tables, in their order.
    public let statements: [String]
    /// Whether all rows go over, and not changes alone.
    public let bootstraps: Bool
    /// How many changes go over, or how many rows.
    public let rowCount: Int
  }
#endif
