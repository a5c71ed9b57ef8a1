// What a walk over every page tells.

/// Pages of a database by kind, as of one commit, and how full they are.
public struct StorageTreeStatistics: Sendable {
  /// One tree.
  public struct Tree: Sendable {
    /// Its name.
    public let name: String
    /// Its identity.
    public let id: TreeID
    /// What its keys are.
    public let keys: KeyKind
    /// The number of its levels; 0 if it is empty.
    public let levels: Int
    /// Its entries.
    public internal(set) var entries = 0
    /// Pages with entries.
    public internal(set) var leafPages = 0
    /// Pages above these.
    public internal(set) var branchPages = 0
    /// Bytes of the leaves that are in use.
    public internal(set) var leafBytes = 0
    /// Bytes of the branches that are in use.
    public internal(set) var branchBytes = 0
    /// Values that stand in pages of their own.
    public internal(set) var longValues = 0
    /// Their pages.
    public internal(set) var extentPages = 0
    /// Their bytes.
    public internal(set) var extentBytes = 0
  }

  /// The commit whose trees were walked.
  public let csn: CSN
  /// The size of a page in bytes.
  public let pageSize: Int
  /// Every tree, in the order in which they were made.
  public let trees: [Tree]
  /// Pages of the tree of trees, at the newest checkpoint.
  public let catalogPages: Int
  /// Pages of the free map, at the newest checkpoint.
  public let freeMapPages: Int
  /// Pages of the data file.
  public let filePages: Int
  /// Pages of the data file that nothing refers to.
  public let freePages: Int
  /// Pages of the data file that are kept for readers of older snapshots or for the next checkpoint.
  public let heldPages: Int

  /// Pages with entries.
  public var leafPages: Int { trees.reduce(0) { $0 + $1.leafPages } }
  /// Pages above these.
  public var branchPages: Int { trees.reduce(0) { $0 + $1.branchPages } }
  /// Pages of long values.
  public var extentPages: Int { trees.reduce(0) { $0 + $1.extentPages } }

  /// How full the leaves of a tree are, from 0 to 1; 0 if it has none.
  public func leafFill(_ tree: Tree) -> Double {
    tree.leafPages == 0 ? 0 : Double(tree.leafBytes) / Double(tree.leafPages * pageSize)
  }
}

/// A count of the pages of an open database.
struct TreeCensus {
  let core: EngineCore

  /// Counts the pages of the newest published snapshot; see `StorageEngine.treeStatistics`.
  func run(progress: (StorageProgress) throws -> Void) throws -> StorageTreeStatistics {
    let (slot, snapshot) = try core.pin()
    defer { core.slots.end(slot) }
    let memory = WalkPages.MemoryAccess(
      enter: { [slots = core.slots] in _ = slots.enterEpoch(slot) },
      leave: { [slots = core.slots] in slots.exitEpoch(slot) })
    let verifier = TreeVerifier(
      core.store, WalkPages(core.store, memory: memory), newestBirth: snapshot.csn, defectLimit: 1, readsExtents: false)
    let total = max(0, Int(core.allocator.pageCount) - core.allocator.freeCount)
    var found: [StorageTreeStatistics.Tree] = []
    for root in core.trees(of: snapshot) {
      var tree = StorageTreeStatistics.Tree(
        name: snapshot.names[root.id] ?? "", id: root.id, keys: root.keyKind,
        levels: root.reference.isNone ? 0 : root.level + 1)
      let before = (verifier.extentCount, verifier.extentPageCount, verifier.extentByteCount)
      try verifier.verify(root) { page in
        tree.add(page, pageSize: core.store.pageSize)
        let done = verifier.pageCount + verifier.extentPageCount
        if verifier.pageCount % 64 == 0 {
          try StorageProgress(phase: .counting, done: done, total: total).report(to: progress)
        }
      }
      if let defect = verifier.defects.first { throw defect }
      tree.longValues = verifier.extentCount - before.0
      tree.extentPages = verifier.extentPageCount - before.1
      tree.extentBytes = verifier.extentByteCount - before.2
      found.append(tree)
    }
    let (catalogPages, freeMapPages) = try ownPages()
    return StorageTreeStatistics(
      csn: snapshot.csn, pageSize: core.store.pageSize, trees: found, catalogPages: catalogPages,
      freeMapPages: freeMapPages, filePages: Int(core.allocator.pageCount), freePages: core.allocator.freeCount,
      heldPages: core.allocator.heldCount)
  }

  /// The pages of the catalog and of the free map, which only checkpoints change.
  private func ownPages() throws -> (catalog: Int, freeMap: Int) {
    try core.withWriterLock { (_) throws(StorageError) in
      core.checkpointer.finishRunning()
      var freeMapPages = 0
      core.freeMap.forEachPage { _ in freeMapPages += 1 }
      let verifier = TreeVerifier(core.store, WalkPages(core.store), newestBirth: core.meta.current.csn, defectLimit: 1)
      // Nothing but a defect can end the walk.
      do { try verifier.verify(Catalog.root(of: core.meta.current)) } catch {}
      if let defect = verifier.defects.first { throw defect }
      return (verifier.pageCount, freeMapPages)
    }
  }
}

extension StorageTreeStatistics.Tree {
  fileprivate mutating func add(_ page: PageBytes, pageSize: Int) {
    let used = page.usedByteCount(pageSize: pageSize)
    if page.level == 0 {
      entries += page.count
      leafPages += 1
      leafBytes += used
    } else {
      branchPages += 1
      branchBytes += used
    }
  }
}
