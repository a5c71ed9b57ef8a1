// Backups of an open database: one snapshot, copied to a file of its own.

/// What a backup holds.
public struct StorageBackup: Sendable, Equatable {
  /// The commit whose state it is.
  public let csn: CSN
  /// Its identity: another one than its source's.
  public let databaseID: DatabaseID
  /// Entries of all trees.
  public let entries: Int
  /// Pages of the file.
  public let pages: Int
  /// Bytes of the file.
  public let byteCount: Int
}

/// A backup of an open database.
struct OnlineBackup {
  let core: EngineCore

  /// What the copy may take of memory, at the most.
  private static let backupCacheByteCount = 32 << 20
  /// Progress is reported once for about so many pages.
  private static let backupInterval = 64

  /// Copies the newest published snapshot to `path`; see `StorageEngine.backup`.
  func run(to path: String, progress: (StorageProgress) throws -> Void) throws -> StorageBackup {
    // Kept to the end: `close` is refused meanwhile.
    let (slot, snapshot) = try core.pin()
    defer { core.slots.end(slot) }
    let path = core.environment.fileSystem.canonicalPath(path)
    let target = try BackupFile(
      path, of: snapshot, pageSize: core.store.pageSize, core.environment,
      cacheSize: min(Self.backupCacheByteCount, max(64 * core.store.pageSize, core.options.cacheSize / 4)))
    do {
      let done = try copy(snapshot, slot, to: target, progress)
      let backup = try target.verify(trees: core.trees(of: snapshot)) { pages, total in
        try StorageProgress(phase: .readingBack, done: done + pages, total: done + total).report(to: progress)
      }
      try target.publish()
      return backup
    } catch {
      target.discard()
      throw error
    }
  }

  /// Copies every tree; returns the pages that were read.
  private func copy(
    _ snapshot: SnapshotRecord, _ slot: ReaderSlot, to target: BackupFile,
    _ progress: (StorageProgress) throws -> Void
  ) throws -> Int {
    // Page by page: no address may stand in the way of eviction for as long as a backup takes.
    let memory = WalkPages.MemoryAccess(
      enter: { [slots = core.slots] in _ = slots.enterEpoch(slot) },
      leave: { [slots = core.slots] in slots.exitEpoch(slot) })
    let inUse = max(0, Int(core.allocator.pageCount) - core.allocator.freeCount)
    let context = target.core.context
    let copier = TreeCopier(
      core.store, WalkPages(core.store, memory: memory),
      pageLimit: Int(core.store.pageCount) + core.store.frames.dirtyCount,
      into: context.editor, checkWritable: context.checkWritable)
    var reported = 0
    for (index, tree) in core.trees(of: snapshot).enumerated() {
      guard let name = snapshot.names[tree.id] else { continue }
      context.addTree(tree.id, tree.keyKind, name: name)
      let root = try target.failing {
        try copier.copy(tree) { builder in
          try context.makeRoom(builder.completedReferences)
          guard copier.pageCount - reported >= Self.backupInterval else { return }
          reported = copier.pageCount
          // Reading back takes about as many pages again.
          try StorageProgress(phase: .copying, done: reported, total: 2 * inUse).report(to: progress)
        }
      }
      context.setRoot(root, at: index)
    }
    try StorageProgress(phase: .copying, done: copier.pageCount, total: 2 * inUse).report(to: progress)
    try target.failing { try target.finish() }
    return copier.pageCount
  }
}
