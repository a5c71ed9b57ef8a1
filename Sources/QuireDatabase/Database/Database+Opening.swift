// Opening a database, and what apps do with it.

public import QuireStorage

extension Database {
  /// Opens the database at `path`, or creates it.
  ///
  /// After a crash this replays the log and makes the result durable before it returns. A file that is refused is not
  /// changed in any way: nothing is renamed, deleted or made anew.
  ///
  /// - Throws: `notADatabase`, `newerFormat`, `damagedMetaPage`, `damagedPage`, `damagedLog`, `missingLog`,
  ///   `truncatedFile`, `alreadyOpen`, `notFound`, `invalidOption`, `diskFull`, `inputOutput`; `collectionExists` and
  ///   `nameTooLong` if a collection cannot be renamed.
  public convenience init(at path: String, options: Options = Options()) throws(DatabaseError) {
    try self.init(at: path, options: options, environment: StorageEnvironment())
  }

  /// Opens a database in surroundings of the caller's making.
  ///
  /// - Parameter recovery: is told how far a recovery has come. What that throws ends the opening with an error that
  ///   stands for it.
  package convenience init(
    at path: String, options: Options, environment: StorageEnvironment, recovery: RecoveryProgress? = nil
  ) throws(DatabaseError) {
    self.init(
      try DatabaseOpening.open(path, options, environment) { environment throws(StorageError) in
        try StorageEngine(at: path, options: options.storage, environment: environment, progress: recovery)
      })
  }

  /// The engine below, for tests that take it through its background work.
  package var engine: StorageEngine { core.engine }

  /// A database without files, empty, that ends with the object: for tests, caches and scratch work.
  ///
  /// Everything works as in one with files, but that nothing survives. Memory of removed rows is used again; `compact`
  /// gives it back.
  ///
  /// - Throws: `invalidOption`, `inputOutput` if there is no memory.
  public static func inMemory(options: Options = Options()) throws(DatabaseError) -> Database {
    let engine: StorageEngine
    do throws(StorageError) { engine = try StorageEngine.inMemory(options: options.storage) } catch {
      throw DatabaseError(error)
    }
    return Database(try DatabaseCore(engine, path: "", options: options, Diagnostics(options, path: "")))
  }

  /// A connection of its own: the same database, with its own settings.
  ///
  /// - Parameter options: its settings; `Options.connectionDefaults` if left out.
  public func makeConnection(_ options: Connection.Options? = nil) -> Connection {
    Connection(core, options ?? core.options.connectionDefaults)
  }

  // MARK: Transactions

  /// Like `read(_:)`, with the place of the call for diagnostics.
  public func read<Result>(at site: CallSite, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    try connection.read(at: site, body)
  }

  /// Like `read(_:)`, with the place of the call for diagnostics.
  @concurrent
  public func read<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await connection.read(at: site, body)
  }

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @discardableResult
  public func write<Result>(at site: CallSite, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try connection.write(at: site, body)
  }

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try await connection.write(at: site, body)
  }

  /// Returns when every async `read` and `write` of the database that was called before has ended. Those of connections
  /// are the connections' own affair: see `Connection.drain`.
  @concurrent
  public func drain() async { await connection.drain() }

  /// Keeps the newest snapshot for as long as the returned object lives, or until it is told to advance.
  ///
  /// - Throws: `closed`, `limitReached` if there are 65,536 reads and pinned snapshots at one time.
  public func pin(
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws(DatabaseError) -> PinnedSnapshot {
    try PinnedSnapshot(core, CallSite(fileID: fileID, line: line))
  }

  /// All commits from now on, in their order, each after it is durable.
  public var commits: CommitStream { commits(tellingRegistrations: false) }

  /// The same, optionally with the commits by which nothing but the content of an extension begins or ends: for who
  /// follows what an extension shows, and asks `Commit.restarts(extensionNamed:)`.
  public func commits(tellingRegistrations: Bool) -> CommitStream {
    commits(telling: tellingRegistrations ? .registrations : .none)
  }

  /// The same with all commits by which nothing but extensions changed: for who asks ``FollowedReads`` about them.
  public var allCommits: CommitStream { commits(telling: .all) }

  private func commits(telling silent: CommitStream.Silent) -> CommitStream {
    CommitStream(core.history, limit: core.options.commitBuffer, tells: silent) { [core] in core.publishedCSN }
  }

  // MARK: Files

  /// Figures since opening, and as of now. Costs a few locks.
  public var statistics: StorageStatistics { core.engine.statistics }

  /// Returns when every commit acknowledged so far is on the disk, whatever the durability it was made with.
  public func flush() throws(DatabaseError) { try core.wrapping { () throws(StorageError) in try core.engine.flush() } }

  /// Writes all that is in the log home. Happens by itself as the log grows.
  ///
  /// - Throws: `closed`, `failStop`, `nestedTransaction`, `diskFull`, `inputOutput`.
  public func checkpoint() throws(DatabaseError) {
    try core.wrapping { () throws(StorageError) in try core.engine.checkpoint() }
  }

  /// The same, awaited; `limitReached` if the system gives no thread.
  @concurrent
  public func flush() async throws { try await waiting { core throws(StorageError) in try core.engine.flush() } }

  /// The same as the other form, awaited; `limitReached` if the system gives no thread.
  @concurrent
  public func checkpoint() async throws {
    try await waiting { core throws(StorageError) in try core.engine.checkpoint() }
  }

  /// Runs what waits for the disk on a thread of the engine's that is there for it.
  private func waiting(_ body: @escaping @Sendable (DatabaseCore) throws(StorageError) -> Void) async throws {
    let job = PlainJob<Void> { [core] _ in
      try core.wrapping { () throws(StorageError) in try body(core) }
    }
    try await job.result {
      try core.wrapping { () throws(StorageError) in try core.storage.threads.runWaiting { job.run() } }
    }
  }

  /// Writes everything home, leaves a file that needs no log, and gives the database up: when it returns, on whatever
  /// thread, the file can be opened again. A call while another one closes waits for that, and has the same outcome; a
  /// call after it does nothing, and while it is suspended there is nothing to write. Waits for `onCommit` actions that
  /// have not ended. Closes control sockets in any case.
  ///
  /// - Throws: `inUse` while transactions or pinned snapshots are alive, and then the database stays open; `inUse`,
  ///   too, on a thread of the database's, as in an `onCommit` action, while another one closes; `failStop`,
  ///   `diskFull`, `inputOutput` if the last checkpoint failed: the database is closed all the same, and the log holds
  ///   what the checkpoint did not write.
  public func close() throws(DatabaseError) { try Closing(core: core).run() }
}
