// How an engine is opened.

/// Settings of one open engine. Only the page size is a property of the file; the rest may differ at every opening.
public struct StorageOptions: Sendable {
  /// The size of a page in bytes, one of `Limits.pageSizes`; used when a database is created.
  public var pageSize: Int
  /// The budget for pages in memory, clean and dirty, in bytes; `defaultCacheSize` if none is chosen. Where
  /// the disk is short of space, a checkpoint starts when dirty pages take five eighths of it.
  public var cacheSize: Int
  /// What a commit waits for.
  public var durability: Durability
  /// The size that a log segment may grow to, in bytes, once there is as much data; with less data it is the size of
  /// the data, and 64 MiB at least; beyond 64 MiB never more than half of `cacheSize`, and never more than a sixteenth
  /// of what the disk has for the database when it is opened. A checkpoint starts when
  /// half of the last segment is used, and the log gets another one without as long as all of them together are shorter
  /// than this. Recovery after a crash replays at most twice as much, some 3 to 8 seconds per GiB: a shorter log opens
  /// sooner after a crash, a longer one has checkpoints write less.
  public var logLimit: Int
  /// Whether the database, while it is written, takes what makes it fast of the disk, or little; see `DiskFootprint`.
  public var diskFootprint: DiskFootprint
  /// Whether what is written after a flush starts at a block of its own, so that no durable byte shares a block with
  /// it: for disks that may damage the bytes beside those that they were writing when the power failed. Costs up to 4
  /// KiB of log per flush.
  public var alignsLogGroups: Bool
  /// Whether the engine tidies its file by itself when nothing has been written for a second: moves pages from the end
  /// of the file to free places and cuts the file, if there is much to gain. See `StorageEngine.compact`.
  public var maintainsWhenIdle: Bool
  /// Whether a database is created if there is nothing at the path.
  public var createsIfMissing: Bool
  /// Whether nothing is changed: no byte is written, no file made or removed, whatever state the files are in, so that
  /// media and folders may be read-only too. Any number of engines may have a database open like this at once, in any
  /// processes, but none of them beside one that writes.
  ///
  /// What a crash left in the log is replayed into memory. That counts against `cacheSize`; what does not fit beside
  /// the rest, and long values from the log, take further memory, at most what replaying would have written to the
  /// file. If there is nothing at the path, opening throws `notFound`, whatever `createsIfMissing` says.
  public var isReadOnly: Bool
  /// How many threads run the bodies of async reads, 1 to 64; they are started when they are needed, and take the reads
  /// in the order in which they were called. Reads that block their caller's thread are as many as there are callers.
  public var readerThreadCount: Int
  /// When the files can be read, on Apple's systems for devices; elsewhere this changes nothing. What the system
  /// chooses if nil. See `FileProtection`.
  public var fileProtection: FileProtection?

  /// Settings; what is left out has the value that suits most.
  public init(
    pageSize: Int = 4096, cacheSize: Int = Self.defaultCacheSize, durability: Durability = .full,
    logLimit: Int = 256 << 20, diskFootprint: DiskFootprint = .fast,
    alignsLogGroups: Bool = false, maintainsWhenIdle: Bool = true, createsIfMissing: Bool = true,
    isReadOnly: Bool = false, readerThreadCount: Int = 2
  ) {
    self.pageSize = pageSize
    self.cacheSize = cacheSize
    self.durability = durability
    self.logLimit = logLimit
    self.diskFootprint = diskFootprint
    self.alignsLogGroups = alignsLogGroups
    self.maintainsWhenIdle = maintainsWhenIdle
    self.createsIfMissing = createsIfMissing
    self.isReadOnly = isReadOnly
    self.readerThreadCount = readerThreadCount
  }

  /// Throws `invalidOption` for what no engine can work with. Test pages, below 4 KiB, are for test environments.
  func check(allowsTestPages: Bool) throws(StorageError) {
    let isTestPage = allowsTestPages && (pageSize == 512 || pageSize == 1024 || pageSize == 2048)
    guard Limits.pageSizes.contains(pageSize) || isTestPage else {
      throw StorageError(
        .invalidOption, "The page size, \(pageSize), is none of \(Limits.pageSizes). Choose one of them.")
    }
    guard cacheSize >= 32 * pageSize else {
      throw StorageError(.invalidOption, "The cache, \(cacheSize) bytes, is below 32 pages. Choose a larger one.")
    }
    guard Limits.readerThreadCounts.contains(readerThreadCount) else {
      throw StorageError(
        .invalidOption,
        "The number of reader threads, \(readerThreadCount), is outside \(Limits.readerThreadCounts).")
    }
    guard Limits.segmentByteCounts.contains(logLimit) else {
      throw StorageError(
        .invalidOption, "The log limit, \(logLimit) bytes, is outside \(Limits.segmentByteCounts). Choose one inside.")
    }
  }
}

