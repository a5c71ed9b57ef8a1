// The engine as users see it.

internal import Synchronization

/// An open database: an ordered, transactional key-value store with one writer and any number of readers.
///
/// ```swift
/// let engine = try StorageEngine(at: "library.quire")
/// let songs = try engine.write { tx in try tx.createTree("songs", keys: .bytes) }
/// try engine.write { tx in try tx.put("Blue Train", for: "s1", in: songs) }
/// let title = try engine.read { tx in try tx.value(for: "s1", in: songs) }
/// ```
///
/// All methods may be called from any thread. `read` waits for no other transaction to end; `write` waits for other
/// writers, and, with `Durability.full`, for the disk. In async functions use the async forms, which wait without
/// blocking a thread of the cooperative pool.
///
/// The guide is <doc:Architecture>.
public final class StorageEngine: Sendable {
  /// The parts of the engine, for the layers above.
  package let core: EngineCore

  /// Opens the database at `path`, or creates it.
  ///
  /// After a crash this replays the log and makes the result durable before it returns. A file that is refused is not
  /// changed in any way. With `StorageOptions.isReadOnly` nothing is changed in any case.
  ///
  /// One engine at a time may have a database open for writing, or any number read-only; a lock on the data file sees
  /// to it, across processes, whatever path leads to the file. It ends with the process that holds it. A child that is
  /// forked while the engine is open cannot use it: every call throws `forkedProcess`.
  ///
  /// - Throws: `notADatabase`, `newerFormat`, `damagedMetaPage`, `damagedPage`, `damagedLog`, `missingLog`,
  ///   `truncatedFile`, `alreadyOpen` (with the holder's process id), `notFound`, `invalidOption`, `diskFull`,
  ///   `inputOutput`. After a crash with a long log, what keeps its content from being written home is told by the next
  ///   write, `checkpoint` or `close`.
  public convenience init(at path: String, options: StorageOptions = StorageOptions()) throws(StorageError) {
    try self.init(at: path, options: options, environment: StorageEnvironment())
  }

  /// Opens the database at `path`, or creates it, and tells how far the replay of a log has come.
  ///
  /// - Parameters:
  ///   - path: the data file.
  ///   - options: how it is opened.
  ///   - progress: called now and then while the log is replayed, on the calling thread; not at all if there is nothing
  ///     to replay. What it throws ends the opening, and so does cancelling the task that calls: the files are left as
  ///     they were.
  /// - Throws: as the other form, `CancellationError`, and what `progress` throws.
  public convenience init(
    at path: String, options: StorageOptions = StorageOptions(), progress: (StorageProgress) throws -> Void
  ) throws {
    let core = try withoutActuallyEscaping(progress) { progress in
      let recovery = RecoveryProgress(progress)
      do throws(StorageError) {
        return try Self.open(path, options, StorageEnvironment(), recovery)
      } catch { throw recovery.failure ?? error }
    }
    self.init(core: core)
  }

  /// Opens a database in surroundings of the caller's making.
  ///
  /// - Parameter progress: is told how far a recovery has come. What that throws ends the opening with an error that
  ///   stands for it.
  package init(
    at path: String, options: StorageOptions, environment: StorageEnvironment, progress: RecoveryProgress? = nil
  ) throws(StorageError) {
    core = try Self.open(path, options, environment, progress)
  }

  private static func open(
    _ path: String, _ options: StorageOptions, _ environment: StorageEnvironment, _ progress: RecoveryProgress?
  ) throws(StorageError) -> EngineCore {
    guard !path.utf8.contains(0) else {
      throw StorageError(
        .invalidOption, "The path has a zero byte in it, behind which the system does not look. Choose another one.",
        path: path)
    }
    // The log lies beside the data file: a link to that, or a change of the working directory, must not lead elsewhere.
    var environment = environment
    if let protection = options.fileProtection {
      environment.fileSystem = environment.fileSystem.protecting(protection)
    }
    let path = environment.fileSystem.canonicalPath(path)
    return try Opener(path: path, options: options, environment: environment, progress: progress).open()
  }

