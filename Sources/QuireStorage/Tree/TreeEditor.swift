// Changing trees, copy-on-write. A page that anyone else could see is never changed: the path from the root is copied
// into frames first, and only frames of the running transaction, made since its newest savepoint, are edited in place.

/// A page version, or an extent, that the running transaction replaced.
package struct SupersededPage: BitwiseCopyable {
  /// The page, or the first one of the extent.
  package let reference: PageReference
  /// The commit that made it. Snapshots from `birth` up to the one before the replacing commit need it.
  package let birth: UInt64
  /// The number of pages of an extent; 0 for a page of a tree.
  package var extentPageCount: UInt32 = 0
}

/// One level of the way from the root to a leaf.
struct PathStep {
  var page: PageBytes
  var reference: PageReference
  /// The child taken, or the entry in the leaf.
  var index: Int
}

/// The editor of one write transaction, or of a checkpoint's catalog.
///
/// Used by one thread at a time. An operation that throws may leave its tree half changed: the caller must then roll
/// back to a savepoint or give the transaction up.
///
/// Invariants:
/// 1. `born` lists every frame that this transaction made, in order; each is in use.
/// 2. A page is edited in place only if it is a frame whose step is at least `step`.
/// 3. `superseded` lists each page version that the transaction's trees no longer reach, once.
/// 4. `extents` lists every extent that this transaction has written and not given back.
/// 5. No frame made after the translation horizon refers to a frame that had been flipped before it was made.
package final class TreeEditor {
  let store: PageStore
  let pageSize: Int
  let reader: TreeReader
  /// The number that the transaction's commit will have; frames are born with it.
  @exclusivity(unchecked) private(set) var csn: UInt64 = 0
  @exclusivity(unchecked) private(set) var step: UInt64 = 0
  // The checks for overlapping access cost a fifth of a put, and one thread at a time calls an editor that never calls
  // back: `@exclusivity(unchecked)` on what every put touches.
  package let superseded = ChunkedList<SupersededPage>()
  package let born = ChunkedList<FrameIndex>()
  @exclusivity(unchecked) private var frameCache: FrameCache
  /// Where places for extents come from; nil for the catalog, which has none.
  let allocator: PageAllocator?
  @exclusivity(unchecked) var extents = ExtentLedger()
  /// Whether `superseded` has extents that the transaction itself has written.
  @exclusivity(unchecked) private(set) var hasDeadExtents = false
  let path: UnsafeMutablePointer<PathStep>
  /// The number of steps in `path`; the last one is the leaf.
  @exclusivity(unchecked) var depth = 0
  /// Room for pages that are being taken apart, one for each of a page and its two neighbours.
  let scratch: UnsafeMutableRawPointer
  @exclusivity(unchecked) var branchEntries: [BranchEntry] = []
  private let packers: (bytes: LeafPacker, integers: LeafPacker)
  @exclusivity(unchecked) var leafEnds: [Int] = []
  /// The way to the last leaf of the tree `rightmostLeaf.treeID`; see `TreeEditor+Append.swift`.
  @exclusivity(unchecked) var rightmostLeaf: RightmostLeafHint

  /// An editor between transactions. The store must outlive it. Without an allocator it stores short values only.
  package init(_ store: PageStore, allocator: PageAllocator? = nil) {
    self.store = store
    self.allocator = allocator
    frameCache = FrameCache(store)
    pageSize = store.pageSize
    reader = TreeReader(store)
    path = UnsafeMutablePointer.allocate(capacity: Limits.treeLevels + 1)
    scratch = UnsafeMutableRawPointer.allocate(byteCount: 3 * store.pageSize, alignment: 16)
    packers = (
      LeafPacker(pageSize: store.pageSize, keyKind: .bytes), LeafPacker(pageSize: store.pageSize, keyKind: .int64)
    )
    rightmostLeaf = RightmostLeafHint()
  }

  deinit {
    path.deallocate()
    scratch.deallocate()
    frameCache.deallocate()
    rightmostLeaf.path.deallocate()
  }

  /// Room for the entries of leaves that are written anew.
  func packer(_ kind: KeyKind) -> LeafPacker { kind == .int64 ? packers.integers : packers.bytes }

  /// Starts a transaction whose commit will be `csn`.
  package func begin(csn: UInt64) {
    self.csn = csn
    forgetRightmostLeaf()
    step &+= 1
    superseded.removeAll(keepingFirstChunk: true)
    born.removeAll(keepingFirstChunk: true)
    extents.clear()
    hasDeadExtents = false
  }

  /// A point to return to.
  package struct Mark {
    let superseded: Int
    let born: Int
    let extents: Int

    /// The beginning of the transaction.
    package static var start: Mark { Mark(superseded: 0, born: 0, extents: 0) }
  }

  /// From here on, nothing made before is edited in place.
  package func mark() -> Mark {
    step &+= 1
    forgetRightmostLeaf()
    return Mark(superseded: superseded.count, born: born.count, extents: extents.mark)
  }

  /// Forgets all that was done since `mark`; the caller restores the roots.
  package func restore(_ mark: Mark) {
    forgetRightmostLeaf()
    for frame in born.from(mark.born) { store.releaseFrame(frame) }
    born.truncate(to: mark.born)
    superseded.truncate(to: mark.superseded)
    var slots: [UInt] = []
    extents.restore(mark.extents) { discardExtent($0, pageCount: $1, &slots) }
    store.retire(slots)
    step &+= 1
  }

  /// Forgets everything that was done since `begin`.
  package func rollback() {
    restore(.start)
    giveBackFreeFrames()
  }

  // MARK: Pages of one's own

  /// Makes a frame; its page's content is what the slot's last owner left.
  @inline(__always) func makeFrame() throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let (slot, frame) = try frameCache.take(birth: csn)
    born.append(frame)
    return (PageBytes(slot), PageReference(frame: frame))
  }

  /// A slot for a value; its content is what its last owner left.
  func takeSlot() throws(StorageError) -> UnsafeMutableRawPointer { try frameCache.takeSlot() }

  /// Whether dirty pages have come to be more than `setDirtyLimit` allows. Looked at between operations.
  @inline(__always) package var isOverDirtyLimit: Bool { frameCache.isOverLimit }

  /// Sets how many dirty pages there may be before `isOverDirtyLimit` says so.
  package func setDirtyLimit(_ count: Int) {
    frameCache.dirtyLimit = count
    frameCache.isOverLimit = false
  }

  /// Frames made since `mark`.
  package func born(since mark: Mark) -> some Sequence<FrameIndex> { born.from(mark.born) }

  /// From here on, nothing made before is edited in place: the transaction's pages have been written home.
  package func noteSpill() {
    step &+= 1
    forgetRightmostLeaf()
  }

  /// Gives back what was taken in advance: at the end of a transaction that is rolled back, and before a checkpoint.
  package func giveBackFreeFrames() { frameCache.giveBack() }

  /// The same at the end of a transaction that commits; a few frames stay for the next one.
  @inline(__always) func trimFreeFrames() { frameCache.rest() }

  /// What the editor has in hand, for whoever gives up frames and slots: the transaction to come wants some.
  @inline(__always) var freeFrames: FreeFrames { frameCache.freeFrames }

  /// Makes an empty page.
  func makePage(
    kind: PageKind, level: Int, keyKind: KeyKind, treeID: UInt64
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let (page, reference) = try makeFrame()
    initialize(page, kind: kind, level: level, keyKind: keyKind, treeID: treeID)
    return (page, reference)
  }

  /// Clears the header of a page of this transaction's own.
  func initialize(_ page: PageBytes, kind: PageKind, level: Int, keyKind: KeyKind, treeID: UInt64) {
    page.initialize(kind: kind, level: level, keyKind: keyKind, treeID: treeID, birth: csn, pageSize: pageSize)
    page.step = step
  }

  /// Whether the page is a frame that may be edited in place.
  @inline(__always) func isPrivate(_ reference: PageReference, _ page: PageBytes) -> Bool {
    reference.isDirty && page.step >= step
  }

  /// Notes that the transaction's trees no longer reach a page.
  @inline(__always) func supersede(_ reference: PageReference, _ page: PageBytes) {
    superseded.append(SupersededPage(reference: reference, birth: page.birth))
  }

  /// Notes that the transaction's trees no longer refer to an extent; `isOwn` if the transaction has written it.
  func supersede(_ extent: ExtentReference, isOwn: Bool) {
    let count = UInt32(extent.layout(pageSize: pageSize).pageCount)
    superseded.append(
      SupersededPage(reference: PageReference(extent.first), birth: extent.birth, extentPageCount: count))
    if isOwn { hasDeadExtents = true }
  }

  /// Takes off `superseded` what `isGone` says is.
  func removeSuperseded(_ isGone: (SupersededPage) -> Bool) { superseded.removeAll(where: isGone) }

  /// The same for a page that has not been looked at. A birth of 0 stands for "unknown": every snapshot before this
  /// commit then counts as one that needs the page (hazard C7).
  @inline(__always) func supersede(_ reference: PageReference, birth: UInt64) {
    superseded.append(SupersededPage(reference: reference, birth: birth))
  }

  /// A copy of `page` that may be edited in place.
  func copyForEditing(
    _ page: PageBytes, _ reference: PageReference
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let (copy, newReference) = try makeFrame()
    let slot = copy.base
    // The gap between arrays and cells is not copied: it is a third of the average page.
    let arraysEnd = page.kind == PageKind.leaf.rawValue ? page.leafArraysEnd : page.branchArraysEnd
    let cellStart = page.cellStart
    // Nor is the checksum, which a checkpoint may be entering at this moment.
    (slot + 8).copyMemory(from: page.base + 8, byteCount: arraysEnd - 8)
    (slot + cellStart).copyMemory(from: page.base + cellStart, byteCount: pageSize - cellStart)
    copy.birth = csn
    copy.checksum = 0
    copy.step = step
    if needsTranslation(page, reference) { translateFlippedChildren(copy) }
    supersede(reference, page)
    return (copy, newReference)
  }

  /// Whether a page may refer to frames that have been flipped since it was made.
  @inline(__always) func needsTranslation(_ page: PageBytes, _ reference: PageReference) -> Bool {
    reference.isDirty && page.level > 0 && page.birth <= store.translationHorizon
  }

  /// Replaces references to frames that a checkpoint has written by the page numbers they got, so that the frames'
  /// entries can be freed once no older page refers to them.
  func translateFlippedChildren(_ page: PageBytes) {
    let (references, checksums) = (page.references, page.checksums)
    for index in 0..<page.count {
      let reference = PageReference(rawValue: references[index])
      guard reference.isDirty else { continue }
      let location = store.frames.location(reference.frame)
      guard location.isPageNumber else { continue }
      references[index] = location.pageNumber.rawValue
      checksums[index] = store.frames.checksum(reference.frame)
    }
  }

  /// Replaces a root that a checkpoint has written by the page number it got.
  package func translate(_ root: inout TreeRoot) {
    guard root.reference.isDirty else { return }
    let location = store.frames.location(root.reference.frame)
    guard location.isPageNumber else { return }
    root.checksum = store.frames.checksum(root.reference.frame)
    root.reference = PageReference(location.pageNumber)
  }

  // MARK: The way down

  /// Walks from the root to the leaf of `key` and fills `path`; the tree must not be empty.
  @inline(__always) func descend(_ key: SearchKey, in root: TreeRoot) throws(StorageError) -> LeafPosition {
    var level = root.level
    var reference = root.reference
    var page = try reader.page(reference, checksum: root.checksum, level: level)
    depth = 0
    while level > 0 {
      let index = page.childIndex(key)
      path[depth] = PathStep(page: page, reference: reference, index: index)
      depth &+= 1
      level &-= 1
      reference = PageReference(rawValue: page.references[index])
      // Only the counts above the leaves are many enough to be out of the cache.
      if level == 0 { page.prefetchCount(index) }
      page = try reader.page(reference, checksum: page.checksums[index], level: level)
    }
    let position = page.leafSearch(key)
    path[depth] = PathStep(page: page, reference: reference, index: position.index)
    depth &+= 1
    return position
  }

  /// Copies every page of `path` that is not private, from the root down.
  @inline(__always) func makePathPrivate(_ root: inout TreeRoot) throws(StorageError) {
    try makePathPrivate(&root, levels: depth)
  }

  /// The same for the first `levels` pages alone.
  @inline(__always) func makePathPrivate(_ root: inout TreeRoot, levels: Int) throws(StorageError) {
    var level = 0
    while level < levels {
      if !isPrivate(path[level].reference, path[level].page) {
        try checkFitness(level, in: root)
        replaceReference(at: level, by: try copyForEditing(path[level].page, path[level].reference), in: &root)
      }
      level &+= 1
    }
  }

  /// Puts another page in the place of `path[level]`, whose parent is private.
  @inline(__always) func replaceReference(
    at level: Int, by new: (page: PageBytes, reference: PageReference), in root: inout TreeRoot
  ) {
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
      path[index].page, path[index].reference, count: count, within: bounds(ofChildAt: index), in: root,
      isTakenApart: isTakenApart)
  }

  /// What the page `path[index]` may hold.
  func bounds(ofChildAt index: Int) -> KeyBounds {
    var bounds = KeyBounds()
    for above in 0..<index { bounds = bounds.child(path[above].index, of: path[above].page) }
    return bounds
  }

  /// Throws if a page is not fit to be edited.
  func check(
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
    var index = 0
    while index < depth &- 1 {
      let counts = path[index].page.counts
      counts[path[index].index] &+= UInt64(bitPattern: Int64(change))
      index &+= 1
    }
  }
}
