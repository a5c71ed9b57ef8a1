// The open database: what connections, transactions and pinned snapshots share.

internal import Logging
internal import QuireStorage
internal import Synchronization

/// Everything behind `Database`.
///
/// Locks: the engine's writer lock, then the observers' latch, the history's, the table's, that of the engine; none is
/// held while user's code runs but the writer lock.
///
/// The engine is another one after each `resume`. Invariants:
/// 1. A transaction uses the engine of its scratch, from its begin to the wait for its commit.
/// 2. The engine changes while it is suspended: no transaction runs, but for the closures of refused ones.
/// 3. Idle scratch is of the engine of today, or that is suspended.
final class DatabaseCore: Sendable {
  private let current: Latch<CurrentEngine>
  let trees: DatabaseTrees
  /// Of a database that is only read: what collections are stored under that were renamed.
  let aliases: CollectionAliases
  /// The change feeds; nil if none was named and the file has none.
  var feeds: FeedSet? { feedSet.withLock { $0 } }
  private let feedSet: Latch<FeedSet?>
  let table = CollectionTable()
  let types = CollectionTable.Types()
  let dictionaries = DictionaryTable()
  let extensions = ExtensionRegistry()
  let memory = MemoryVersions()
  let history: CommitHistory
  let observers = ObservationHub()
  let actions = CommitActions()
  let holders = SnapshotHolders()
  let closing = ClosingActions()
  let suspension = Suspension()
  /// What the file is opened in again after a suspension; nil if there is no file that somebody else could open.
  let environment: StorageEnvironment?
  let diagnostics: Diagnostics
  /// Decoded objects, if they are to be kept.
  let objectCache: ObjectCache?
  let options: Database.Options
  /// What transactions do about fields that types do not read: nothing if nobody would hear of it.
  let unknownFields: UnknownFields
  let path: String
  private let salt = Latch<[UInt8]?>(nil)

  private static let mostIdleScratch = 8

  init(
    _ engine: StorageEngine, path: String, options: Database.Options, _ diagnostics: Diagnostics,
    reopenedIn environment: StorageEnvironment? = nil
  ) throws(DatabaseError) {
    current = Latch(CurrentEngine(engine: engine))
    self.environment = environment
    self.path = path
    self.options = options
    self.diagnostics = diagnostics
    let isUnheard = options.unknownFields == .report && options.logger == nil
    unknownFields = isUnheard ? .ignore : options.unknownFields
    objectCache = options.objectCache.map(ObjectCache.init)
    history = CommitHistory(byteLimit: Limits.historyByteCount, logger: options.logger)
    trees = try Self.openTrees(engine, path)
    let found = try Self.findNames(engine, trees, path, options)
    aliases = found.aliases
    feedSet = Latch(found.feeds)
    FeedSet.hearOfRearrangements(found.feeds, engine)
  }

  deinit {
    history.close()
    observers.close()
    suspension.close(path)
  }

  /// The engine below.
  var engine: StorageEngine { current.withLock { $0.engine } }
  /// Its parts, for what is no transaction: those have their engine in their scratch.
  var storage: EngineCore { engine.core }
  /// The newest commit that readers see.
  var publishedCSN: CSN { storage.slots.newest.csn }

  /// Runs what the engine does; its errors become ours.
  func wrapping(_ body: () throws(StorageError) -> Void) throws(DatabaseError) {
    do throws(StorageError) { try body() } catch { throw DatabaseError(error) }
  }

  // MARK: Opening

  /// Tells that a crash was recovered from, if it was.
  func logOpening() {
    let count = engine.statistics.recoveredRecords
    guard let logger = options.logger, count > 0 else { return }
    logger.notice(
      "The database was not closed the last time. Its log was replayed, and nothing that was durable is lost.",
      metadata: ["path": "\(path)", "records": "\(count)"])
  }

  /// What an opening finds of names that collections had, and of feeds.
  typealias FoundNames = (aliases: CollectionAliases, feeds: FeedSet?)

  /// Renames collections that have older names, and finds or begins the feeds.
  static func findNames(
    _ engine: StorageEngine, _ trees: DatabaseTrees, _ path: String, _ options: Database.Options
  ) throws(DatabaseError) -> FoundNames {
    let renaming = try CollectionRenaming(options.renamedCollections, path: path)
    return try wrapping {
      var feeds = try FeedOpening(engine, options.feeds, path: path, clock: options.wallClock)
      let aliases = try renaming.run(engine, trees, isReadOnly: options.isReadOnly, &feeds)
      return (aliases, try feeds.finish(isReadOnly: options.isReadOnly, trees.collections))
    }
  }

  /// Finds the trees, or makes them in a database that has none at all.
  static func openTrees(_ engine: StorageEngine, _ path: String) throws(DatabaseError) -> DatabaseTrees {
    try wrapping {
      let found = try engine.read { tx in
        try find(tx.treeNames, path, { tx.tree(named: $0) }) { try tx.value(for: $0, in: $1) }
      }
      if let found { return found }
      return try engine.write { tx in try DatabaseTrees(making: tx) }
    }
  }

  /// Runs a part of opening; its errors become ours.
  private static func wrapping<Result>(_ body: () throws -> Result) throws(DatabaseError) -> Result {
    do { return try body() } catch let error as StorageError {
      throw DatabaseError(error)
    } catch {
      throw error as? DatabaseError ?? DatabaseError(.notADatabase, "The database could not be read.", cause: error)
    }
  }

