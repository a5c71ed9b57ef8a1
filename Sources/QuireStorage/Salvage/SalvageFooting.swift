// What a damaged database is read by: a meta page, or what can take its place.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Opens the files and chooses what the trees are found through.
struct SalvageFooting {
  /// One way to read the file.
  struct Way {
    let basis: SalvageSource.Basis
    let meta: MetaPage?
    let databaseID: DatabaseID?
    let file: SalvageFile
    var catalog: SalvageCatalog
  }

  let path: String
  let fileSystem: any FileSystem
  let options: SalvageOptions
  /// The data file, open and locked.
  let file: any File
  private let status: FileStatus
  let metaPages: [MetaPage.Decoded]

  /// - Throws: `notFound`, `notADatabase`, `alreadyOpen`, `newerFormat`, `inputOutput`.
  init(_ path: String, _ options: SalvageOptions, _ fileSystem: any FileSystem) throws(StorageError) {
    let path = fileSystem.canonicalPath(path)
    self.path = path
    self.options = options
    self.fileSystem = fileSystem
    do throws(SystemError) { file = try fileSystem.open(path, .readOnly) } catch {
      throw StorageError(opening: error, path: path)
    }
    do throws(StorageError) {
      status = try Self.own(file)
      let slots = try MetaPages.decodeSlots(of: file)
      metaPages = [slots.first, slots.second]
    } catch {
      file.close()
      throw error
    }
  }

  /// Sees to it that nobody writes to the file meanwhile.
  private static func own(_ file: any File) throws(StorageError) -> FileStatus {
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: file.path, systemError: error)
    }
    guard status.isRegularFile else {
      throw StorageError(.notADatabase, "This is not a regular file. Check the path.", path: file.path)
    }
    // A file system without locks cannot tell; then nobody else has one either.
    do throws(SystemError) { try file.lock(.shared) } catch {
      guard error.code == EWOULDBLOCK else { return status }
      let holder = file.lockHolder()
      let name = holder.map { $0 == getpid() ? "this process" : "process \($0)" } ?? "another process"
      throw StorageError(
        .alreadyOpen, "The database is open, in \(name). Close it there first.", path: file.path, holder: holder)
    }
    return status
  }

  /// The best way to read the file.
  ///
  /// - Throws: `newerFormat`; `damagedMetaPage` if nothing can be proven.
  func choose() throws(StorageError) -> (way: Way, losses: [SalvageLoss]) {
    var valid: [MetaPage] = []
    for decoded in metaPages {
      switch decoded {
      case .valid(let meta): valid.append(meta)
      case .newerFormat(let version):
        throw StorageError(
          .newerFormat,
          "The file has format \(version); this version reads up to \(MetaPage.formatVersion). Update the program.",
          path: path)
      case .damaged, .notAMetaPage: break
      }
    }
    valid.sort { $0.checkpointNumber > $1.checkpointNumber }
    guard let newest = valid.first else { return (try withoutMeta(), []) }
    let first = try way(newest, valid.count == 2 ? .newestMetaPage : .otherMetaPage)
    // The free map tells which leaves are current even where nothing leads to them.
    if first.catalog.isWhole || first.file.liveness.free != nil { return (first, []) }
    // Neither are an older state's when leaves are newer than that.
    guard valid.count == 2, first.file.scan.leaves.allSatisfy({ $0.birth <= valid[1].csn.rawValue }) else {
      return (first, [])
    }
    let other = try way(valid[1], .otherMetaPage)
    guard other.catalog.isWhole else { return (first, []) }
    let reason = """
      The newest meta page, of \(newest.csn), leads nowhere: what came after \(valid[1].csn) and is not in the log is \
      lost.
      """
    let loss = SalvageLoss(
      kind: .metaPage, tree: nil, page: nil, lower: nil, upper: nil, count: nil, reason: reason)
    return (other, [loss])
  }

  private func way(_ meta: MetaPage, _ basis: SalvageSource.Basis) throws(StorageError) -> Way {
    let pages = try makePages(
      pageSize: meta.pageSize, seed: meta.databaseID.checksumSeed, pageCount: meta.pageCount)
    var free: PageBits?
    do throws(StorageError) {
      free = try FreeMapFile(store: pages.store).load(meta.freeMap, pageCount: meta.pageCount)
    } catch {}
    let liveness = SalvageLiveness(
      free: free, newestBirth: meta.csn.rawValue, pageCount: meta.pageCount)
    let file = SalvageFile(pages, liveness, standing: .current)
    return Way(
      basis: basis, meta: meta, databaseID: meta.databaseID, file: file,
      catalog: SalvageCatalog(file, Catalog.root(of: meta)))
  }

  /// What a lost meta page that is newer than `meta` would say of the log; nil if there is no log that begins at the
  /// commit of `meta` or in front of it. What begins later would be applied to what nobody has.
  func logMeta(from meta: MetaPage) -> MetaPage? {
    let identity = SalvageIdentity(file, byteCount: status.byteCount, fileSystem)
    guard let found = identity.logMeta(meta.databaseID, pageSize: meta.pageSize, fileSystem), found.csn <= meta.csn,
      found.segments != meta.segments
    else { return nil }
    return found
  }

  private func withoutMeta() throws(StorageError) -> Way {
    let identity = SalvageIdentity(file, byteCount: status.byteCount, fileSystem)
    if let (id, pageSize) = identity.find() {
      let pages = try makePages(pageSize: pageSize, seed: id.checksumSeed, pageCount: nil)
      let file = SalvageFile(pages, .unknown, standing: .mayBeOld)
      let meta = identity.logMeta(id, pageSize: pageSize, fileSystem)
      return Way(basis: .pages, meta: meta, databaseID: id, file: file, catalog: SalvageCatalog(file, nil))
    }
    guard options.believesUnverified, let pageSize = identity.likelyPageSize() else {
      throw StorageError(
        .damagedMetaPage,
        """
        Nothing in this file can be proven: both meta pages are damaged, and with them and without a log the identity \
        is lost that all checksums depend on. Restore a backup; or let what looks right be believed without proof.
        """, path: path)
    }
    let pages = try makePages(pageSize: pageSize, seed: nil, pageCount: nil)
    let file = SalvageFile(pages, .unknown, standing: .unverified)
    return Way(basis: .structure, meta: nil, databaseID: nil, file: file, catalog: SalvageCatalog(file, nil))
  }

  /// - Parameters:
  ///   - seed: nil if it is not known.
  ///   - pageCount: nil for what the file has.
  private func makePages(pageSize: Int, seed: UInt64?, pageCount: UInt64?) throws(StorageError) -> SalvagePages {
    // The length of a file with holes costs nothing, and a bit for each page of it would cost memory.
    let bitByteCount = 64 << 20 + status.allocatedByteCount / 64
    let fileLimit = UInt64(min(status.byteCount / pageSize, min(bitByteCount * 8, Int(Limits.pageCount))))
    let store = try PageStore(
      file: file, pageSize: pageSize, cacheSize: 32 * pageSize, checksumSeed: seed ?? 0,
      pageCount: max(2, pageCount ?? fileLimit))
    return SalvagePages(
      store, fileLimit: fileLimit, isSeeded: seed != nil, believesUnverified: options.believesUnverified)
  }
}
