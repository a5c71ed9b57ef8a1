// Changing trees, copy-on-write. A page that anyone else could see is never changed: the path from the root is copied
// into frames first, and only frames of the running transaction, made since its newest savepoint, are edited in place.

/// The editor of one write transaction, or of a checkpoint's catalog.
///
/// Used by one thread at a time. An operation that throws may leave its tree half changed: the caller must then roll
/// back to a savepoint or give the transaction up.
///
/// Invariants:
/// 1. What `pages` says of the pages that the transaction has made and replaced.
/// 2. Pages are read for an edit only if they are the version that their parent refers to, and in order.
/// 3. `rightmostLeaf` names a tree only while every page of its way is private and the last one of its level.
package final class TreeEditor {
  let store: PageStore
  let pageSize: Int
  let reader: TreeReader
  // The checks for overlapping access cost a fifth of a put, and one thread at a time calls an editor that never calls
  // back: `@exclusivity(unchecked)` on what every put touches.
  @exclusivity(unchecked) package var pages: OwnPages
  /// The way from the root of the tree at hand to one of its leaves.
  @exclusivity(unchecked) var path: TreePath
  /// Room for pages that are being taken apart, one for each of a page and its two neighbours.
  let scratch: UnsafeMutableRawPointer
  /// Room for the children of branches that are written anew.
  @exclusivity(unchecked) var branches: BranchPacker
  private let packers: (bytes: LeafPacker, integers: LeafPacker)
  /// Where `rewriter` cuts entries into leaves.
  @exclusivity(unchecked) var leafEnds: [Int] = []
  /// The way to the last leaf of the tree `rightmostLeaf.treeID`; see `TreeEditor+Append.swift`.
  @exclusivity(unchecked) var rightmostLeaf: RightmostLeafHint

  /// An editor between transactions. The store must outlive it. Without an allocator it stores short values only.
  package init(_ store: PageStore, allocator: PageAllocator? = nil) {
    self.store = store
    pageSize = store.pageSize
    reader = TreeReader(store)
    pages = OwnPages(store, allocator)
    path = TreePath()
    scratch = UnsafeMutableRawPointer.allocate(byteCount: 3 * store.pageSize, alignment: 16)
    branches = BranchPacker(pageSize: store.pageSize)
    packers = (
      LeafPacker(pageSize: store.pageSize, keyKind: .bytes), LeafPacker(pageSize: store.pageSize, keyKind: .int64)
    )
    rightmostLeaf = RightmostLeafHint()
  }

  deinit {
    path.deallocate()
    scratch.deallocate()
    pages.deallocate()
    rightmostLeaf.path.deallocate()
  }

  /// Room for the entries of leaves that are written anew, with none in it.
  func packer(_ kind: KeyKind) -> LeafPacker {
    let packer = kind == .int64 ? packers.integers : packers.bytes
    packer.removeAll()
    return packer
  }

  /// Edits a private leaf in place.
  @inline(__always) func writer(_ leaf: PageBytes) -> LeafWriter {
    LeafWriter(leaf, pageSize: pageSize, scratch: scratch)
  }

  // MARK: Transactions and points to return to

  /// Starts a transaction whose commit will be `csn`.
  package func begin(csn: UInt64) {
    forgetRightmostLeaf()
    pages.begin(csn: csn)
  }

  /// A point to return to. From here on, nothing made before is edited in place.
  package func mark() -> OwnPages.Mark {
    forgetRightmostLeaf()
    return pages.mark()
  }

  /// Forgets all that was done since `mark`; the caller restores the roots.
  package func restore(_ mark: OwnPages.Mark) {
    forgetRightmostLeaf()
    pages.restore(mark)
  }

  /// Forgets everything that was done since `begin`.
  package func rollback() {
    restore(.start)
    pages.giveBackFreeFrames()
  }

  /// From here on, nothing made before is edited in place: the transaction's pages have been written home.
  package func noteSpill() {
    pages.noteSpill()
    forgetRightmostLeaf()
  }

  // MARK: The way down

  /// Walks from the root to the leaf of `key` and fills `path`; the tree must not be empty.
  @inline(__always) func descend(_ key: SearchKey, in root: TreeRoot) throws(StorageError) -> LeafPosition {
    var level = root.level
    var reference = root.reference
    var page = try reader.page(reference, checksum: root.checksum, level: level)
    path.depth = 0
    while level > 0 {
      let index = page.childIndex(key)
      path.append(PathStep(page: page, reference: reference, index: index))
      level &-= 1
      reference = PageReference(rawValue: page.references[index])
      // Only the counts above the leaves are many enough to be out of the cache.
      if level == 0 { page.prefetchCount(index) }
      page = try reader.page(reference, checksum: page.checksums[index], level: level)
    }
    assert(level == 0, "a path ends at a leaf")
    let position = page.leafSearch(key)
    path.append(PathStep(page: page, reference: reference, index: position.index))
    return position
  }

  /// Copies every page of `path` that is not private, from the root down.
  @inline(__always) func makePathPrivate(_ root: inout TreeRoot) throws(StorageError) {
    try makePathPrivate(&root, levels: path.depth)
  }

  /// The same for the first `levels` pages alone.
  @inline(__always) func makePathPrivate(_ root: inout TreeRoot, levels: Int) throws(StorageError) {
    var level = 0
    while level < levels {
      if !pages.isPrivate(path[level].reference, path[level].page) {
        try checkFitness(level, in: root)
        replaceReference(at: level, by: try pages.copyForEditing(path[level].page, path[level].reference), in: &root)
      }
      level &+= 1
    }
  }

  /// Puts another page in the place of `path[level]`, whose parent is private.
  @inline(__always) func replaceReference(
    at level: Int, by new: (page: PageBytes, reference: PageReference), in root: inout TreeRoot
  ) {
    assert(level < path.depth, "the path has fewer pages")
    path[level].page = new.page
    path[level].reference = new.reference
    if level == 0 {
      root.reference = new.reference
      root.checksum = 0
    } else {
      path[level &- 1].page.references[path[level &- 1].index] = new.reference.rawValue
    }
  }

  /// Throws unless `path[level]` may be copied or taken apart: it must be the version that its parent refers to and, if
  /// it was read from disk, be in order; of a leaf that is to be taken apart, its entries.
  @inline(__always) func checkFitness(
    _ level: Int, in root: TreeRoot, isTakenApart: Bool = false
  ) throws(StorageError) {
    let expected = level == 0 ? root.checksum : path[level &- 1].page.checksums[path[level &- 1].index]
    if !path[level].reference.isDirty, path[level].page.checksum != expected { throw notTheVersion(level) }
    if path[level].page.isFromDisk { try checkBeforeEditing(level, in: root, isTakenApart) }
  }

  /// The error for a clean reference that leads to another version of its page than it was made for.
  ///
  /// A hit in memory is not verified again, so a forged file can make a reference outlive its page: two references lead
  /// to one place, the page is given up through the first, and the place is another page's when the second is followed.
  /// A reader finds the wrong entries there and that is all. An edit trusts what this process has made, whatever
  /// separators led there; hence this comparison, whose two words are being copied anyway.
  @inline(never) func notTheVersion(_ index: Int) -> StorageError { notTheVersion(path[index].reference) }

  /// As above, for any reference.
  @inline(never) func notTheVersion(_ reference: PageReference) -> StorageError {
    store.damaged(reference, "it is not the version that its parent refers to")
  }

  /// Looks closely at the page `path[index]`, which was read from disk, before it is copied: what this process has made
  /// is trusted. Costs about a microsecond for a page of 4 KiB.
  ///
  /// A page can verify and still be wrong, made by an enemy or by a bug. Entries out of order, cells that overlap or
  /// counts that do not add up lead a search astray at the worst, but an edit of them would write outside the page.
  @inline(never) private func checkBeforeEditing(
    _ index: Int, in root: TreeRoot, _ isTakenApart: Bool
  ) throws(StorageError) {
    let count =
      index == 0 ? UInt64(root.count) : ChildCount.count(path[index - 1].page.counts[path[index - 1].index])
    try check(
      path[index].page, path[index].reference, count: count, within: path.bounds(ofPageAt: index), in: root,
      isTakenApart: isTakenApart)
  }

  /// The same for the child `index`, which is `page`, of the branch `path[level]`.
  func checkFitness(
    ofChild index: Int, _ page: PageBytes, below level: Int, in root: TreeRoot
  ) throws(StorageError) {
    let branch = path[level].page
    let reference = PageReference(rawValue: branch.references[index])
    if !reference.isDirty, page.checksum != branch.checksums[index] { throw notTheVersion(reference) }
    guard page.isFromDisk else { return }
    let bounds = path.bounds(ofPageAt: level).child(index, of: branch)
    try check(page, reference, count: ChildCount.count(branch.counts[index]), within: bounds, in: root)
  }

  /// Throws if a page is not fit to be edited.
  private func check(
    _ page: PageBytes, _ reference: PageReference, count: UInt64, within bounds: KeyBounds, in root: TreeRoot,
    isTakenApart: Bool = false
  ) throws(StorageError) {
    if let defect = PageOrder.defect(
      in: page, of: root, within: bounds, pageSize: pageSize, isTakenApart: isTakenApart)
    {
      throw store.damaged(reference, defect)
    }
    let entries = UInt64(page.entryCount())
    guard entries == count else {
      throw store.damaged(reference, "it has \(entries) entries where its parent counts \(count)")
    }
  }

  /// Adds `change` to the counts of all pages above the leaf.
  @inline(__always) func adjustCounts(_ root: inout TreeRoot, by change: Int) {
    root.count &+= change
    path.adjustCounts(by: change)
  }

  /// Says on the private way to the leaf at hand that it may hold extents.
  func notePathHasExtents(_ root: inout TreeRoot) {
    root.mayHaveExtents = true
    path.noteExtents()
  }
}
