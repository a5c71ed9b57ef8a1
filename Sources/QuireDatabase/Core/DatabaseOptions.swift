// How a database is opened.

public import Logging
public import QuireStorage

/// Settings of an open database. Only the page size is a property of the file; the rest may differ at every opening.
public struct DatabaseOptions: Sendable {
  /// What a commit waits for.
  public var durability: Durability
  /// The budget for pages in memory, in bytes; a quarter of the machine's memory if none is chosen, see
  /// `StorageOptions.defaultCacheSize`.
  public var cacheSize: Int
  /// The size of a page in bytes; used when a database is created.
  public var pageSize: Int
  /// The size that a segment of the log may grow to, in bytes, once there is as much data; see
  /// `StorageOptions.logLimit`. Recovery after a crash replays at most two: a shorter log opens sooner after a crash,
  /// with a longer one checkpoints write less.
  public var logLimit: Int
  /// Whether the database, while it is written, takes what makes it fast of the disk, or little. See
  /// `DiskFootprint`.
  public var diskFootprint: DiskFootprint
  /// Whether the file is tidied when nothing has been written for a second.
  public var maintainsWhenIdle: Bool
  /// Whether a database is created if there is nothing at the path.
  public var createsIfMissing: Bool
  /// Whether the database is only read: not a byte is written, and writes throw `readOnly`. Several processes may
  /// read one database at a time, but not while one has it open for writing.
  public var isReadOnly: Bool
  /// How many commits a stream of `commits` holds for a consumer that lags behind.
  public var commitBuffer: Int
  /// How many threads run the bodies of async reads, 1 to 64.
  public var readerThreadCount: Int
  /// How much of decoded objects is kept in memory for reads of rows by their keys; nil for nothing, which is the
  /// default. A hit takes a third of the time of reading and decoding a small object, a read that finds nothing a
  /// tenth more than without.
  public var objectCache: ObjectCacheOptions?
  /// Names that collections had in older versions of the program, each with its name of today. What has an older name
  /// is renamed at the opening, in one commit that is on the disk when the opening returns; a database that is only
  /// read stays as it is, and is read under the names of today. Rows keep their ids, and extensions are not built
  /// anew.
  public var renamedCollections: [String: String]
  /// The change feeds of the database. Each is named at every opening for writing: a program that changes rows and
  /// does not name a feed ends it. See ``ChangeFeed``.
  public var feeds: [ChangeFeed]
  /// The settings of connections that are made without settings of their own.
  public var connectionDefaults: Connection.Options
  /// Where messages go: that a crash was recovered from, that a checkpoint failed, that writing has stopped, that a
  /// follower has missed commits, that a transaction was slow or a snapshot is held for long. Nil for none. Its
  /// handler is called on threads of the database's and must not use the database.
  public var logger: Logger?
  /// What the database is called in messages, metrics and spans; the last part of its path if nothing is said.
  public var label: String?
  /// From how long on a transaction is reported to the logger as slow; nil for never. Counted from the call to the
  /// acknowledgement, waiting for other writers included. A second by default: nobody waits that long on purpose, and
  /// taking the times costs nothing without a logger, and with one a few nanoseconds a read and some 100 a write.
  public var slowTransactionThreshold: Duration? = .seconds(1)
  /// From how long on a snapshot that is held is reported to the logger, if because of it pages cannot be used again;
  /// nil for never. Looked at when something commits. A minute by default.
  public var heldSnapshotThreshold: Duration? = .seconds(60)
  /// What becomes of fields of stored rows that the type of today does not read. They are dropped when such a row is
  /// stored again, so by default the logger is told, once about each type and field. For the binary coder, and the
  /// first 127 fields of a collection.
  public var unknownFields = UnknownFields.report
  /// When the files of the database can be read, on Apple's systems for devices; elsewhere this changes nothing. What
  /// the system chooses if nil. See `FileProtection`.
  public var fileProtection: FileProtection?
  /// The time that feeds note, in microseconds since 1970.
  package var wallClock: @Sendable () -> Int64 = { WallClock.now }
  /// How often figures of the engine are passed on to metrics, at the most.
  package var metricsInterval: Duration = .milliseconds(100)
  /// How many rows a step of building an extension, or of rewriting a collection, takes in.
  package var buildStepRowCount = Limits.buildStepRowCount

  /// Settings; what is left out has the value that suits most.
  public init(
    durability: Durability = .full, cacheSize: Int = StorageOptions.defaultCacheSize, pageSize: Int = 4096,
    logLimit: Int = 256 << 20, diskFootprint: DiskFootprint = .fast,
    maintainsWhenIdle: Bool = true, createsIfMissing: Bool = true, isReadOnly: Bool = false,
    commitBuffer: Int = 1000, readerThreadCount: Int = 2, objectCache: ObjectCacheOptions? = nil,
    renamedCollections: [String: String] = [:], feeds: [ChangeFeed] = [],
    connectionDefaults: Connection.Options = Connection.Options(),
    logger: Logger? = nil, label: String? = nil
  ) {
    self.durability = durability
    self.cacheSize = cacheSize
    self.pageSize = pageSize
    self.logLimit = logLimit
    self.diskFootprint = diskFootprint
    self.maintainsWhenIdle = maintainsWhenIdle
    self.createsIfMissing = createsIfMissing
    self.isReadOnly = isReadOnly
    self.commitBuffer = commitBuffer
    self.readerThreadCount = readerThreadCount
    self.objectCache = objectCache
    self.renamedCollections = renamedCollections
    self.feeds = feeds
    self.connectionDefaults = connectionDefaults
    self.logger = logger
    self.label = label
  }

  /// The engine's part of the settings.
  var storage: StorageOptions {
    var storage = StorageOptions(
      pageSize: pageSize, cacheSize: cacheSize, durability: durability, logLimit: logLimit,
      diskFootprint: diskFootprint,
      maintainsWhenIdle: maintainsWhenIdle, createsIfMissing: createsIfMissing, isReadOnly: isReadOnly,
      readerThreadCount: readerThreadCount)
    storage.fileProtection = fileProtection
    return storage
  }
}

extension Database {
  /// How a database is opened.
  public typealias Options = DatabaseOptions
}
