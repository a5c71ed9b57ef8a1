// Reading what is left of a damaged database, without an engine and without changing a byte.

/// Reads every entry outside the damage of a database's files, and tells what is lost.
///
/// The trees of the newest usable meta page are walked from their roots, with the log applied to them. What does not
/// verify is a lost range. Only for lost ranges all pages of the file are looked at: leaves say to which tree they
/// belong and verify by themselves. Those that the free map calls in use are of the newest state; the others may be
/// old, and of them the newest version of a key is delivered.
///
/// Opens everything read-only and changes nothing. For one thread at a time.
///
/// Memory: two bits for each page of the file; what the log takes, and some 60 bytes for each of its operations; once
/// there is a lost range, 24 bytes for each leaf of the file, at most 104 more for each of the tree that is read, 1,024
/// pages, and a key for each leaf that has keys between those of another; the longest value.
package final class SalvageReader {
  /// What of the files is usable.
  package let source: SalvageSource
  /// The trees there are, in order of their ids.
  package let trees: [SalvagedTree]
  /// What is lost, as far as it has been found: what concerns no tree, and all trees that have been read to the end.
  package var losses: [SalvageLoss] { list.losses }

  /// What is lost of a tree, once it has been read to the end. O(1).
  package func losses(of tree: SalvagedTree) -> ArraySlice<SalvageLoss> { list.losses(of: tree.id) }

  private let footing: SalvageFooting
  private let options: SalvageOptions
  private let file: SalvageFile
  private let catalog: SalvageCatalog
  private let log: SalvageLog?
  private var list = SalvageLossList()
  /// Trees whose losses have been told.
  private var told: Set<TreeID> = []

  /// Opens the files at `path`.
  ///
  /// - Throws: `notFound`, `notADatabase` if it is no regular file, `alreadyOpen` while anybody has the database open
  ///   for writing, `newerFormat`, `inputOutput`; `damagedMetaPage` if nothing can be proven, because the database's
  ///   identity is lost, and `believesUnverified` is not set.
  package init(
    at path: String, options: SalvageOptions = SalvageOptions(), fileSystem: any FileSystem = RealFileSystem()
  ) throws(StorageError) {
    self.options = options
    let footing = try SalvageFooting(path, options, fileSystem)
    self.footing = footing
    let chosen: (way: SalvageFooting.Way, losses: [SalvageLoss])
    do throws(StorageError) { chosen = try footing.choose() } catch {
      footing.file.close()
      throw error
    }
    let way = chosen.way
    file = way.file
    var catalog = way.catalog
    for loss in chosen.losses + catalog.losses { list.add(loss) }
    log = Self.readLog(way, footing)
    if let log {
      catalog.apply(log)
      for loss in log.losses { list.add(loss) }
    }
    self.catalog = catalog
    trees = Self.trees(catalog, log, isCurrent: way.file.standing == .current)
    source = Self.source(way, log, footing)
  }

  deinit { footing.file.close() }

  private static func readLog(_ way: SalvageFooting.Way, _ footing: SalvageFooting) -> SalvageLog? {
    guard let meta = way.meta else { return nil }
    let logFiles = LogFiles(
      fileSystem: footing.fileSystem, databasePath: footing.path, databaseID: meta.databaseID)
    let known = way.basis == .pages ? CSN(way.catalog.newestBirth) : nil
    if way.basis == .otherMetaPage, let found = footing.logMeta(from: meta) {
      let log = SalvageLog(found, logFiles, after: meta.csn)
      if log.commitCount > 0 { return log }
    }
    return SalvageLog(meta, logFiles, after: known)
  }

  private static func trees(
    _ catalog: SalvageCatalog, _ log: SalvageLog?, isCurrent: Bool
  ) -> [SalvagedTree] {
    catalog.entries.sorted { $0.key < $1.key }.map { id, entry in
      let isCounted = entry.isRootKnown && log?.cleared.contains(id) != true
      return SalvagedTree(
        id: id, name: entry.name, keyKind: entry.root.keyKind, count: isCounted ? entry.root.count : nil,
        isCurrent: isCurrent && entry.isRootKnown && !entry.isStale)
    }
  }

  private static func source(
    _ way: SalvageFooting.Way, _ log: SalvageLog?, _ footing: SalvageFooting
  ) -> SalvageSource {
    SalvageSource(
      path: footing.path, basis: way.basis, metaPages: footing.metaPages,
      meta: way.basis == .pages ? nil : way.meta, databaseID: way.databaseID, pageSize: way.file.pages.pageSize,
      pageCount: way.file.pages.fileLimit, hasFreeMap: way.file.liveness.free != nil,
      csn: log?.csn ?? way.meta?.csn ?? CSN(way.catalog.newestBirth), logEnd: log?.end,
      logCommitCount: log?.commitCount ?? 0, nextRowID: max(way.meta?.nextRowID ?? 1, log?.nextRowID ?? 1))
  }

  /// Calls `body` with each entry of a tree, in the order of the keys, each key once.
  ///
  /// Touches every page of the tree, and once, if something of any tree is lost, every page of the file. What is lost
  /// is added to `losses`, at the first reading of a tree. Of long values, all readings together read at most five
  /// times what the file has: those behind that are lost.
  ///
  /// - Parameter tree: one of `trees`; of another nothing is delivered.
  /// - Throws: what `body` throws, and nothing else: a page that cannot be read is lost.
  package func forEachEntry(of tree: SalvagedTree, _ body: (SalvagedEntry) throws -> Void) throws {
    guard let entry = catalog.entries[tree.id] else { return }
    let changes = log?.changes[tree.id].flatMap { $0.keyKind == entry.root.keyKind ? $0 : nil }
    var found = SalvageLossList()
    try withoutActuallyEscaping(body) { body in
      var delivery = SalvageDelivery(
        tree, file.pages, options, changes ?? SalvageChanges(entry.root.keyKind),
        logStanding: source.basis == .pages ? .mayBeOld : .current, body)
      if log?.cleared.contains(tree.id) != true {
        try file.forEachEntry(
          of: entry.root, isRootKnown: entry.isRootKnown, isStale: entry.isStale,
          includesStale: options.includesStale
        ) { page, index, standing, olderMayFollow in
          try delivery.take(page, index, standing, olderMayFollow: olderMayFollow)
        } lost: { outcome in
          if !outcome.isComplete { found.add(Self.loss(outcome, tree)) }
        }
      }
      try delivery.finish()
      for loss in delivery.losses { found.add(loss) }
    }
    guard told.insert(tree.id).inserted else { return }
    for loss in found.losses { list.add(loss) }
  }

  private static func loss(_ outcome: SalvageFile.Outcome, _ tree: SalvagedTree) -> SalvageLoss {
    let gap = outcome.gap
    var loss = SalvageLoss(
      kind: .range, tree: tree.id, page: gap.page, lower: gap.lower, upper: gap.upper, count: outcome.lostCount,
      reason: gap.reason)
    loss.staleCount = outcome.staleCount
    return loss
  }
}
