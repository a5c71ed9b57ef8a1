// The catalog: the tree of trees. Commits do not pay for it, as it is written by checkpoints only.

internal import Synchronization

/// The catalog of the newest checkpoint, and its next version while one is written.
///
/// Invariants, between checkpoints:
/// 1. `root` is clean and holds exactly the trees in `written`.
/// 2. `byteCount` is that of `written`.
package final class Catalog {
  private let store: PageStore
  private let allocator: PageAllocator
  private let reclaimer: Reclaimer
  private let editor: TreeEditor
  package private(set) var root: TreeRoot
  /// What the catalog says of each tree: to write only what has changed.
  private var written: [TreeID: [UInt8]] = [:]
  private var before: (root: TreeRoot, written: [TreeID: [UInt8]])?
  /// Pages of the version before, freed in the map by this checkpoint.
  private var freed: [PageNumber] = []
  private let entryByteCount = Atomic<Int>(0)

  /// The catalog of a meta page.
  package init(_ meta: MetaPage, store: PageStore, allocator: PageAllocator, reclaimer: Reclaimer) {
    self.store = store
    self.allocator = allocator
    self.reclaimer = reclaimer
    editor = TreeEditor(store)
    root = Self.root(of: meta)
  }

  /// The root of the catalog that a meta page names.
  package static func root(of meta: MetaPage) -> TreeRoot {
    TreeRoot(
      id: TreeID(0), keyKind: .int64, reference: PageReference(meta.catalog.number), checksum: meta.catalog.checksum,
      level: meta.catalog.level, count: meta.treeCount)
  }

  /// What entry `index` of a leaf of the catalog says; nil if it breaks the format.
  package static func entry(
    _ index: Int, of page: PageBytes, pageCount: UInt64
  ) -> (root: TreeRoot, name: String, bytes: [UInt8])? {
    guard page.hasIntegerKeys else { return nil }
    let cell = page.leafCell(index)
    // A catalog entry is always short.
    guard !cell.isExtent else { return nil }
    let bytes = [UInt8](UnsafeRawBufferPointer(start: cell.value, count: cell.valueCount))
    // Ids count up from 1: what was negative as a key never was one, and one more must be possible.
    let key = KeyOrder.key(page.orderedKey(index))
    guard key > 0, key < Limits.treeID,
      let entry = CatalogFormat.decode(bytes, id: TreeID(UInt64(key)), pageCount: pageCount)
    else { return nil }
    return (entry.root, entry.name, bytes)
  }

  /// Reads all trees, in order of their ids. Touches every page of the catalog.
  package func load() throws(StorageError) -> (trees: [TreeRoot], names: TreeNames) {
    var trees: [TreeRoot] = []
    var names: [TreeID: String] = [:]
    var cursor = CursorPath(TreeReader(store), root, copies: false)
    var isOnEntry = try cursor.seekFirst()
    while isOnEntry, let (page, index) = cursor.entry {
      guard let entry = Self.entry(index, of: page, pageCount: store.pageCount),
        entry.root.id.rawValue > (trees.last?.id.rawValue ?? 0)
      else {
        throw store.damaged(root.reference, "entry \(index) of a catalog page below it breaks the format")
      }
      trees.append(entry.root)
      names[entry.root.id] = entry.name
      written[entry.root.id] = entry.bytes
      isOnEntry = try cursor.next()
    }
    guard trees.count == root.count else {
      throw store.damaged(root.reference, "the catalog has \(trees.count) trees where \(root.count) are expected")
    }
    noteByteCount()
    return (trees, TreeNames(names))
  }

  /// Changes the catalog to what a snapshot holds, whose dirty pages have all been written.
  ///
  /// - Parameter limit: pages of the catalog at this place or above are copied, changed or not.
  package func update(
    to trees: [TreeRoot], names: TreeNames, csn: CSN, vacating limit: UInt64 = .max
  ) throws(StorageError) {
    before = (root, written)
    freed = []
    editor.begin(csn: csn.rawValue)
    var gone = Set(written.keys)
    for var tree in trees {
      gone.remove(tree.id)
      editor.pages.translate(&tree)
      let bytes = CatalogFormat.encode(tree, name: names[tree.id] ?? "")
      if written[tree.id] == bytes { continue }
      let outcome: Result<Void, StorageError> = bytes.withUnsafeBytes { buffer in
        do throws(StorageError) {
          _ = try editor.put(
            SearchKey(Int64(bitPattern: tree.id.rawValue)), buffer, mode: .insertOrReplace, in: &root)
          return .success(())
        } catch { return .failure(error) }
      }
      try outcome.get()
      written[tree.id] = bytes
    }
    for id in gone.sorted() {
      _ = try editor.delete(SearchKey(Int64(bitPattern: id.rawValue)), in: &root)
      written[id] = nil
    }
    noteByteCount()
    guard limit < .max else { return }
    let plan = RelocationPlan(limit: limit, extentLimit: .max, pageLimit: .max, extentPageLimit: .max)
    var relocator = TreeRelocator(editor, plan)
    _ = try relocator.relocate(&root, from: .start)
  }

  /// How many bytes the entries take: what the next version will need about, for those who reserve places.
  package var byteCount: Int { entryByteCount.load(ordering: .relaxed) }

  private func noteByteCount() {
    let valueByteCount = written.reduce(0) { $0 + $1.value.count }
    entryByteCount.store(valueByteCount + written.count * Self.entryOverhead, ordering: .relaxed)
  }

  /// What an entry takes beside its value, at the most: key, slot and lengths.
  private static let entryOverhead = 16

  /// How many bytes entries for `treeCount` trees take, whose names have `nameByteCount` bytes together.
  package static func byteCount(treeCount: Int, nameByteCount: Int) -> Int {
    treeCount * (entryOverhead + CatalogFormat.headerByteCount) + nameByteCount
  }

  /// Checks the invariant while no checkpoint runs; returns what is broken.
  package func checkInvariants() -> String? {
    if before != nil { return "the catalog is being changed and no checkpoint runs" }
    if !root.reference.isNone, root.reference.isDirty { return "the root of the catalog is dirty" }
    if root.count != written.count { return "the catalog has \(root.count) trees, not \(written.count)" }
    let valueByteCount = written.reduce(0) { $0 + $1.value.count }
    let isMeasured = byteCount == valueByteCount + written.count * Self.entryOverhead
    return isMeasured ? nil : "the catalog is said to have \(byteCount) bytes"
  }

  /// Called when the new version's pages have been written: the root becomes clean, the old pages free in the map.
  package func finishPages() {
    editor.pages.translate(&root)
    for page in editor.pages.superseded where !page.reference.isDirty {
      freed.append(page.reference.pageNumber)
      allocator.free(page.reference.pageNumber)
    }
  }

  /// Called when the meta page is durable.
  package func finish() {
    for number in freed { store.forget(number) }
    for frame in editor.pages.born {
      // Frames made and replaced within the update were never written.
      if store.frames.location(frame).isPageNumber { reclaimer.releaseEntry(frame) } else { store.releaseFrame(frame) }
    }
    editor.begin(csn: 0)
    editor.pages.giveBackFreeFrames()
    before = nil
    freed = []
  }

  /// Returns to the version before, after a checkpoint that failed.
  package func undo() {
    guard let before else { return }
    allocator.keep(freed)
    reclaimer.giveUpPlaces(of: editor.pages.born)
    editor.rollback()
    editor.begin(csn: 0)
    (root, written) = before
    noteByteCount()
    self.before = nil
    freed = []
  }
}
