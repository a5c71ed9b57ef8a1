// The file that a backup goes to: an engine without a log, under a temporary name until all is done.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A database that is being built by one transaction and belongs to nobody else.
///
/// The trees are made as recovery makes them: in the context of an engine that has no log, ended by a checkpoint whose
/// meta page, in both slots, says that none is needed. The first meta page is that of an empty database one commit
/// before the snapshot, so that the only commit has the snapshot's own number.
///
/// Invariant: the temporary name exists until `publish` or `discard`; the final one only after `publish`.
final class BackupFile {
  private let path: String
  private let temporary: String
  private let fileSystem: any FileSystem
  private let file: any File
  private let snapshotCSN: CSN
  /// The engine over the file.
  let core: EngineCore
  /// For the only transaction, until it has ended.
  private var permit: WriterPermit?

  /// Makes the file under its temporary name and begins the transaction.
  ///
  /// - Throws: `alreadyExists`, `diskFull`, `inputOutput`: nothing is left then.
  init(
    _ path: String, of snapshot: SnapshotRecord, pageSize: Int, _ environment: StorageEnvironment, cacheSize: Int
  ) throws(StorageError) {
    self.path = path
    fileSystem = environment.fileSystem
    snapshotCSN = snapshot.csn
    try Self.checkAbsent(path, fileSystem)
    temporary = "\(path)-new-\(hexadecimal(environment.random()))"
    let file: any File
    do throws(SystemError) { file = try fileSystem.open(temporary, .createNew) } catch {
      // The name that the user knows.
      throw StorageError(writing: error, path: path)
    }
    self.file = file
    var environment = environment
    // Nothing happens by itself: the caller's thread does all there is to do.
    environment.scheduling = .stepped
    do throws(StorageError) {
      var page = MetaPage(
        pageSize: pageSize, databaseID: DatabaseID(high: environment.random(), low: environment.random()))
      page.csn = CSN(max(1, snapshot.csn.rawValue) - 1)
      page.loggedCSN = page.csn
      page.nextTreeID = snapshot.nextTreeID
      page.nextRowID = snapshot.nextRowID
      let meta = try MetaPages.create(in: file, page)
      let options = StorageOptions(pageSize: pageSize, cacheSize: cacheSize, maintainsWhenIdle: false)
      let logFiles = LogFiles(fileSystem: fileSystem, databasePath: temporary, databaseID: page.databaseID)
      core = try Opener(path: temporary, options: options, environment: environment).assemble(file, meta, logFiles)
    } catch {
      Self.remove(temporary, fileSystem)
      file.close()
      throw error
    }
    let permit: WriterPermit
    do throws(StorageError) { permit = try core.writerLock.lock() } catch {
      Self.remove(temporary, fileSystem)
      throw error
    }
    core.memory.limitDirtyPages(permit)
    core.context.begin(on: core.head)
    self.permit = consume permit
  }

  deinit { endTransaction() }

  /// Gives the writer lock of the target up. On the thread that has made the backup, which does all of it.
  private func endTransaction() {
    if let permit = permit.take() { core.writerLock.unlock(permit) }
  }

  /// Refuses what is there already, before any work is done; `publish` looks again.
  private static func checkAbsent(_ path: String, _ fileSystem: any FileSystem) throws(StorageError) {
    do throws(SystemError) {
      try fileSystem.open(path, .readOnly).close()
    } catch {
      if error.code == ENOENT { return }
      guard error.code == EISDIR || error.code == ENXIO else { throw StorageError(writing: error, path: path) }
    }
    throw alreadyExists(path)
  }

  private static func alreadyExists(_ path: String) -> StorageError {
    StorageError(
      .alreadyExists, "There is something here already. Choose another path for the backup, or remove it first.",
      path: path)
  }

  /// Runs `body`, which reads the source and writes the target. An error that says that the engine has stopped writing
  /// is, if it is the target's, one of a disk that nobody but the backup needs.
  func failing<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StorageError {
      guard error.code == .failStop, error.path == temporary else { throw error }
      if let system = error.systemError, [ENOSPC, EDQUOT, EFBIG].contains(system.code) {
        throw StorageError(writing: system, path: temporary)
      }
      throw StorageError(
        .inputOutput,
        "The disk could not confirm that the backup is durable. Check that disk; the database itself is unharmed.",
        path: temporary, systemError: error.systemError)
    }
  }

  /// Commits the transaction and writes all of it home, durably.
  func finish() throws(StorageError) {
    try core.writerLock.withHeld { (permit) throws(StorageError) in try finish(permit) }
    endTransaction()
  }

  private func finish(_ permit: borrowing WriterPermit) throws(StorageError) {
    if snapshotCSN.rawValue > 0 {
      let snapshot = core.resources.makeSnapshot(csn: core.context.csn, endLSN: core.meta.current.lsn, permit)
      core.context.discardDeadExtents()
      core.reclaimer.retire(core.context.superseded, csn: core.context.csn.rawValue, permit)
      core.allocator.commitAhead(permit)
      core.context.didCommit()
      let old = core.head
      core.resources.head.advance(to: snapshot, permit)
      core.slots.publish(snapshot)
      core.reclaimer.retire(old)
    }
    core.slots.exitEpoch(core.writerSlot)
    core.checkpointer.begin(isFinal: true, permit)
    while core.checkpointer.step() {}
    if let failure = core.checkpointer.lastFailure { throw failure }
    core.space.cutFileAtClose(permit)
  }

  /// Reads the file back, from its meta page down, and compares what it holds with what was to be copied.
  ///
  /// - Parameter progress: called with the pages that have been looked at, and all there are.
  /// - Throws: the first defect.
  func verify(trees: [TreeRoot], progress: (Int, Int) throws -> Void) throws -> StorageBackup {
    let page = try MetaPages.open(file).current
    let store = try PageStore(
      file: file, pageSize: page.pageSize, cacheSize: 32 * page.pageSize, checksumSeed: page.databaseID.checksumSeed,
      pageCount: page.pageCount)
    let verifier = CheckpointVerifier(store, page, defectLimit: 1)
    try verifier.run(progress: { pages in try progress(pages, Int(page.pageCount)) })
    if let defect = verifier.defects.first { throw defect }
    let isWhole =
      page.csn == snapshotCSN && page.isComplete && verifier.trees.count == trees.count
      && zip(verifier.trees, trees).allSatisfy { $0.root.id == $1.id && $0.root.count == $1.count }
    guard isWhole else {
      throw StorageError(.damagedPage, "The backup does not hold what was written to it. Try again.", path: temporary)
    }
    return StorageBackup(
      csn: page.csn, databaseID: page.databaseID, entries: trees.reduce(0) { $0 + $1.count },
      pages: Int(page.pageCount), byteCount: Int(page.pageCount) * page.pageSize)
  }

  /// Gives the file its name, durably.
  ///
  /// - Throws: `alreadyExists` if the name has been taken meanwhile, `diskFull`, `inputOutput`.
  func publish() throws(StorageError) {
    do throws(SystemError) {
      // With it the length, which was cut behind the last sync.
      try fileSystem.publish(file, temporary, as: path)
    } catch {
      if error.code == EEXIST { throw Self.alreadyExists(path) }
      throw StorageError(writing: error, path: path)
    }
    Self.remove(temporary, fileSystem)
  }

  /// Removes what there is of the backup.
  func discard() { Self.remove(temporary, fileSystem) }

  private static func remove(_ path: String, _ fileSystem: any FileSystem) {
    // A name that cannot be removed is harmless: it is not the one that was asked for.
    do throws(SystemError) { try fileSystem.unlink(path) } catch {}
  }
}
