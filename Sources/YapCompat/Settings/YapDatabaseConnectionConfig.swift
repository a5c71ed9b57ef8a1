// Settings of connections.

/// What of a connection's memory is let go.
public struct YapDatabaseConnectionFlushMemoryFlags: OptionSet, Hashable, Sendable {
  /// One bit for each.
  public let rawValue: UInt
  /// Wraps bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Decoded objects and metadata.
  public static let caches = YapDatabaseConnectionFlushMemoryFlags(rawValue: 1)
  /// SQLite's statements; there are none.
  public static let statements = YapDatabaseConnectionFlushMemoryFlags(rawValue: 2)
  /// What the engine has in memory.
  public static let `internal` = YapDatabaseConnectionFlushMemoryFlags(rawValue: 4)
  /// Everything.
  public static let all: YapDatabaseConnectionFlushMemoryFlags = [.caches, .statements, .internal]
}

/// Which transactions a connection permits. New type: `Connection.Permissions`.
public struct YapDatabasePermittedTransactions: OptionSet, Hashable, Sendable {
  /// One bit for each.
  public let rawValue: UInt
  /// Wraps bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// `read`.
  public static let syncReadTransaction = YapDatabasePermittedTransactions(rawValue: 1)
  /// `asyncRead`.
  public static let asyncReadTransaction = YapDatabasePermittedTransactions(rawValue: 2)
  /// `readWrite`.
  public static let syncReadWriteTransaction = YapDatabasePermittedTransactions(rawValue: 4)
  /// `asyncReadWrite`.
  public static let asyncReadWriteTransaction = YapDatabasePermittedTransactions(rawValue: 8)
  /// None of them from any thread but the main one.
  public static let mainThreadOnly = YapDatabasePermittedTransactions(rawValue: 16)
  /// Both kinds of reads.
  public static let anyReadTransaction: YapDatabasePermittedTransactions = [
    .syncReadTransaction, .asyncReadTransaction,
  ]
  /// Both kinds of writes.
  public static let anyReadWriteTransaction: YapDatabasePermittedTransactions = [
    .syncReadWriteTransaction, .asyncReadWriteTransaction,
  ]
  /// `read` and `readWrite`.
  public static let anySyncTransaction: YapDatabasePermittedTransactions = [
    .syncReadTransaction, .syncReadWriteTransaction,
  ]
  /// `asyncRead` and `asyncReadWrite`.
  public static let anyAsyncTransaction: YapDatabasePermittedTransactions = [
    .asyncReadTransaction, .asyncReadWriteTransaction,
  ]
  /// Everything.
  public static let anyTransaction: YapDatabasePermittedTransactions = [.anyReadTransaction, .anyReadWriteTransaction]
}

extension YapDatabasePermittedTransactions {
  // The names of the original's constants.

  /// `read`.
  public static let YDB_SyncReadTransaction = syncReadTransaction
  /// `asyncRead`.
  public static let YDB_AsyncReadTransaction = asyncReadTransaction
  /// `readWrite`.
  public static let YDB_SyncReadWriteTransaction = syncReadWriteTransaction
  /// `asyncReadWrite`.
  public static let YDB_AsyncReadWriteTransaction = asyncReadWriteTransaction
  /// None of them from any thread but the main one.
  public static let YDB_MainThreadOnly = mainThreadOnly
  /// Both kinds of reads.
  public static let YDB_AnyReadTransaction = anyReadTransaction
  /// Both kinds of writes.
  public static let YDB_AnyReadWriteTransaction = anyReadWriteTransaction
  /// `read` and `readWrite`.
  public static let YDB_AnySyncTransaction = anySyncTransaction
  /// `asyncRead` and `asyncReadWrite`.
  public static let YDB_AnyAsyncTransaction = anyAsyncTransaction
  /// Everything.
  public static let YDB_AnyTransaction = anyTransaction
}

/// Settings of a connection. New type: `Connection.Options`.
///
/// An object, as in the original: those of `YapDatabase.connectionDefaults` are changed in place. May be used from any
/// thread.
public final class YapDatabaseConnectionConfig: Sendable {
  struct Values: Sendable {
    var objectCacheEnabled = true
    var objectCacheLimit: UInt = 250
    var metadataCacheEnabled = true
    var metadataCacheLimit: UInt = 250
    var autoFlushMemoryFlags = YapDatabaseConnectionFlushMemoryFlags.all
  }

  private let state: Guarded<Values>

  /// The original's defaults: caches are on, for 250 rows each. New call: `Connection.Options(name:permits:)`.
  public init() { state = Guarded(Values()) }

  init(_ values: Values) { state = Guarded(values) }

  /// All of them at once.
  var values: Values { state.withLock { $0 } }

  /// The same settings in an object of their own. New call: none; `Connection.Options` is a value.
  public func copy() -> YapDatabaseConnectionConfig { YapDatabaseConnectionConfig(values) }

  /// Whether decoded objects are kept.
  public var objectCacheEnabled: Bool {
    get { state.withLock { $0.objectCacheEnabled } }
    set { state.withLock { $0.objectCacheEnabled = newValue } }
  }

  /// How many decoded objects are kept; 0 for any number.
  public var objectCacheLimit: UInt {
    get { state.withLock { $0.objectCacheLimit } }
    set { state.withLock { $0.objectCacheLimit = newValue } }
  }

  /// Whether decoded metadata are kept.
  public var metadataCacheEnabled: Bool {
    get { state.withLock { $0.metadataCacheEnabled } }
    set { state.withLock { $0.metadataCacheEnabled = newValue } }
  }

  /// How many decoded metadata are kept; 0 for any number.
  public var metadataCacheLimit: UInt {
    get { state.withLock { $0.metadataCacheLimit } }
    set { state.withLock { $0.metadataCacheLimit = newValue } }
  }

  /// What a connection lets go when the system is short of memory.
  public var autoFlushMemoryFlags: YapDatabaseConnectionFlushMemoryFlags {
    get { state.withLock { $0.autoFlushMemoryFlags } }
    set { state.withLock { $0.autoFlushMemoryFlags = newValue } }
  }
}
