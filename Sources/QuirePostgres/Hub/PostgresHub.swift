// Many databases that share rows by way of one PostgreSQL.

#if Postgres
  public import QuireDatabase
  internal import Synchronization

  /// One database's part in a hub: rows of some collections that many databases share, each with all of them, each
  /// writing whenever it likes, also while the hub is away.
  ///
  /// ```swift
  /// let feed = PostgresHub.feed(over: ["notes"])
  /// let db = try Database(at: file, options: .init(feeds: [feed]))
  /// let hub = try PostgresHub(db, over: ["notes"], as: "laptop", at: "host=hub.example dbname=notes") { _ in .theirs }
  /// try hub.synchronize()
  /// ```
  ///
  /// The hub gives each row a version. A change is pushed with the version that it replaces, and is taken over if that
  /// is the one the hub has; else somebody was first, and the app's rule decides between both. What comes down is
  /// stored in the transaction that notes how far it has come, but for rows that have changed here since the hub last
  /// had them.
  ///
  /// Each push has a number, and is written down here before the hub hears of it. So the outcome can be told if an
  /// answer was lost or either side was killed: a change is taken over once.
  ///
  /// What it knows stands in collections of the database whose names begin with `quire.hub`; leave them alone. Where
  /// they are gone, as after `removeAll()` of the whole database, it joins anew: all rows are compared with the hub's,
  /// those that are not here come down again, and the rule decides about those that differ. The guide is
  /// <doc:OutgrowingOneMachine>.
  ///
  /// Invariants:
  /// 1. One call at a time uses `server`, and what is kept of the hub: the one that has set `isBusy` of the seat.
  /// 2. A row is to be pushed if and only if it differs from its base, and no conflict about it is undecided.
  /// 3. Of each row to be pushed the feed tells behind `HubState.outbound`, or a pending mark does.
  public final class PostgresHub: @unchecked Sendable {
    // Sendable: safe because of invariant 1, and because the rest never changes.

    /// How many rows go over in one transaction.
    static let batchCount = 1000
    /// A push ends with the row that passes so many bytes.
    static let batchByteCount = 4 << 20
    /// The longest name of a collection: what is kept of its rows is in collections with longer ones.
    private static let longestName =
      Limits.collectionNameByteCount - RowCollection<HubTheirs, NoMetadata>.hubConflicts("").name.utf8.count

    let database: Database
    let collections: [String]
    let feed: ChangeFeed
    let origin: String
    let rule: HubRule
    let server: any HubServer
    /// The key of what is kept of the hub.
    let name = "hub"
    private let seat: HubSeat
    let stopping: StopFlag

    /// A feed that tells of these collections, for the options with which the database is opened.
    public static func feed(over collections: [String]) -> ChangeFeed {
      ChangeFeed("quire.hub", over: .only(collections), keeping: .keys)
    }

    init(
      _ database: Database, over collections: [String], as origin: String, server: any HubServer,
      place: [String] = [], stopping: StopFlag = StopFlag(), rule: @escaping HubRule
    ) throws(HubError) {
      guard !collections.isEmpty, !collections.contains(where: { $0.hasPrefix("quire.hub") }), !origin.isEmpty else {
        throw HubError(
          .invalidOption,
          "A hub has an origin and collections, whose names do not begin with “quire.hub”. Name them.")
      }
      if let long = collections.first(where: { $0.utf8.count > Self.longestName }) {
        throw HubError(
          .invalidOption,
          "The name “\(shown(long))” is too long to be shared: at most \(Self.longestName) bytes are possible.")
      }
      seat = try HubSeat.taken(of: database, place + [origin] + collections)
      self.database = database
      self.collections = collections
      self.origin = origin
      self.server = server
      self.rule = rule
      self.stopping = stopping
      feed = Self.feed(over: collections)
    }

    /// Takes part in a hub. Nothing is connected before the first call.
    ///
    /// - Parameters:
    ///   - database: the database, opened with ``feed(over:)`` of the same collections.
    ///   - collections: the collections that are shared. Encrypted rows stay where they are.
    ///   - origin: the name of this database among the members, which no other one has.
    ///   - info: where PostgreSQL is, as libpq takes it: a URI, or a list of `keyword=value`.
    ///   - hub: the name of the hub; one PostgreSQL may have many.
    ///   - rule: decides about rows that two sides have changed.
    /// - Throws: ``HubError`` of the kind `invalidOption`: also if there is another `PostgresHub` over this database,
    ///   of another hub, origin or collections. A database takes part in one hub.
    public convenience init(
      _ database: Database, over collections: [String], as origin: String, at info: String, hub: String = "quire",
      rule: @escaping HubRule
    ) throws(HubError) {
      guard !(collections + [origin, hub]).contains(where: { $0.utf8.contains(0) }) else {
        throw HubError(.invalidOption, "Names of origins, hubs and shared collections have no U+0000.")
      }
      let stopping = StopFlag()
      try self.init(
        database, over: collections, as: origin, server: PostgresHubServer(info, hub: hub, stopping),
        place: [info, hub], stopping: stopping, rule: rule)
    }

    /// Who this database is to the hub.
    var lineage: String { get throws { try database.newestCursor(of: feed).lineage.description } }

    /// Takes over what the hub has, and pushes what has changed here, until neither side has anything new. Blocks; from
    /// any thread, in no transaction.
    ///
    /// - Returns: what went over.
    /// - Throws: ``HubError``, and what the database throws. What went over before stays.
    @discardableResult
    public func synchronize() throws -> HubProgress {
      try alone {
        var progress = HubProgress()
        try settle(&progress)
        var (hasMore, hasRefused) = (true, false)
        while hasMore {
          let hasMoved = try pull(&progress)
          // Whoever was first with a refused row has changed the hub: else it is not the one that this database knows.
          if hasRefused, !hasMoved { try compareOnce(&progress) }
          let refused = progress.refused
          hasMore = try pushNext(&progress)
          hasRefused = progress.refused > refused
        }
        return progress
      }
    }

    /// Whether a collection is one of those that are shared.
    func shares(_ collection: String) -> Bool { collections.contains { $0.hasBytes(of: collection) } }

    private func compareOnce(_ progress: inout HubProgress) throws {
      guard !progress.wasCompared else {
        throw HubError(.damagedHub, "The hub refuses rows whose versions it has. Look at its table “quire_hub_row”.")
      }
      try compareAll(&progress)
    }

    /// Runs `body`, which has the server to itself, unless another call has it.
    private func alone<Result>(_ body: () throws -> Result) throws -> Result {
      guard seat.isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
        throw HubError(.busy, "Another call of this hub's is under way. Wait for it.")
      }
      defer { seat.isBusy.store(false, ordering: .releasing) }
      return try body()
    }

    /// What is kept of the hub.
    func state(_ tx: some TransactionReading) throws -> HubState {
      try tx.handle.readTransaction[.hubStates].get(name) ?? HubState(collections: collections)
    }
  }

  /// What has gone over between a database and its hub.
  public struct HubProgress: Sendable, Hashable {
    /// Rows of the hub that were stored here.
    public var applied = 0
    /// Rows of this database that the hub has taken over.
    public var pushed = 0
    /// Rows that the hub has not taken over, since it had another version.
    public var refused = 0
    /// Rows that two sides had changed, and that the rule has decided about.
    public var resolved = 0
    /// Rows that two sides had changed, and that are left undecided.
    public var undecided = 0
    /// Rows of the hub that this database cannot hold, not even among the conflicts: their keys are too long, or are no
    /// text. They were passed over, and stay in the hub.
    public var unusable = 0
    /// Whether all rows were compared: the hub had been put back to an older state, or nothing was known of it here.
    public var wasCompared = false
  }
#endif