  /// Makes an empty database in memory, which is gone with the engine.
  ///
  /// All calls do what they do on a disk, at the same cost less that of the disk, but nothing survives the process:
  /// every commit is acknowledged as with `Durability.relaxed`, whatever `options` say, and no call waits for a disk.
  ///
  /// Memory: what the rows take in a file, the part of them that `cacheSize` keeps ready for use, and the log with up
  /// to twice `logLimit`. Pages that are not among the ready ones cost a copy and a checksum, about a microsecond.
  /// Places of rows that are gone are used again; `maintain`, by itself when the engine has been idle after a
  /// checkpoint, gives memory back to the system.
  ///
  /// - Throws: `invalidOption`, also for `isReadOnly`; `limitReached`, `inputOutput` if the system gives no memory.
  public static func inMemory(options: StorageOptions = StorageOptions()) throws(StorageError) -> StorageEngine {
    try inMemory(options: options, environment: StorageEnvironment())
  }

  /// As above, in surroundings of the caller's making, but for their file system.
  package static func inMemory(
    options: StorageOptions, environment: StorageEnvironment
  ) throws(StorageError) -> StorageEngine {
    guard !options.isReadOnly else {
      throw StorageError(.invalidOption, "A database in memory begins empty. Open it without isReadOnly.")
    }
    var (options, environment) = (options, environment)
    options.durability = .relaxed
    options.createsIfMissing = true
    environment.fileSystem = MemoryFileSystem()
    return try StorageEngine(at: "memory", options: options, environment: environment)
  }

  /// An engine over what an opener has put together.
  init(core: EngineCore) { self.core = core }

  deinit { core.threads.stop() }

  // MARK: Transactions

  /// Runs `body` on the newest durable snapshot, which stays as it is until `body` returns. Waits for no other
  /// transaction to end. Where the cache is more than 4 MiB too small for the pages in use at one moment, a call that
  /// brings in a page may wait up to 80 ms for other threads to end theirs.
  ///
  /// - Throws: `closed`, `limitReached` if there are as many readers as there can be (65,536 at one time, pinned
  ///   snapshots and their reads among them), and what `body` throws.
  public func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
    try core.read(body)
  }

  /// Runs `body` as the only write transaction and commits what it did; with `Durability.full` returns when that is on
  /// the disk. If `body` throws, nothing of it remains, and the error is rethrown.
  ///
  /// - Throws: `closed`, `readOnly`, `nestedWrite`, `failStop`, `fileChanged`, `outcomeUnknown`, `diskFull`,
  ///   `transactionFailed`, `damagedPage` if the file contradicts its free map, and what `body` throws.
  @discardableResult
  public func write<Result>(_ body: (borrowing WriteTransaction) throws -> Result) throws -> Result {
    try core.write(body)
  }

  /// Runs `body` on the newest durable snapshot, on one of the engine's threads for that
  /// (`StorageOptions.readerThreadCount`): whichever is idle takes the next read.
  ///
  /// - Throws: `closed`, `limitReached` if the system gives no thread, `CancellationError` if the task is cancelled
  ///   before `body` begins, which then never runs, and what `body` throws.
  @concurrent
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Result
  ) async throws -> Result {
    try core.checkOpen()
    let job = PlainJob<Result> { [core] _ in try core.read(body) }
    return try await job.result { try core.threads.runReader { job.run() } }
  }

  /// Runs `body` as the only write transaction, on a thread of the engine's, and returns when its commit is
  /// acknowledged.
  ///
  /// - Throws: as the other form; `limitReached` if the system gives no thread, and `CancellationError` if the task is
  ///   cancelled before the transaction's turn: nothing has been done then.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
  ) async throws -> Result {
    try core.checkOpen()
    let job = AsyncJob<EngineCore.WriteBody<Result>, Result>(body)
    return try await job.result { try core.threads.runWriter { [core] in core.writeAndNotify(job) } }
  }

  /// Keeps the newest durable snapshot for as long as the returned object lives.
  ///
  /// A pin costs what later commits replace of the pages that it sees, and nothing else: neither writers nor
  /// checkpoints wait for it.
  ///
  /// - Throws: `closed`, `limitReached` if there are as many readers as there can be.
  public func pin() throws(StorageError) -> PinnedSnapshot { try PinnedSnapshot(core) }

  // MARK: Durability

  /// Returns when every commit acknowledged so far is on the disk, whatever the durability it was made with.
  public func flush() throws(StorageError) {
    try core.checkOpen()
    try core.queue.checkFailure()
    try core.queue.flush()
  }

  /// Writes all that is in the log home. Happens by itself as the log grows.
  ///
  /// - Throws: `closed`, `readOnly`, `failStop`, `fileChanged`, `nestedWrite`, `diskFull`, `inputOutput`.
  public func checkpoint() throws(StorageError) { try core.checkpoint() }

  /// Writes everything home, leaves a file that needs no log, and gives the database up: when it returns, on whatever
  /// thread, the file can be opened again. A call while another one closes waits for that, and has the same outcome; a
  /// call after it does nothing. Read-only, it writes nothing.
  ///
  /// Waits for what runs on the engine's own threads. There, in the body of an async read for example, it may be called
  /// too, but not while another thread closes: each would wait for the other.
  ///
  /// - Throws: `inUse` while transactions or pinned snapshots are alive, and then the engine stays open, and nobody has
  ///   seen it closed; `inUse`, too, on a thread of the engine's while another one closes; `nestedWrite`, `failStop`,
  ///   `diskFull`, `inputOutput` if the last checkpoint failed: the engine is closed all the same, and the log holds
  ///   what the checkpoint did not write.
  public func close() throws(StorageError) { try core.close() }

  /// Figures since opening.
  public var statistics: StorageStatistics { core.statistics }
}

