// The rows of a change feed in PostgreSQL, as an app holds them.

#if Postgres
  public import QuireDatabase
  internal import QuireStorage
  internal import Synchronization

  /// A mirror of a feed's collections in PostgreSQL: a table for each collection, and the feed's cursor beside them.
  ///
  /// ```swift
  /// let feed = ChangeFeed("sql")
  /// let db = try Database(at: "library.quire", options: .init(feeds: [feed]))
  /// let mirror = try PostgresMirror(
  ///   of: db, feed: feed, to: "host=/run/postgresql dbname=library",
  ///   tables: [PostgresTable(.songs) { $0.column("title", \.title) }])
  /// try mirror.catchUp()
  /// ```
  ///
  /// Each batch is one transaction of PostgreSQL's, in which the rows are stored and the cursor is moved from where it
  /// was, so that each change arrives exactly once, whoever is killed when. What PostgreSQL is told of is on the disk
  /// of the database, whatever the durability. A row that PostgreSQL refuses is set aside in `quire_rejected`, in the
  /// same transaction, and holds up nothing.
  ///
  /// Tables are made and changed by the mirror; columns and indexes that others have added to them are left alone.
  /// One feeder at a time: a second one stops with `anotherFeeder`. May be used from all threads.
  public final class PostgresMirror: Sendable {
    /// Settings of a mirror.
    public struct Options: Sendable {
      /// Whether the bytes of rows are stored as well, from which they can be read back to the bit.
      public var keepsBytes: Bool
      /// Whether a cursor of another database, or of another life of the feed, is an answer to begin anew, over the
      /// tables that are there, and not an error.
      public var beginsAnew: Bool
      /// How many rows a transaction has at the most; there are fewer while PostgreSQL is slow.
      public var largestBatch: Int
      /// How long the feeder waits at the most before it tries to connect again.
      public var longestPause: Duration
      /// Is told what happens, on the thread of the feeder.
      public var report: (@Sendable (PostgresEvent) -> Void)?

      /// Settings; what is left out has the value that suits most.
      public init(
        keepsBytes: Bool = true, beginsAnew: Bool = false, largestBatch: Int = 10_000,
        longestPause: Duration = .seconds(30), report: (@Sendable (PostgresEvent) -> Void)? = nil
      ) {
        self.keepsBytes = keepsBytes
        self.beginsAnew = beginsAnew
        self.largestBatch = largestBatch
        self.longestPause = longestPause
        self.report = report
      }
    }

    let database: Database
    let feed: ChangeFeed
    let conninfo: String
    let tables: [PostgresTable]
    let options: Options
    let stopping: StopFlag
    private let metrics: SinkMetrics
    private let holdUp = Mutex<PostgresError?>(nil)

    /// What sinks of this mirror are made with.
    var settings: SinkSettings {
      SinkSettings(
        conninfo: conninfo, feed: feed.name, tables: tables, keepsBytes: options.keepsBytes, stopping: stopping,
        report: tell)
    }

    /// A mirror; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - database: the database, opened with the feed among its options.
    ///   - feed: whose collections are mirrored.
    ///   - conninfo: where PostgreSQL is, in the words of libpq: keywords and values, or a URI. Several hosts with
    ///     `target_session_attrs=read-write` find the one that has taken over.
    ///   - tables: the collections that have columns of their own.
    ///   - options: settings.
    /// - Throws: `invalidDeclaration` if a collection, a column or an option cannot be.
    public init(
      of database: Database, feed: ChangeFeed, to conninfo: String, tables: [PostgresTable] = [],
      options: Options = Options()
    ) throws(PostgresError) {
      self.database = database
      self.feed = feed
      self.conninfo = conninfo
      self.options = options
      self.tables = tables
      try PostgresDeclarations.check(tables)
      guard options.largestBatch > 0, options.longestPause > .zero else {
        throw PostgresError(.invalidDeclaration, "A batch has one row at the least, and a pause takes some time.")
      }
      stopping = StopFlag()
      metrics = SinkMetrics(feed: feed.name)
    }

    /// Brings the rows over, until there are no changes left, on this thread, which is in no transaction.
    ///
    /// Tries again for ever while PostgreSQL is away; what it refuses, such as a password, is thrown at once.
    ///
    /// - Throws: `PostgresError` with `anotherFeeder`, `foreignMirror`, `refused` or `stopped`, and what
    ///   `Database.nextChanges` and `Database.bootstrap` throw.
    public func catchUp() throws {
      try Feeder(self).run(isFollowing: false)
    }

    /// Brings the rows over, and every change that is made from now on, on this thread, until ``stop()`` is called or
    /// the database is closed. While it is suspended nothing goes over, and there is no connection.
    ///
    /// What PostgreSQL refuses, because a table was changed by hand, a right is missing or a password is wrong, is
    /// tried again for ever, too, more and more slowly: it goes on by itself when that is mended, and until then
    /// nothing goes over, so that no reader takes a part for the whole. ``trouble`` and `retry` tell of it.
    ///
    /// - Throws: as ``catchUp()``, but neither `refused` nor `stopped`.
    public func follow() throws {
      do { try Feeder(self).run(isFollowing: true) } catch let error as PostgresError where error.code == .stopped {}
    }

    /// As ``follow()``, on a thread of its own, until the task is cancelled.
    public func run() async throws {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
          do {
            try ThreadStarter.system.start { done.resume(with: Result { try self.follow() }) }
          } catch {
            done.resume(throwing: error)
          }
        }
      } onCancel: {
        stop()
      }
    }

    /// Has the feeder end soon, between two batches or while it waits for an answer; what it has begun is rolled back.
    /// For good: a mirror that was stopped is not begun again.
    public func stop() { stopping.set() }

    // MARK: Looking

    /// What holds the feeder up at this moment, and is tried again; nil while it works, and before it was begun.
    ///
    /// `notReachable` goes by; `refused` wants somebody to do what the message says.
    public var trouble: PostgresError? { holdUp.withLock { $0 } }

    func isHeldUp(by error: PostgresError?) { holdUp.withLock { $0 = error } }

    /// Tells of what has happened.
    func tell(_ event: PostgresEvent) {
      if case .retry(let error, _) = event { isHeldUp(by: error) }
      metrics.note(event)
      options.report?(event)
    }

    /// How far the mirror has come. Connects to PostgreSQL.
    ///
    /// - Throws: `noMirror` if there is none, `notReachable`, `refused`, and what `Database.status` throws.
    public func status() throws -> PostgresStatus { try PostgresLook(self).status() }

    /// The rows that were set aside, in the order of their collections and keys. Connects to PostgreSQL.
    ///
    /// - Throws: `noMirror`, `notReachable` and `refused`.
    public func rejected() throws -> [RejectedRow] { try PostgresLook(self).rejected() }

    /// Compares all rows with those in PostgreSQL, in one snapshot of each, and calls `body` with each difference.
    ///
    /// Exact where the mirror keeps bytes; without, keys and numbers of rows are compared. Rows that were set aside
    /// are differences only if they are set aside no more, or are others. O(rows).
    ///
    /// - Returns: how many rows are equal.
    /// - Throws: `noMirror`, `notReachable`, `refused`, and what reading rows throws.
    public func verify(_ body: (PostgresDifference) -> Void) throws -> Int {
      try withoutActuallyEscaping(body) { body in try PostgresLook(self).verify(body) }
    }

    /// What a run would do, without doing it: the statements that make or change tables, and how many rows go over.
    /// Connects to PostgreSQL, and changes nothing there.
    ///
    /// - Throws: `foreignMirror`, `notReachable`, `refused`, and what reading the feed throws.
    public func plan() throws -> PostgresPlan { try PostgresLook(self).plan() }
  }
#endif
