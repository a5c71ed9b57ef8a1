// A look into the files of a database that changes nothing: for tools, and for files that cannot be opened.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Reads a database's files without an engine.
///
/// Opens everything read-only and writes nothing, whatever state the files are in. Takes a shared lock, so that no
/// engine opens the files meanwhile; if one has them already, `isInUse` says so: what is read may then be changing.
package final class Inspector {
  /// The path of the data file.
  package let path: String
  /// Whether an engine has the database open.
  package let isInUse: Bool
  /// The process of that engine, where the system tells.
  package let holder: Int32?
  /// The length of the data file.
  package let fileByteCount: Int
  /// What the two slots for meta pages hold.
  package let metaPages: [MetaPage.Decoded]
  private let fileSystem: any FileSystem
  private let file: any File

  /// Opens the files.
  ///
  /// - Throws: `notFound`, `notADatabase` if it is no regular file, `inputOutput`. Damage is not thrown but shown.
  package init(at path: String, fileSystem: any FileSystem = RealFileSystem()) throws(StorageError) {
    let path = fileSystem.canonicalPath(path)
    self.path = path
    self.fileSystem = fileSystem
    do throws(SystemError) { file = try fileSystem.open(path, .readOnly) } catch {
      switch error.code {
      case ENOENT:
        throw StorageError(.notFound, "There is no database here. Check the path.", path: path, systemError: error)
      case ENXIO:
        throw StorageError(.notADatabase, "This is not a regular file. Check the path.", path: path, systemError: error)
      default:
        throw StorageError(
          .inputOutput, "The file cannot be opened. Check the permissions.", path: path, systemError: error)
      }
    }
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: path, systemError: error)
    }
    guard status.isRegularFile else {
      throw StorageError(.notADatabase, "This is not a regular file. Check the path.", path: path)
    }
    fileByteCount = status.byteCount
    var isInUse = false
    // A file system without locks cannot tell; then nobody else has one either.
    do throws(SystemError) { try file.lock(.shared) } catch { isInUse = error.code == EWOULDBLOCK }
    self.isInUse = isInUse
    holder = isInUse ? file.lockHolder() : nil
    let slots = try MetaPages.decodeSlots(of: file)
    metaPages = [slots.first, slots.second]
  }

  deinit { file.close() }

  /// The meta page that an engine would go by, and the slot it stands in; nil if neither verifies.
  package var newest: (slot: Int, meta: MetaPage)? {
    var best: (slot: Int, meta: MetaPage)?
    for (slot, decoded) in metaPages.enumerated() {
      guard case .valid(let page) = decoded else { continue }
      if page.checkpointNumber > best?.meta.checkpointNumber ?? 0 || best == nil { best = (slot, page) }
    }
    return best
  }

  /// The meta page that an engine would go by.
  ///
  /// - Throws: what opening the database would: `notADatabase`, `newerFormat`, `damagedMetaPage`, `truncatedFile`.
  package func requireMeta() throws(StorageError) -> MetaPage { try MetaPages.open(file).current }

  /// A store over the data file, with nothing in memory.
  private func makeStore(_ meta: MetaPage) throws(StorageError) -> PageStore {
    try PageStore(
      file: file, pageSize: meta.pageSize, cacheSize: 32 * meta.pageSize, checksumSeed: meta.databaseID.checksumSeed,
      pageCount: meta.pageCount)
  }

  // MARK: Pages

  /// One page as it stands in the file.
  package struct RawPage {
    /// Its bytes.
    package let bytes: [UInt8]
    /// What its checksum should be.
    package let computedChecksum: UInt64
    /// Why it is no valid page of a tree or of the free map, if so.
    package let defect: String?
  }

  /// Reads page `number`, valid or not.
  ///
  /// - Throws: what `requireMeta` throws, `invalidOption` for a number beyond the end, `inputOutput`.
  package func page(_ number: PageNumber) throws(StorageError) -> RawPage {
    let meta = try requireMeta()
    guard number.rawValue < UInt64(fileByteCount / meta.pageSize) else {
      throw StorageError(
        .invalidOption, "The file has \(fileByteCount / meta.pageSize) pages, numbered from 0.", path: path,
        page: number)
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: meta.pageSize, alignment: 16)
    defer { buffer.deallocate() }
    try file.readFully(into: buffer, at: Int(number.rawValue) * meta.pageSize)
    guard let base = buffer.baseAddress else { return RawPage(bytes: [], computedChecksum: 0, defect: nil) }
    let page = PageBytes(base)
    let checksum = PageChecksum.compute(page, pageSize: meta.pageSize, seed: meta.databaseID.checksumSeed)
    var defect: String?
    if checksum != page.checksum {
      defect = "its checksum does not match"
    } else if page.pageNumber != number.rawValue {
      defect = "it belongs at page \(page.pageNumber)"
    } else if page.kind == PageKind.leaf.rawValue || page.kind == PageKind.branch.rawValue {
      defect = PageValidation.defect(in: page, pageSize: meta.pageSize, pageCount: meta.pageCount)
    }
    return RawPage(bytes: Array(buffer), computedChecksum: checksum, defect: defect)
  }

  // MARK: Checks

  /// Figures of all pages of one purpose.
  package struct PageUse: Sendable {
    /// How many there are.
    package var count = 0
    /// Bytes of them that are in use.
    package var usedByteCount = 0
    /// Entries, or children.
    package var entryCount = 0

    /// Puts the three together.
    package init(count: Int = 0, usedByteCount: Int = 0, entryCount: Int = 0) {
      self.count = count
      self.usedByteCount = usedByteCount
      self.entryCount = entryCount
    }
  }

  /// What a walk over the newest checkpoint has found.
  package struct Survey {
    /// The meta page that the walk started from.
    package let meta: MetaPage
    /// The trees that the catalog names.
    package let trees: [CheckpointVerifier.Tree]
    /// Pages by purpose.
    package let pages: [CheckpointVerifier.Purpose: PageUse]
    /// Pages that the free map calls free.
    package let freeCount: Int
    /// What is wrong.
    package let defects: [StorageError]
  }

  /// Walks everything that the newest meta page names, and compares it with the free map.
  package func survey(
    defectLimit: Int = 100, progress: CheckpointVerifier.Progress = { _ in }
  ) throws -> Survey {
    let meta = try requireMeta()
    let store = try makeStore(meta)
    let verifier = CheckpointVerifier(store, meta, defectLimit: defectLimit)
    var pages: [CheckpointVerifier.Purpose: PageUse] = [:]
    try verifier.run(progress: progress) { purpose, page in
      pages[purpose, default: PageUse()].count += 1
      pages[purpose, default: PageUse()].usedByteCount += page.usedByteCount(pageSize: meta.pageSize)
      pages[purpose, default: PageUse()].entryCount += page.count
    }
    pages[.freeMap] = PageUse(
      count: verifier.freeMapPageCount, usedByteCount: verifier.freeMapPageCount * meta.pageSize,
      entryCount: verifier.freeCount)
    pages[.extent] = PageUse(
      count: verifier.extents.pageCount, usedByteCount: verifier.extents.byteCount,
      entryCount: verifier.extents.count)
    return Survey(
      meta: meta, trees: verifier.trees, pages: pages, freeCount: verifier.freeCount, defects: verifier.defects)
  }

  /// The extent that page `number` belongs to, with the tree that has it; nil if no leaf refers to it. Touches every
  /// page of every tree.
  package func extent(at number: PageNumber) throws -> (tree: TreeID, extent: ExtentReference)? {
    let meta = try requireMeta()
    var found: (TreeID, ExtentReference)?
    let verifier = CheckpointVerifier(try makeStore(meta), meta, defectLimit: .max, readsExtents: false)
    try verifier.run(look: { purpose, page in
      guard purpose == .leaf else { return }
      for index in 0..<page.count {
        let cell = page.leafCell(index)
        guard cell.isExtent else { continue }
        let count = UInt64(cell.extent.layout(pageSize: meta.pageSize).pageCount)
        let first = cell.extent.first.rawValue
        if (first..<(first + count)).contains(number.rawValue) { found = (TreeID(page.treeID), cell.extent) }
      }
    })
    return found
  }

  /// The log that a meta page names.
  package struct Log {
    /// The meta page.
    package let meta: MetaPage
    /// What was read.
    package let reader: LogReader
    /// What of it is the log.
    package let scan: LogScan
    /// Why it ends where it does.
    package let reasonForEnd: String
    /// What opening would refuse it for.
    package let defect: StorageError?
  }

  /// Reads the log that the newest meta page names; nil if that needs none.
  ///
  /// - Throws: what `requireMeta` throws, `missingLog`, `inputOutput`.
  package func log() throws(StorageError) -> Log? {
    let meta = try requireMeta()
    guard !meta.isComplete else { return nil }
    let logFiles = LogFiles(fileSystem: fileSystem, databasePath: path, databaseID: meta.databaseID)
    var files: [any File] = []
    defer { for file in files { file.close() } }
    for segment in meta.segments { files.append(try logFiles.open(segment, .readOnly)) }
    let reader = try LogReader(meta, files: files)
    let scan = try reader.scan()
    var defect: StorageError?
    do throws(StorageError) {
      try reader.checkMarks(scan, path: path)
      for record in scan.records {
        var operations = LogOperationReader(reader.committedBody(of: record))
        while operations.next() != nil {}
        if operations.isDamaged {
          throw StorageError(
            .damagedLog, "A log record breaks the format. \(StorageError.restoring)",
            path: files[record.segment].path, lsn: record.header.lsn, offset: record.offset)
        }
      }
    } catch {
      defect = error
    }
    return Log(meta: meta, reader: reader, scan: scan, reasonForEnd: reader.reasonForEnd(of: scan), defect: defect)
  }

  /// Checks all there is: meta pages, every page, the free map, the log, and whatever else opening asks, by opening the
  /// files read-only. Returns what is wrong.
  ///
  /// Takes the memory and the time that replaying the log takes. Of files that an engine has open, what is asked of
  /// them together is left out.
  package func check(
    defectLimit: Int = 100, progress: CheckpointVerifier.Progress = { _ in }
  ) throws -> [StorageError] {
    var defects: [StorageError] = []
    do { defects += try survey(defectLimit: defectLimit, progress: progress).defects } catch {
      guard let error = error as? StorageError else { throw error }
      return [error]
    }
    do throws(StorageError) {
      if let defect = try log()?.defect { defects.append(defect) }
    } catch {
      defects.append(error)
    }
    let known = Set(defects.map(\.description))
    if !isInUse, let refusal = refusal(), !known.contains(refusal.description) { defects.append(refusal) }
    return defects
  }

  /// Why opening refuses these files; nil if it does not. Nothing of them is changed.
  private func refusal() -> StorageError? {
    // The page size is the file's; small ones are known to tests alone, and damaged if they are not.
    let environment = StorageEnvironment(fileSystem: fileSystem, scheduling: .stepped, allowsTestPages: true)
    let opener = Opener(path: path, options: StorageOptions(isReadOnly: true), environment: environment)
    do throws(StorageError) {
      try opener.open().close()
      return nil
    } catch {
      return error
    }
  }
}