/// A snapshot that stays where it is: a long-lived read.
///
/// It may be used from any thread.
public final class PinnedSnapshot: @unchecked Sendable {
  // Sendable: safe because its parts are immutable, and the slot's words are atomics.
  private let core: EngineCore
  private let slot: ReaderSlot
  private let snapshot: SnapshotRecord

  fileprivate init(_ core: EngineCore) throws(StorageError) {
    self.core = core
    (slot, snapshot) = try core.pin()
    core.restingPins.add(1, ordering: .sequentiallyConsistent)
  }

  deinit {
    // In this order: the pins that are counted have their slots.
    core.restingPins.subtract(1, ordering: .sequentiallyConsistent)
    core.slots.end(slot)
  }

  /// Whether it is one of `engine`'s.
  package func isOf(_ engine: StorageEngine) -> Bool { core === engine.core }

  /// The commit that this snapshot shows.
  public var csn: CSN { snapshot.csn }

  /// Runs `body` on the snapshot. Any number of threads may do so at once.
  ///
  /// - Throws: `suspended`, `forkedProcess`, `limitReached` as `StorageEngine.read`, and what `body` throws.
  public func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
    try body(try beginRead())
  }

  /// A transaction on the snapshot, which must not outlive it.
  ///
  /// - Throws: `suspended`, `forkedProcess`, `limitReached`.
  package func beginRead() throws(StorageError) -> ReadTransaction {
    try core.checkOpen()
    // A slot of its own for each call: the pin's protects the snapshot, this one the addresses that the call takes.
    let slot = try core.slots.announce(snapshot.csn)
    // Looked at again now that `suspend` would see the slot.
    do throws(StorageError) { try core.checkOpen() } catch {
      core.slots.end(slot)
      throw error
    }
    return ReadTransaction(core.slots, core.reader, slot: slot, snapshot: snapshot)
  }
}
