// What an operator asks of an engine while it runs: long work, with progress and an end on demand.

internal import Synchronization

extension StorageEngine {
  /// How far long work has come.
  public typealias Progress = StorageProgress

  // MARK: Backup

  /// Copies the database as of its newest durable commit to a new file, compactly, while readers and writers go on.
  ///
  /// The copy is a database of its own, closed cleanly, with an identity of its own and the commit number of the
  /// snapshot. It is built under a temporary name beside `path`, synced, read back and verified from its meta page
  /// down, and only then linked to its name: what is at `path` is always complete. A backup that is stopped, that fails
  /// or that is killed leaves nothing there; killed, it leaves a file named `path` + `-new-` and sixteen digits, which
  /// can be removed. Every tree is built anew in the order of its keys, so the copy has no free pages and full leaves.
  ///
  /// Takes up to 32 MiB of memory, whatever the size; the snapshot stays pinned until the end, which costs what later
  /// commits replace of it. Reads each page once, past the cache; writers never wait for it.
  ///
  /// - Parameters:
  ///   - path: where the copy goes; nothing may be there, and the folder must exist.
  ///   - progress: called now and then, on the calling thread; what it throws ends the backup.
  /// - Returns: what was copied.
  /// - Throws: `alreadyExists`, `closed`, `diskFull` and `inputOutput` from either disk, `damagedPage` if a page of
  ///   this database cannot be copied, `CancellationError` if the task was cancelled, and what `progress` throws.
  @discardableResult
  public func backup(
    to path: String, progress: (StorageProgress) throws -> Void = { _ in }
  ) throws -> StorageBackup {
    try OnlineBackup(core: core).run(to: path, progress: progress)
  }

  /// The same on a thread of the engine's; `progress` is called there.
  @concurrent @discardableResult
  public func backup(
    to path: String, progress: @escaping @Sendable (StorageProgress) throws -> Void = { _ in }
  ) async throws -> StorageBackup {
    try await core.runLongWork(progress) { core, progress in
      try OnlineBackup(core: core).run(to: path, progress: progress)
    }
  }

  // MARK: Compaction

  /// Makes the data file as short as its content allows: packs half-empty pages, moves pages and long values from the
  /// end of the file to free places in front, and cuts it.
  ///
  /// This is what the engine does by itself when it has been idle for a second (`StorageOptions.maintainsWhenIdle`),
  /// run on call and to its end, with a finer measure of what is worth moving. Works in steps of a few milliseconds
  /// each, or as long as copying one long value takes, between which writers get their turn; readers never wait. Ending
  /// it, or the process, at any point loses nothing: what has moved has moved. Content and snapshots stay as they are,
  /// but each step takes a CSN. Places that readers and pins still need stay in the file.
  ///
  /// - Parameter progress: called after each step, on the calling thread; what it throws ends the work.
  /// - Throws: `closed`, `readOnly`, `failStop`, `fileChanged`, `nestedWrite` inside a write transaction, `diskFull`,
  ///   `inputOutput`, `damagedPage`, `CancellationError` if the task was cancelled, and what `progress` throws.
  public func compact(progress: (StorageProgress) throws -> Void = { _ in }) throws {
    try core.maintainer.compact(core, progress)
  }

  /// The same on a thread of the engine's; `progress` is called there.
  @concurrent
  public func compact(progress: @escaping @Sendable (StorageProgress) throws -> Void = { _ in }) async throws {
    try await core.runLongWork(progress) { core, progress in try core.maintainer.compact(core, progress) }
  }

  // MARK: Checking

  /// Checks everything: the trees that readers see, and on the disk every page that the newest checkpoint names.
  ///
  /// Finds what no read has touched yet. The disk's part believes no cache of the engine's: it reads every page that
  /// can be reached, also those that are in memory, every byte of long values, and proves the free map. Bytes that the
  /// system has in its own cache come from there. Writers and readers go on meanwhile.
  ///
  /// - Parameter progress: called now and then, on the calling thread; what it throws ends the check.
  /// - Throws: the first defect; `closed`, `nestedWrite` inside a write transaction, `inputOutput`,
  ///   `CancellationError` if the task was cancelled, and what `progress` throws.
  @discardableResult
  public func verify(progress: (StorageProgress) throws -> Void = { _ in }) throws -> StorageVerification {
    let result = try OnlineVerifier(core: core).verify(progress: progress)
    if let first = result.defects.first { throw first }
    return result
  }

  /// The same, with all that is wrong, up to a limit.
  package func defects(
    limit: Int, progress: (StorageProgress) throws -> Void
  ) throws -> [StorageError] {
    try OnlineVerifier(core: core).verify(defectLimit: limit, progress: progress).defects
  }

  /// The same on a thread of the engine's; `progress` is called there.
  @concurrent @discardableResult
  public func verify(
    progress: @escaping @Sendable (StorageProgress) throws -> Void = { _ in }
  ) async throws -> StorageVerification {
    let result = try await core.runLongWork(progress) { core, progress in
      try OnlineVerifier(core: core).verify(progress: progress)
    }
    if let first = result.defects.first { throw first }
    return result
  }

  // MARK: Figures

  /// Counts the pages of the newest durable snapshot by kind and tree, and how full they are.
  ///
  /// Walks every page of every tree, past the cache: as expensive as half of `verify`. `statistics` has what is known
  /// without looking.
  ///
  /// - Parameter progress: called now and then, on the calling thread; what it throws ends the walk.
  /// - Throws: the first defect that the walk meets; `closed`, `inputOutput`, `CancellationError` if the task was
  ///   cancelled, and what `progress` throws.
  public func treeStatistics(
    progress: (StorageProgress) throws -> Void = { _ in }
  ) throws -> StorageTreeStatistics {
    try TreeCensus(core: core).run(progress: progress)
  }

  /// The same on a thread of the engine's; `progress` is called there.
  @concurrent
  public func treeStatistics(
    progress: @escaping @Sendable (StorageProgress) throws -> Void = { _ in }
  ) async throws -> StorageTreeStatistics {
    try await core.runLongWork(progress) { core, progress in try TreeCensus(core: core).run(progress: progress) }
  }
}

extension EngineCore {
  /// Runs `work` on a thread of the engine's for an async caller. Cancelling the caller's task ends it at its next
  /// report, with `CancellationError`, and before its turn at once; so does giving the engine up, at a report.
  package func runLongWork<Result: Sendable>(
    _ progress: @escaping @Sendable (StorageProgress) throws -> Void,
    _ work: @escaping @Sendable (EngineCore, (StorageProgress) throws -> Void) throws -> Result
  ) async throws -> Result {
    let job = PlainJob<Result> { [self] cancellation in
      try work(self) { report in
        if cancellation.isSet || threads.mustStop { throw CancellationError() }
        try progress(report)
      }
    }
    return try await job.result { try threads.runLongWork { job.run() } }
  }
}
