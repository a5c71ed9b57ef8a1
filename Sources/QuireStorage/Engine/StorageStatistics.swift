// What is known of an engine without looking at a page.

internal import Synchronization

/// Figures of one open engine since it was opened, or as of now. Asking costs a few locks and no I/O.
///
/// Hits of the cache are not counted: a hit is a dozen instructions that read and never write, and a counter would make
/// every reader write to memory that all of them share.
///
/// Encoded by the names of its properties, for monitoring; later versions may have more of them.
public struct StorageStatistics: Codable, Equatable, Sendable {
  /// Commits that changed something.
  public let commits: Int
  /// Successful syncs of log files.
  public let flushes: Int
  /// Successful syncs of the data file.
  public let dataSyncs: Int
  /// Bytes of log records.
  public let logBytes: Int
  /// Checkpoints that were finished.
  public let checkpoints: Int
  /// How often the log got another segment without a checkpoint.
  public let logLengthenings: Int
  /// Tree pages written by checkpoints.
  public let pagesWritten: Int
  /// Pages written before a checkpoint would have, as memory was short.
  public let pagesSpilled: Int
  /// Bytes of tree pages and long values written to the data file. Beside them stand the log, and what checkpoints
  /// write of free map and meta pages.
  public let dataBytesWritten: Int
  /// Clean pages taken out of memory.
  public let pagesEvicted: Int
  /// Pages read from the data file, by whomever: what checks and backups read, and what is read ahead, included.
  public let pagesRead: Int
  /// How often a reader or the writer asked for a page that was not in memory, and waited for it.
  public let cacheMisses: Int
  /// Dirty pages as of now: of trees, and values of one page that no checkpoint has written yet.
  public let dirtyPages: Int
  /// Pages in memory as of now, clean and dirty.
  public let residentPages: Int
  /// Pages of the data file.
  public let filePages: Int
  /// Pages of the data file that nothing refers to.
  public let freePages: Int
  /// Pages of the data file, some of them counted as free, that have been replaced and that readers of older snapshots,
  /// or the next checkpoint, keep from being used again.
  public let heldPages: Int
  /// Log records replayed at opening.
  public let recoveredRecords: Int
  /// Readers and pinned snapshots alive.
  public let readers: Int
  /// The newest commit that readers see.
  public let publishedCSN: CSN
  /// The newest commit that was appended to the log; ahead of the published one while commits wait for the disk.
  public let appendedCSN: CSN
  /// The oldest commit that a reader or a pinned snapshot sees; the published one if there is no reader.
  public let oldestCSN: CSN

  /// How many commits the oldest snapshot in use is behind the newest.
  public var oldestSnapshotAge: Int {
    Int(clamping: publishedCSN.rawValue - min(oldestCSN, publishedCSN).rawValue)
  }
}

extension StorageStatistics {
  /// Nothing at all.
  static let none = StorageStatistics(
    commits: 0, flushes: 0, dataSyncs: 0, logBytes: 0, checkpoints: 0, logLengthenings: 0, pagesWritten: 0,
    pagesSpilled: 0, dataBytesWritten: 0, pagesEvicted: 0, pagesRead: 0, cacheMisses: 0, dirtyPages: 0,
    residentPages: 0, filePages: 0, freePages: 0, heldPages: 0, recoveredRecords: 0, readers: 0,
    publishedCSN: CSN(0), appendedCSN: CSN(0), oldestCSN: CSN(0))
}

extension EngineCore {
  /// The figures as of now; none in a forked child.
  package var statistics: StorageStatistics {
    // In a forked child a thread that does not exist there may hold the locks.
    if openFlag.isForked { return .none }
    let (logBytes, flushes) = log.with { ($0?.appendedByteCount ?? 0, $0?.syncCount ?? 0) }
    // Looked at before the newest: the age is then never negative.
    let oldest = slots.oldestReader
    let published = slots.newest.csn
    return StorageStatistics(
      commits: counters.commits.load(ordering: .relaxed), flushes: flushes,
      dataSyncs: counters.dataSyncs.load(ordering: .relaxed), logBytes: logBytes,
      checkpoints: counters.checkpoints.load(ordering: .relaxed),
      logLengthenings: counters.logLengthenings.load(ordering: .relaxed),
      pagesWritten: counters.pagesWritten.load(ordering: .relaxed),
      pagesSpilled: counters.pagesSpilled.load(ordering: .relaxed), dataBytesWritten: store.bytesWrittenCount,
      pagesEvicted: store.evictedCount, pagesRead: store.pagesReadCount, cacheMisses: store.missCount,
      dirtyPages: store.dirtyCount, residentPages: store.pool.lentCount,
      filePages: Int(allocator.pageCount), freePages: allocator.freeCount, heldPages: allocator.heldCount,
      recoveredRecords: counters.recoveredRecords.load(ordering: .relaxed), readers: readerCount,
      publishedCSN: published, appendedCSN: CSN(resources.head.csn.load(ordering: .relaxed)),
      oldestCSN: oldest.map { min($0, published) } ?? published)
  }
}
