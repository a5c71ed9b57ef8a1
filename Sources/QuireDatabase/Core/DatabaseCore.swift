// The open database: what connections, transactions and pinned snapshots share.

internal import Logging
internal import QuireStorage
internal import Synchronization

/// Everything behind `Database`.
///
/// Locks: the engine's writer lock, then the observers' latch, the history's, the table's; none is held while user's
/// code runs but the writer lock.
final class DatabaseCore: Sendable {
  let engine: StorageEngine
  let trees: DatabaseTrees
  /// Of a database that is only read: what collections are stored under that were renamed.
  let aliases: CollectionAliases
  /// The change feeds; nil if none was named and the file has none.
  let feeds: FeedSet?
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
  let diagnostics: Diagnostics
  /// Decoded objects, if they are to be kept.
  let objectCache: ObjectCache?
  let options: Database.Options
  /// What transactions do about fields that types do not read: nothing if nobody would hear of it.
  let unknownFields: UnknownFields
  let path: String
  private let salt = Latch<[UInt8]?>(nil)
  private let idleScratch = Latch<[TransactionScratch]>([])

  private static let mostIdleScratch = 8

  init(
    _ engine: StorageEngine, path: String, options: Database.Options, _ diagnostics: Diagnostics
  ) throws(DatabaseError) {
    self.engine = engine
    self.path = path
    self.options = options
    self.diagnostics = diagnostics
    let isUnheard = options.unknownFields == .report && options.logger == nil
    unknownFields = isUnheard ? .ignore : options.unknownFields
    objectCache = options.objectCache.map(ObjectCache.init)
    history = CommitHistory(byteLimit: Limits.historyByteCount, logger: options.logger)
    let renaming = try CollectionRenaming(options.renamedCollections, path: path)
    trees = try Self.openTrees(engine, path)
    (aliases, feeds) = try Self.wrapping { [trees] in
      var feeds = try FeedOpening(engine, options.feeds, path: path, clock: options.wallClock)
      let aliases = try renaming.run(engine, trees, isReadOnly: options.isReadOnly, &feeds)
      return (aliases, try feeds.finish(isReadOnly: options.isReadOnly, trees.collections))
    }
    FeedSet.hearOfRearrangements(feeds, engine)
  }

  deinit {
    history.close()
    observers.close()
  }

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

  /// Finds the trees, or makes them in a database that has none at all.
  private static func openTrees(_ engine: StorageEngine, _ path: String) throws(DatabaseError) -> DatabaseTrees {
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

  /// Memory for a transaction, which gives it back at its end.
  func takeScratch() -> TransactionScratch {
    idleScratch.withLock { $0.popLast() } ?? TransactionScratch(holders.add())
  }

  /// Lets go of memory that waits for transactions.
  func releaseBuffers() {
    let idle = idleScratch.withLock { idle in
      defer { idle.removeAll() }
      return idle
    }
    for scratch in idle { forget(scratch) }
    table.releaseBuffers()
  }

  /// Takes memory back.
  func giveBack(_ scratch: TransactionScratch) {
    assert(scratch.room.isFree, "memory is given back that a decoder reads")
    scratch.trim()
    let isKept = idleScratch.withLock { idle -> Bool in
      guard idle.count < Self.mostIdleScratch else { return false }
      assert(!idle.contains { $0 === scratch }, "memory is given back twice")
      idle.append(scratch)
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
    for scratch in idleScratch.withLock({ $0 }) { diagnostics.metrics.forget(scratch) }
    diagnostics.metrics.report(self, mustReport: true)
  }
}
