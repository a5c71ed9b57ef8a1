// The full check of what a meta page names: catalog, trees, free map, and that every page of the file is one of them
// exactly once.

/// Reads a checkpoint from the file, past all caches, and collects what is wrong with it.
///
/// The persisted free map must be exactly the complement of what the meta page reaches, the map's own pages counted as
/// reached (hazard C5): a page that is free and reached would be overwritten, one that is neither is lost.
package final class CheckpointVerifier {
  /// What a page is there for.
  package enum Purpose: Int, CaseIterable, Sendable {
    case leaf
    case branch
    case catalog
    case freeMap
    /// Values too long for a leaf; these pages have no headers.
    case extent
  }

  /// A tree of the checkpoint.
  package struct Tree: Sendable {
    /// Its root, as the catalog has it.
    package let root: TreeRoot
    /// Its name.
    package let name: String
  }

  /// Called with the number of pages looked at so far; what it throws ends the check.
  package typealias Progress = (Int) throws -> Void

  private let store: PageStore
  private let meta: MetaPage
  private let verifier: TreeVerifier
  private var reported = 0
  /// The trees that the catalog names, in order of their ids.
  package private(set) var trees: [Tree] = []
  /// The numbers that the free map holds; empty before it has been read.
  package private(set) var freeCount = 0

  /// The pages of the free map itself.
  package private(set) var freeMapPageCount = 0

  private static let progressInterval = 64

  /// - Parameters:
  ///   - store: over the data file; none of what it holds in memory is used.
  ///   - meta: the meta page to start from.
  ///   - readsExtents: false to leave out the bytes of long values.
  package init(_ store: PageStore, _ meta: MetaPage, defectLimit: Int, readsExtents: Bool = true) {
    self.store = store
    self.meta = meta
    verifier = TreeVerifier(
      store, WalkPages(store), newestBirth: meta.csn, defectLimit: defectLimit, readsExtents: readsExtents)
  }

  /// What is wrong, in the order it was found.
  package var defects: [StorageError] { verifier.defects }
  /// Pages of trees that were looked at, the catalog's included.
  package var pageCount: Int { verifier.pageCount }
  /// Values that stand in extents, their pages, and their bytes.
  package var extents: (count: Int, pageCount: Int, byteCount: Int) {
    (verifier.extentCount, verifier.extentPageCount, verifier.extentByteCount)
  }
  /// Entries of all trees.
  package var entryCount: Int { verifier.entryCount }

  /// Checks everything. `look` is called with every page of a tree or of the catalog.
  package func run(
    progress: Progress = { _ in }, look: (Purpose, PageBytes) -> Void = { _, _ in }
  ) throws {
    try verifyCatalog(progress, look)
    for tree in trees where !verifier.isFull {
      try verifier.verify(tree.root) { page in
        look(page.level == 0 ? .leaf : .branch, page)
        try tick(progress)
      } afterExtent: {
        try tick(progress)
      }
    }
    try verifyFreeMap(progress)
  }

  private func tick(_ progress: Progress) throws {
    guard pagesDone - reported >= Self.progressInterval else { return }
    reported = pagesDone
    try progress(reported)
  }

  /// Pages looked at so far, those of long values included.
  package var pagesDone: Int { verifier.pageCount + verifier.extentPageCount }

  // MARK: Catalog

  private func verifyCatalog(_ progress: Progress, _ look: (Purpose, PageBytes) -> Void) throws {
    let root = Catalog.root(of: meta)
    var found: [Tree] = []
    var broken: StorageError?
    try verifier.verify(root) { page in
      look(.catalog, page)
      try tick(progress)
      guard page.level == 0 else { return }
      for index in 0..<page.count {
        guard let entry = Catalog.entry(index, of: page, pageCount: store.pageCount) else {
          broken = broken ?? store.damaged(root.reference, "entry \(index) of a catalog page breaks the format")
          continue
        }
        found.append(Tree(root: entry.root, name: entry.name))
      }
    }
    trees = found
    if let broken { verifier.note(broken) }
    if Set(trees.map(\.name)).count != trees.count { verifier.note(contradiction("two trees have one name")) }
    if let last = trees.last, last.root.id.rawValue >= meta.nextTreeID {
      verifier.note(contradiction("\(last.root.id) is not below the next tree's id, \(meta.nextTreeID)"))
    }
  }

  private func contradiction(_ what: String) -> StorageError {
    StorageError(
      .damagedPage, "The catalog is damaged: \(what). \(StorageError.restoring)", path: store.file.path)
  }

  // MARK: Free map

  private func verifyFreeMap(_ progress: Progress) throws {
    guard !verifier.isFull else { return }
    let map = FreeMapFile(store: store)
    var free = PageBits()
    do throws(StorageError) {
      free = try map.load(meta.freeMap, pageCount: meta.pageCount)
    } catch {
      return verifier.note(error)
    }
    freeCount = free.count
    map.forEachPage { number in
      verifier.reach(number)
      freeMapPageCount += 1
    }
    // Behind a page that does not load, what is reached is not known.
    let isWhole = verifier.defects.isEmpty
    for number in 2..<max(meta.pageCount, 2) where !verifier.isFull {
      let isReached = verifier.hasReached(PageNumber(number))
      if isReached, free[number] {
        verifier.note(store.damaged(PageReference(PageNumber(number)), "the free map calls it free, but it is in use"))
      } else if isWhole, !isReached, !free[number] {
        verifier.note(store.damaged(PageReference(PageNumber(number)), "nothing refers to it, but it is not free"))
      }
      if number % 4096 == 0 { try progress(pagesDone) }
    }
  }
}
