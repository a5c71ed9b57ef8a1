// A connection under its original name: its settings and its state.

internal import Quire

/// YapDatabase's connection: a queue of transactions with settings of its own. New call: `Connection`.
///
/// Transactions of one connection run one after the other, in the order of their calls; those of several run side by
/// side, but for writes, of which there is one at a time. Neither waits for the other: a read shows the newest commit,
/// or that of a long-lived read, from its first line to its last. May be used from any thread. Keeps the database
/// alive.
public final class YapDatabaseConnection: Sendable {
  /// The database that it belongs to. New call: none; connections are made by the `Database` that code has.
  public let database: YapDatabase
  /// Transactions have their turn here.
  let queue = DispatchQueue(label: "YapCompat.connection")
  private let config: YapDatabaseConnectionConfig
  /// The decoded values of collections with blocks.
  let caches: RowCaches
  let state: Guarded<State>

  struct State: Sendable {
    /// What transactions go through; another one when the name changes, which the diagnostics tell.
    var quire: Connection
    var permitted = YapDatabasePermittedTransactions.anyTransaction
    /// The snapshot of a long-lived read.
    var pin: PinnedSnapshot?
    /// The way that the long-lived read has come since its last notification.
    var quietStep: PinnedStep?
    /// Whether writing inside of a long-lived read is an error.
    var protectsPin = true
    var pendingCount: UInt64 = 0
    /// The commit that the running transaction sees.
    var runningSnapshot: UInt64?
  }

  init(_ database: YapDatabase, _ config: YapDatabaseConnectionConfig) {
    self.database = database
    self.config = config.copy()
    caches = RowCaches(self.config.values)
    state = Guarded(State(quire: database.quire.makeConnection(Connection.Options())))
  }

  // MARK: Settings

  /// What the connection is called in messages. New call: `Connection.Options.name`.
  public var name: String? {
    get { state.withLock { $0.quire.options.name } }
    set {
      let named = database.quire.makeConnection(Connection.Options(name: newValue))
      state.withLock { $0.quire = named }
    }
  }

  /// Which transactions it permits; others throw `notPermitted` before they begin, also in release builds. New call:
  /// `Connection.Options.permits`.
  public var permittedTransactions: YapDatabasePermittedTransactions {
    get { state.withLock { $0.permitted } }
    set { state.withLock { $0.permitted = newValue } }
  }

  // Of collections with blocks. Decoded objects of collections with types are in the cache of the database, which all
  // connections have in common.

  /// Whether decoded objects of collections with blocks are kept. New call: `Database.Options.objectCache`.
  public var objectCacheEnabled: Bool {
    get { config.objectCacheEnabled }
    set { change { $0.objectCacheEnabled = newValue } }
  }

  /// How many decoded objects of collections with blocks are kept, 0 for any number; what is beyond goes at once. New
  /// call: `Database.Options.objectCache`.
  public var objectCacheLimit: UInt {
    get { config.objectCacheLimit }
    set { change { $0.objectCacheLimit = newValue } }
  }

  /// Whether decoded metadata of collections with blocks are kept. New call: `Database.Options.objectCache`.
  public var metadataCacheEnabled: Bool {
    get { config.metadataCacheEnabled }
    set { change { $0.metadataCacheEnabled = newValue } }
  }

  /// How many decoded metadata of collections with blocks are kept, 0 for any number; what is beyond goes at once. New
  /// call: `Database.Options.objectCache`.
  public var metadataCacheLimit: UInt {
    get { config.metadataCacheLimit }
    set { change { $0.metadataCacheLimit = newValue } }
  }

  private func change(_ body: (YapDatabaseConnectionConfig) -> Void) {
    body(config)
    caches.setLimits(config.values)
  }

  /// What it lets go when the system is short of memory; noted, as nothing here listens to the system. New call:
  /// `Database.flushMemory(_:)`, where the app is told.
  public var autoFlushMemoryFlags: YapDatabaseConnectionFlushMemoryFlags {
    get { config.autoFlushMemoryFlags }
    set { config.autoFlushMemoryFlags = newValue }
  }

  // MARK: State

  /// The commit that the connection sees: that of the running transaction or of the long-lived read, else the newest.
  /// New call: `ReadTransaction.csn`, `PinnedSnapshot.csn`.
  public var snapshot: UInt64 {
    state.withLock { $0.runningSnapshot ?? $0.pin?.csn.rawValue } ?? database.quire.statistics.publishedCSN.rawValue
  }

  /// How many transactions wait for their turn or run. New call: none; `Connection.drain()` waits for them.
  public var pendingTransactionCount: UInt64 { state.withLock { $0.pendingCount } }

  /// What an extension has for this connection: of a view, what tells the changes of a screen. Nil if nothing is
  /// registered under the name, or if it has nothing for connections. New call: `PinnedSnapshot.advance(_:)`.
  public func `extension`(_ name: String) -> YapDatabaseExtensionConnection? {
    database.extensions[name]?.makeConnection(self)
  }

  /// Short for `extension(_:)`. New call: `PinnedSnapshot.advance(_:)`.
  public func ext(_ name: String) -> YapDatabaseExtensionConnection? { `extension`(name) }

  func notPermitted(_ what: String) -> DatabaseError {
    DatabaseError(
      .notPermitted, "The connection\(name.map { " “\($0)”" } ?? "") does not permit \(what).",
      path: database.quire.path)
  }
}