/// Who does the work that no caller waits for.
package enum Scheduling: Sendable {
  /// Threads of the engine's own.
  case threads
  /// The test, step by step: nothing happens by itself, so that a seed replays exactly.
  case stepped
}

/// What an engine takes from its surroundings; tests put their own disk and dice here.
package struct StorageEnvironment: Sendable {
  package var fileSystem: any FileSystem
  package var random: @Sendable () -> UInt64
  package var scheduling: Scheduling
  package var allowsTestPages: Bool
  /// The size of log segments once a burst of commits has begun, in bytes, and of the first ones of a large database.
  package var initialSegmentByteCount: Int
  /// The size of the segments of a log that little is written to, in bytes, at the least.
  package var restingSegmentByteCount = Self.leastSegmentByteCount
  /// How long the log may become however little data there is, in bytes.
  package var usualLogByteCount: Int
  /// How long the log may become at the most, whatever the options say, in bytes: for disks that are small.
  package var longestLogByteCount = Int.max
  /// How much of the disk is kept for transactions that only remove, in bytes.
  package var reserveByteCount = 1 << 20
  /// How many bytes of operations a transaction collects before it appends them as a part of its record. Never more
  /// than an eighth of a segment, so that little of one stays unused.
  package var partByteCount: Int
  /// How many bytes a transaction streams at the least before it goes unlogged as it outgrows all data.
  package var unloggedByteCount: Int
  /// From how many bytes of log on a recovery leaves it to a checkpoint beside the first transactions to write home
  /// what it has replayed. Less takes no time, and leaves a database without a log.
  package var continuedLogByteCount: Int
  /// After how many puts in a row a transaction collects the next ones. Fewer are not worth a second copy of them.
  package var putsBeforeDeferral: Int
  /// Up to how many pages of a file the first transaction itself proves the free map, when stepped of any file; for a
  /// larger one a thread does it meanwhile, or, when stepped and this is 0, the first transaction that cannot do
  /// without.
  package var provenAtOncePageCount: Int
  /// Told when a checkpoint has failed, on a thread that holds no lock; when stepped, or at close, on the one that ran
  /// it.
  package var checkpointDidFail: @Sendable (StorageError) -> Void = { _ in }
  /// Where the engine's threads come from.
  package var threadStarter = ThreadStarter.system
  /// How many blocks of readers there may be at one time, of `ReaderSlots.slotsPerBlock` each.
  package var readerBlockCount = ReaderSlots.usualBlockCount
  /// What is to be part of each transaction that changes no content, until `EngineCore.onRearrangement` is set anew.
  package var onRearrangement: (@Sendable (borrowing WriteTransaction) throws(StorageError) -> Void)?
  /// Is told of each step of a recovery as it ends, on the thread that opens.
  package var noteRecovery: (@Sendable (RecoveryStage) -> Void)?

  /// Surroundings; what is left out is what users get: the real disk, real dice, threads, real page sizes.
  package init(
    fileSystem: any FileSystem = RealFileSystem(),
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
    scheduling: Scheduling = .threads, allowsTestPages: Bool = false, initialSegmentByteCount: Int = 1 << 20,
    usualLogByteCount: Int = 64 << 20, partByteCount: Int = 1 << 20,
    unloggedByteCount: Int = 4 << 20, continuedLogByteCount: Int = 4 << 20, putsBeforeDeferral: Int = 2000,
    provenAtOncePageCount: Int = 4096
  ) {
    self.fileSystem = fileSystem
    self.random = random
    self.scheduling = scheduling
    self.allowsTestPages = allowsTestPages
    self.initialSegmentByteCount = initialSegmentByteCount
    self.usualLogByteCount = usualLogByteCount
    self.partByteCount = partByteCount
    self.unloggedByteCount = unloggedByteCount
    self.continuedLogByteCount = continuedLogByteCount
    self.putsBeforeDeferral = putsBeforeDeferral
    self.provenAtOncePageCount = provenAtOncePageCount
  }
}

extension StorageEngine {
  /// Settings of an engine.
  public typealias Options = StorageOptions
}
