// What the running transaction has made and replaced: frames and places of its own, and the pages it no longer needs.

/// A page version, or an extent, that the running transaction replaced.
package struct SupersededPage: BitwiseCopyable {
  /// The page, or the first one of the extent.
  package let reference: PageReference
  /// The commit that made it. Snapshots from `birth` up to the one before the replacing commit need it.
  package let birth: UInt64
  /// The number of pages of an extent; 0 for a page of a tree.
  package var extentPageCount: UInt32 = 0
}

/// The pages and extents of one write transaction, or of a checkpoint's catalog.
///
/// Part of a `TreeEditor`, and used like one: by one thread at a time.
///
/// Invariants:
/// 1. `born` lists every frame that this transaction made, in order; each is in use.
/// 2. A page is edited in place only if it is a frame whose step is at least `step`.
/// 3. `superseded` lists each page version that the transaction's trees no longer reach, once.
/// 4. `extents` lists every extent that this transaction has written and not given back.
/// 5. No frame made after the translation horizon refers to a frame that had been flipped before it was made.
package struct OwnPages: ~Copyable {
  let store: PageStore
  /// Where places for extents come from; nil for the catalog, which has none.
  let allocator: PageAllocator?
  /// The number that the transaction's commit will have; frames are born with it.
  private(set) var csn: UInt64 = 0
  /// Counts transactions, savepoints and returns to these: see invariant 2.
  private(set) var step: UInt64 = 0
  /// What the transaction's trees no longer reach.
  package let superseded = ChunkedList<SupersededPage>()
  /// The frames that the transaction has made.
  package let born = ChunkedList<FrameIndex>()
  private var frameCache: FrameCache
  var extents = ExtentLedger()
  /// Whether `superseded` has extents that the transaction itself has written.
  var hasDeadExtents = false

  /// Nothing yet; `deallocate` ends it.
  init(_ store: PageStore, _ allocator: PageAllocator?) {
    self.store = store
    self.allocator = allocator
    frameCache = FrameCache(store)
  }

  func deallocate() { frameCache.deallocate() }

  // MARK: Transactions and points to return to

  /// Starts a transaction whose commit will be `csn`.
  mutating func begin(csn: UInt64) {
    self.csn = csn
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
  mutating func mark() -> Mark {
    step &+= 1
    return Mark(superseded: superseded.count, born: born.count, extents: extents.mark)
  }

  /// Forgets all that was done since `mark`; the caller restores the roots.
  mutating func restore(_ mark: Mark) {
    assert(mark.extents <= extents.mark, "a mark lies behind the extents it is a mark of")
    assert(mark.born <= born.count && mark.superseded <= superseded.count, "a mark lies behind what it is a mark of")
    for frame in born.from(mark.born) { store.releaseFrame(frame) }
    born.truncate(to: mark.born)
    superseded.truncate(to: mark.superseded)
    let places = ExtentPlaces(store: store, allocator: allocator)
    var slots: [UInt] = []
    extents.restore(mark.extents) { places.discard($0, pageCount: $1, &slots) }
    store.retire(slots)
    step &+= 1
  }

  /// From here on, nothing made before is edited in place: the transaction's pages have been written home.
  mutating func noteSpill() { step &+= 1 }

  /// Frames made since `mark`.
  package func born(since mark: Mark) -> some Sequence<FrameIndex> { born.from(mark.born) }

  /// The bytes of the lists of what the transaction has made and replaced.
  package var listByteCount: Int { born.byteCount + superseded.byteCount }

  /// Gives up the lists, and their memory: the transaction has ended.
  package func releaseLists() {
    born.removeAll()
    superseded.removeAll()
  }

  // MARK: Frames

  /// Makes a frame; its page's content is what the slot's last owner left.
  @inline(__always) mutating func makeFrame() throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let (slot, frame) = try frameCache.take(birth: csn)
    born.append(frame)
    return (PageBytes(slot), PageReference(frame: frame))
  }

  /// A slot for a value; its content is what its last owner left.
  mutating func takeSlot() throws(StorageError) -> UnsafeMutableRawPointer { try frameCache.takeSlot() }

  /// Whether dirty pages have come to be more than `setDirtyLimit` allows. Looked at between operations.
  @inline(__always) package var isOverDirtyLimit: Bool { frameCache.isOverLimit }

  /// Has `isOverDirtyLimit` say so until the next limit is set.
  package mutating func askForRoom() { frameCache.isOverLimit = true }

  /// Sets how many dirty pages there may be before `isOverDirtyLimit` says so.
  package mutating func setDirtyLimit(_ count: Int) {
    frameCache.dirtyLimit = count
    frameCache.isOverLimit = false
  }

  /// Gives back what was taken in advance: at the end of a transaction that is rolled back, and before a checkpoint.
  package mutating func giveBackFreeFrames() { frameCache.giveBack() }

  /// The same at the end of a transaction that commits; a few frames stay for the next one.
  @inline(__always) mutating func trimFreeFrames() { frameCache.trim() }

  /// The frames and slots taken in advance; the reclaimer refills them first.
  @inline(__always) var freeFrames: FreeFrames { frameCache.freeFrames }

  // MARK: Pages

  /// Makes an empty page.
  mutating func make(
    kind: PageKind, level: Int, of root: TreeRoot
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    let (page, reference) = try makeFrame()
    initialize(page, kind: kind, level: level, of: root)
    return (page, reference)
  }

  /// Makes an empty leaf.
  mutating func makeLeaf(of root: TreeRoot) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    try make(kind: .leaf, level: 0, of: root)
  }

  /// Clears the header of a page of this transaction's own.
  func initialize(_ page: PageBytes, kind: PageKind, level: Int, of root: TreeRoot) {
    page.initialize(
      kind: kind, level: level, keyKind: root.keyKind, treeID: root.id.rawValue, birth: csn, pageSize: store.pageSize)
    page.step = step
  }

  /// The same for a leaf.
  func initializeLeaf(_ page: PageBytes, of root: TreeRoot) { initialize(page, kind: .leaf, level: 0, of: root) }

  /// Whether the page is a frame that may be edited in place.
  @inline(__always) func isPrivate(_ reference: PageReference, _ page: PageBytes) -> Bool {
    reference.isDirty && page.step >= step
  }

  /// A copy of `page` that may be edited in place.
  mutating func copyForEditing(
    _ page: PageBytes, _ reference: PageReference
  ) throws(StorageError) -> (page: PageBytes, reference: PageReference) {
    assert(!isPrivate(reference, page), "a private page is copied for editing")
    let (copy, newReference) = try makeFrame()
    page.copyContent(to: copy, pageSize: store.pageSize)
    copy.birth = csn
    copy.checksum = 0
    copy.step = step
    assert(isPrivate(newReference, copy), "a copy for editing is not private")
    if needsTranslation(page, reference) { translateFlippedChildren(copy) }
    supersede(reference, page)
    return (copy, newReference)
  }

  /// Notes that the transaction's trees no longer reach a page.
  @inline(__always) func supersede(_ reference: PageReference, _ page: PageBytes) {
    superseded.append(SupersededPage(reference: reference, birth: page.birth))
  }

  /// The same for a page that has not been looked at. A birth of 0 stands for "unknown": every snapshot before this
  /// commit then counts as one that needs the page (hazard C7).
  @inline(__always) func supersede(_ reference: PageReference, birth: UInt64) {
    superseded.append(SupersededPage(reference: reference, birth: birth))
  }

  // MARK: References to pages that a checkpoint has written

  /// Whether a page may refer to frames that have been flipped since it was made.
  @inline(__always) func needsTranslation(_ page: PageBytes, _ reference: PageReference) -> Bool {
    reference.isDirty && page.level > 0 && page.birth <= store.translationHorizon
  }

  /// Replaces references to frames that a checkpoint has written by the page numbers they got, so that the frames'
  /// entries can be freed once no older page refers to them.
  func translateFlippedChildren(_ page: PageBytes) {
    assert(page.level > 0, "leaves have no children")
    let (references, checksums) = (page.references, page.checksums)
    for index in 0..<page.count {
      let reference = PageReference(rawValue: references[index])
      guard reference.isDirty else { continue }
      let location = store.frames.location(reference.frame)
      guard location.isPageNumber else { continue }
      assert(allocator?.isLent(location.pageNumber) != true, "a page in use stands where no map knows of it")
      references[index] = location.pageNumber.rawValue
      checksums[index] = store.frames.checksum(reference.frame)
    }
  }

  /// Replaces a root that a checkpoint has written by the page number it got.
  package func translate(_ root: inout TreeRoot) { root.translate(store.frames) }
}
