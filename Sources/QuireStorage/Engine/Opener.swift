// Opening: creation, ownership, recovery. Nothing is changed before everything that could be refused has been checked.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Opens or creates a database.
package struct Opener {
  let path: String
  let options: StorageOptions
  let environment: StorageEnvironment
  private let progress: RecoveryProgress?

  /// Prepares an opening; nothing is touched before `open`.
  ///
  /// - Parameter progress: is told how far a recovery has come.
  package init(
    path: String, options: StorageOptions, environment: StorageEnvironment, progress: RecoveryProgress? = nil
  ) {
    self.path = path
    self.options = options
    self.environment = environment
    self.progress = progress
  }

  /// Opens what is there, or creates it, and returns the running engine.
  ///
  /// - Throws: see `StorageEngine.init`.
  package func open() throws(StorageError) -> EngineCore {
    try options.check(allowsTestPages: environment.allowsTestPages)
    return try open(attempts: 4, isMadeHere: false)
  }

  /// - Parameter attempts: how often a new database may be gone again before it could be opened, or its name turn out
  ///   to be taken by a link that leads nowhere.
  /// - Parameter isMadeHere: whether this opening has made the name of a new database durable.
  private func open(attempts: Int, isMadeHere: Bool) throws(StorageError) -> EngineCore {
    let file: any File
    do throws(SystemError) {
      file = try environment.fileSystem.open(path, options.isReadOnly ? .readOnly : .readWrite)
    } catch {
      if error.code == ENAMETOOLONG { try checkName(error) }
      if error.code == ENOENT, options.createsIfMissing, !options.isReadOnly {
        guard attempts > 0 else {
          // Something has the name, and nothing can be opened by it.
          throw StorageError(
            .notFound,
            "A symbolic link here leads to nothing. Remove it, or put back the database that it leads to.", path: path,
            systemError: error)
        }
        let isMade = try create()
        return try open(attempts: attempts - 1, isMadeHere: isMade)
      }
      throw StorageError(opening: error, path: path)
    }
    let isMade: Bool
    do throws(StorageError) {
      try own(file)
      let meta = try MetaPages.open(file)
      guard options.isReadOnly || meta.current.hasRoom else {
        throw StorageError(
          .damagedMetaPage,
          "The counters of the file are used up, as those of no database are. Open it read-only, or restore a backup.",
          path: path)
      }
      let mayRenew = !isMadeHere && !options.isReadOnly && attempts > 0
      let renews = mayRenew ? try isUntouched(file, meta) : false
      if !renews { return try recover(file, meta) }
      isMade = try renew(file, meta.current)
    } catch {
      file.close()
      throw error
    }
    file.close()
    return try open(attempts: attempts - 1, isMadeHere: isMade)
  }

  // MARK: Ownership

  private func own(_ file: any File) throws(StorageError) {
    let isRegular: Bool
    do throws(SystemError) { isRegular = try file.status().isRegularFile } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: path, systemError: error)
    }
    guard isRegular else {
      throw StorageError(.notADatabase, "This is not a regular file. Check the path.", path: path)
    }
    do throws(SystemError) { try file.lock(options.isReadOnly ? .shared : .exclusive) } catch {
      guard error.code == EWOULDBLOCK else {
        throw StorageError(
          .inputOutput,
          "The database cannot be locked. Try again, or move it to a file system that has locks.", path: path,
          systemError: error)
      }
      let holder = file.lockHolder()
      let name =
        holder.map { $0 == getpid() ? "this process" : "process \($0)" } ?? "another process"
      throw StorageError(
        .alreadyOpen, "The database is open already, in \(name). Close it there first.", path: path, holder: holder)
    }
  }

  // MARK: Creation

  /// Builds the database under a temporary name and links it into place: what is at `path` is always complete
  /// (hazard D1). It is then opened by its own name like any other. Another opener may have built the file, or
  /// opened it, first.
  ///
  /// - Returns: whether the name is of this file, and durable.
  private func create() throws(StorageError) -> Bool {
    try checkAbsence()
    let id = DatabaseID(high: environment.random(), low: environment.random())
    return try make(MetaPage(pageSize: options.pageSize, databaseID: id), publish)
  }

  /// Writes a database without rows to a file of its own, has it published, and notes in it that its name is durable.
  ///
  /// - Parameter publish: gives the file its name, durably, and returns whether it has it.
  /// - Returns: what `publish` returned.
  func make(
    _ page: MetaPage, _ publish: (any File, _ temporary: String) throws(StorageError) -> Bool
  ) throws(StorageError) -> Bool {
    let temporary = "\(path)-new-\(hexadecimal(environment.random()))"
    let file: any File
    do throws(SystemError) { file = try environment.fileSystem.open(temporary, .createNew) } catch {
      if error.code == ENAMETOOLONG { try checkName(error) }
      // The name that the user knows.
      throw StorageError(writing: error, path: path)
    }
    defer { file.close() }
    defer { remove(temporary) }
    _ = try MetaPages.create(in: file, page)
    let isNamed = try publish(file, temporary)
    if isNamed { noteDurableName(file, pageSize: page.pageSize) }
    return isNamed
  }

  /// - Throws: `invalidOption` if the name leaves no room for what the names of the files beside it add.
  private func checkName(_ error: SystemError) throws(StorageError) {
    let bytes = path.utf8
    let name = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes[bytes.index(after: $0)...] } ?? bytes[...]
    let limit = Limits.fileNameByteCount - Limits.fileNameSuffixByteCount
    guard name.count > limit else { return }
    throw StorageError(
      .invalidOption,
      """
      The name of the database has \(name.count) bytes; the files beside it need names with up to \
      \(Limits.fileNameSuffixByteCount) more, and a name has at most \(Limits.fileNameByteCount). Shorten it to \
      \(limit) bytes, by \(name.count - limit).
      """, path: path, systemError: error)
  }

  /// A log without its data file is what is left of a database, and not to be overwritten by a new one.
  private func checkAbsence() throws(StorageError) {
    guard let logPath = firstLogPath,
      // Another opener may have created the data file but not yet its log.
      !environment.fileSystem.exists(path)
    else { return }
    throw StorageError(
      .notFound,
      """
      The data file is missing, but there is a log beside it. Put the data file back, or restore a backup and move \
      the log away.
      """, path: logPath)
  }

  /// The path of a file of a log beside the data file; nil if there is none.
  var firstLogPath: String? {
    let logFiles = LogFiles(
      fileSystem: environment.fileSystem, databasePath: path, databaseID: DatabaseID(high: 0, low: 0))
    return (0..<Limits.segmentFileCount).first { logFiles.exists($0) }.map { logFiles.path($0) }
  }

  /// Makes the file durable and gives it its name, unless that has been taken meanwhile.
  ///
  /// If the name cannot be made durable it goes again: a sync of the folder that failed may have forgotten it, so that
  /// no later sync would write it, while the names of log files that came after it stay. The next attempt makes the
  /// name anew. A lock keeps everybody from working by the name until then.
  ///
  /// - Returns: false if it has been taken.
  private func publish(_ file: any File, _ temporary: String) throws(StorageError) -> Bool {
    do throws(SystemError) {
      try file.synchronize()
      let isLocked = lock(file)
      do throws(SystemError) { try environment.fileSystem.link(temporary, to: path) } catch {
        if error.code == EEXIST { return false }
        throw error
      }
      do throws(SystemError) { try environment.fileSystem.synchronizeDirectory(of: path) } catch {
        if isLocked { remove(path) }
        throw error
      }
      return true
    } catch {
      throw StorageError(writing: error, path: path)
    }
  }

  /// Locks a file that nobody else has a name for. Returns whether it could be, which not all file systems can.
  func lock(_ file: any File) -> Bool {
    do throws(SystemError) {
      try file.lock(.exclusive)
      return true
    } catch {
      return false
    }
  }

  private func remove(_ temporary: String) {
    // A second name that cannot be removed is harmless: nobody will look at it.
    do throws(SystemError) { try environment.fileSystem.unlink(temporary) } catch {}
  }

  // MARK: Recovery

  private func recover(_ file: any File, _ meta: MetaPages) throws(StorageError) -> EngineCore {
    let page = meta.current
    let logFiles = LogFiles(fileSystem: environment.fileSystem, databasePath: path, databaseID: page.databaseID)
    var files: [any File] = []
    defer { for file in files { file.close() } }
    for segment in page.segments { files.append(try logFiles.open(segment, .readOnly)) }
    let reader = try LogReader(page, files: files)
    environment.noteRecovery?(.read)
    let scan = try reader.scan()
    environment.noteRecovery?(.scanned)
    try reader.checkMarks(scan, path: path)
    try logFiles.checkStrays(page)
    if scan.durableCheckpoint >= page.checkpointNumber || meta.predecessor == nil { meta.isProven = true }
    let core = try assemble(file, meta, logFiles)
    environment.noteRecovery?(.assembled)
    // Nobody may see a state that rests on a meta page which is not durable, or that needs a log which may go.
    // Read-only, it rests on what the system shows; whether the disk has it is for the next opening that writes to find
    // out.
    if !meta.isSettled {
      try Recovery(core: core, scan: scan, reader: reader, progress: progress).run()
      environment.noteRecovery?(.settled)
    }
    if !options.isReadOnly { RunFile.removeLeftover(environment.fileSystem, databasePath: path) }
    core.isRecovered = true
    return core
  }

  /// Puts an engine together over a file whose meta pages have been read; nothing is replayed.
  ///
  /// - Parameter told: the trees, where the catalog is not to be read.
  func assemble(
    _ file: any File, _ meta: MetaPages, _ logFiles: LogFiles, trees told: (trees: [TreeRoot], names: TreeNames)? = nil
  ) throws(StorageError) -> EngineCore {
    let page = meta.current
    let file: any File =
      options.isReadOnly ? OverlayFile(file, from: Int(page.pageCount) * page.pageSize) : file
    let store = try PageStore(
      file: file, pageSize: page.pageSize, cacheSize: options.cacheSize,
      checksumSeed: page.databaseID.checksumSeed, pageCount: page.pageCount)
    let freeMap = FreeMapFile(store: store)
    let freePlaces = try freeMap.load(page.freeMap, pageCount: page.pageCount)
    // What the log marks is durable, but the mark may be in the page cache alone: were the predecessor's pages reused
    // because of it, and did a power cut then take it, the next recovery would fall back to a predecessor without
    // pages.
    let isOnlyOne = !options.isReadOnly && (meta.predecessor == nil || meta.hasTwin)
    let allocator = PageAllocator(
      pageSize: page.pageSize, pageCount: page.pageCount, free: freePlaces, checkpoint: page.checkpointNumber,
      isProven: isOnlyOne, isTrusted: page.catalog.number == .none && page.freeMap.number == .none)
    let pool = SnapshotPool()
    let empty = pool.make(csn: page.csn, trees: [], names: TreeNames([:]))
    let slots = ReaderSlots(empty, path: path, blockCount: environment.readerBlockCount)
    let reclaimer = Reclaimer(store: store, allocator: allocator, slots: slots, pool: pool)
    let catalog = Catalog(page, store: store, allocator: allocator, reclaimer: reclaimer)
    let trees: [TreeRoot]
    let names: TreeNames
    if let told { (trees, names) = told } else { (trees, names) = try catalog.load() }
    let snapshot = pool.make(csn: page.csn, trees: trees, names: names)
    snapshot.nextTreeID = max(page.nextTreeID, (trees.last?.id.rawValue ?? 0) + 1)
    snapshot.nextRowID = page.nextRowID
    snapshot.endLSN = page.lsn
    slots.publish(snapshot)
    let own = Int(page.pageCount) * page.pageSize
    let free = environment.fileSystem.freeByteCount(at: path) ?? .max
    return EngineCore(
      OpenedFiles(
        options: options, environment: environment.fitted(toDisk: free > .max - own ? .max : free + own), file: file,
        logFiles: logFiles, store: store,
        allocator: allocator, pool: pool, slots: slots, reclaimer: reclaimer, catalog: catalog, freeMap: freeMap,
        meta: meta, snapshot: snapshot))
  }
}