  private static func find(
    _ names: [String], _ path: String, _ tree: (String) -> Tree?, _ value: ([UInt8], Tree) throws -> [UInt8]?
  ) throws -> DatabaseTrees? {
    if names.isEmpty { return nil }
    guard let rows = tree(DatabaseTrees.rowsName), let keys = tree(DatabaseTrees.keysName),
      let collections = tree(DatabaseTrees.collectionsName), let info = tree(DatabaseTrees.infoName)
    else {
      throw DatabaseError(
        .notADatabase, "The file holds trees of another kind than rows. Open it with `StorageEngine`.", path: path)
    }
    guard let version = try value(DatabaseTrees.formatKey, info) else { throw RowView.damaged() }
    guard version == [DatabaseTrees.formatVersion] else {
      throw DatabaseError(
        .newerFormat, "The rows are stored in format \(version), which this version does not know. Use a newer one.",
        path: path)
    }
    return DatabaseTrees(rows: rows, keys: keys, collections: collections, info: info)
  }

  // MARK: Encryption

  /// What keys are derived with, once a reader has seen it in a committed state, where it stays as it is.
  var encryptionSalt: [UInt8]? { salt.withLock { $0 } }

  /// Remembers what a reader has seen.
  func remember(encryptionSalt: [UInt8]) { salt.withLock { $0 = encryptionSalt } }

  // MARK: Memory

  /// Memory for a transaction, with the engine to use; to be given back at its end.
  ///
  /// - Throws: `suspended` while the file is found anew.
  func takeScratch() throws(StorageError) -> TransactionScratch {
    let (idle, engine) = current.withLock { current -> (TransactionScratch?, StorageEngine?) in
      if current.isGated, !suspension.turn.isHeldByThisThread { return (nil, nil) }
      if let idle = current.scratch.popLast() { return (idle, nil) }
      return (nil, current.engine)
    }
    if let idle { return idle }
    guard let engine else { throw Suspension.resumingError(path) }
    return TransactionScratch(holders.add(), engine.core)
  }

  /// The same, with a read transaction on the newest snapshot in it.
  func takeScratchForReading() throws(StorageError) -> TransactionScratch {
    let scratch = try takeScratch()
    do throws(StorageError) { unsafe scratch.reading.initialize(to: try scratch.engine.beginRead()) } catch {
      giveBack(scratch)
      throw error
    }
    return scratch
  }

  /// The same, with a read transaction that was begun.
  func takeScratch(for reading: consuming QuireStorage.ReadTransaction) throws(StorageError) -> TransactionScratch {
    let scratch = try takeScratch()
    unsafe scratch.reading.initialize(to: reading)
    return scratch
  }

  /// Lets go of memory that waits for transactions.
  func releaseBuffers() {
    let idle = current.withLock { current in
      defer { current.scratch.removeAll() }
      return current.scratch
    }
    for scratch in idle { forget(scratch) }
    table.releaseBuffers()
  }

  /// Takes memory back.
  func giveBack(_ scratch: TransactionScratch) {
    assert(scratch.room.isFree, "memory is given back that a decoder reads")
    scratch.trim()
    let isKept = current.withLock { current -> Bool in
      guard current.scratch.count < Self.mostIdleScratch, current.engine.core === scratch.engine else { return false }
      assert(!current.scratch.contains { $0 === scratch }, "memory is given back twice")
      current.scratch.append(scratch)
      return true
    }
    if !isKept { forget(scratch) }
  }

  /// Lets go of a transaction's memory.
  private func forget(_ scratch: TransactionScratch) {
    holders.remove(scratch.holder)
    diagnostics.metrics.forget(scratch)
  }

  /// The database is being closed: tells what was measured and not told yet.
  func reportLastMetrics() {
    guard MetricsReporter.isOn else { return }
    for scratch in current.withLock({ $0.scratch }) { diagnostics.metrics.forget(scratch) }
    diagnostics.metrics.report(self, mustReport: true)
  }

  // MARK: Another engine

  /// Puts `engine` in the place of the one that is suspended. Nobody is let in but the thread that calls.
  ///
  /// - Returns: false if the database was closed meanwhile, and then nothing is done.
  func replace(with engine: StorageEngine) -> Bool {
    assert(suspension.turn.isHeldByThisThread, "an engine is replaced without the turn")
    let idle = current.withLock { $0.replace(with: engine) }
    guard let idle else { return false }
    for scratch in idle { forget(scratch) }
    diagnostics.metrics.beginAnew()
    FeedSet.hearOfRearrangements(feeds, engine)
    return true
  }

  /// The database has been closed with `engine`, if that is still its own: none takes its place from here on.
  func end(with engine: StorageEngine) -> Bool { current.withLock { $0.close(with: engine) } }

  /// Lets everybody in.
  func endReplacing() { current.withLock { $0.isGated = false } }

  /// Forgets what was known of the file, whose newest commit is `csn`.
  func forgetFile(_ feeds: FeedSet?, csn: CSN) {
    objectCache?.removeAll()
    table.removeAll(from: csn)
    dictionaries.removeAll()
    salt.withLock { $0 = nil }
    feedSet.withLock { $0 = feeds }
    FeedSet.hearOfRearrangements(feeds, engine)
  }
}
