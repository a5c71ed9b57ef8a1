// Applying sorted operations to a tree: each leaf that they fall into is read once and written once.

/// Merges sorted operations into trees of the running transaction.
///
/// For each leaf: one descent, one merge of its entries with the operations of its range, one encoding over as many
/// pages as it takes. Where operations are dense, a run of neighbour leaves is merged at a time; see
/// `BatchApplier+Runs.swift`. A tree that is empty is built from the bottom up. Holds no address from one call to the
/// next.
package final class BatchApplier {
  let editor: TreeEditor
  let pageSize: Int
  let leaves: LeafSource
  let runs: LeafRunWriter
  /// Up to which operation there are too few for a run of leaves.
  @exclusivity(unchecked) var sparseEnd = 0
  private let prefetcher = PathPrefetcher()
  /// Up to which operation the pages on the way have been asked for.
  @exclusivity(unchecked) private var prefetchEnd = 0
  /// Whether the operations are so few that nearly each has a leaf of its own.
  @exclusivity(unchecked) private var isSparse = false
  /// Whether they are so many that the leaves between theirs may be read with them.
  @exclusivity(unchecked) private var readsAhead = false

  /// A merge takes no more than so many pages of operations at a time.
  static let pagesAtOnce = 8
  /// From so many operations on, a leaf in memory is written anew; fewer are edited in.
  private static let fewest = 3
  /// Where there are more entries than this for each operation, nearly each has a leaf of its own.
  private static let entriesPerSparseOperation = 16
  /// Where there are fewer entries than this for each operation, every fourth leaf or so has one.
  private static let entriesPerDistantOperation = 64

  /// An applier for the transactions of `editor`, which must outlive it.
  package init(_ editor: TreeEditor) {
    self.editor = editor
    pageSize = editor.pageSize
    leaves = LeafSource(editor)
    runs = LeafRunWriter(editor)
  }

  /// Writes dirty pages home, in the middle of an application: those of the tree as it is now, and below the completed
  /// subtrees of one that is being built.
  package typealias MakeRoom = (TreeRoot, [PageReference]) throws(StorageError) -> Void

  /// Applies `operations`, strictly ascending by key, whose lengths have been checked; values that do not fit beside
  /// their keys stand in extents already, which are the running transaction's own.
  ///
  /// Touches each leaf in whose range they fall once, and the branches above it. `renewEpoch` is called between two
  /// leaves, where no address is held, so that what was evicted for one can be used again for the next; `makeRoom`
  /// as well, when too many pages are dirty.
  ///
  /// - Parameter total: how many operations there are, of which these are some in a row.
  /// - Throws: what reading and editing pages throws; the tree is then half changed.
  package func apply(
    _ operations: UnsafeBufferPointer<SortableOperation>, of total: Int, in root: inout TreeRoot,
    renewEpoch: () -> Void, makeRoom: MakeRoom
  ) throws(StorageError) {
    assert(total >= operations.count, "there are fewer operations than some of them")
    var next = 0
    sparseEnd = 0
    prefetchEnd = 0
    isSparse = total < root.count / Self.entriesPerSparseOperation
    readsAhead = total > root.count / Self.entriesPerDistantOperation
    leaves.reset()
    editor.forgetRightmostLeaf()
    while next < operations.count {
      if root.reference.isNone {
        try build(operations, from: next, in: &root, makeRoom)
        return
      }
      if editor.pages.isOverDirtyLimit {
        try makeRoom(root, [])
        leaves.reset()
      }
      renewEpoch()
      if isSparse, next >= prefetchEnd { prefetch(operations, from: next, in: root) }
      next = try merge(operations, from: next, in: &root)
    }
  }

  /// Asks for the pages that the next operations, from `start` on, will change.
  private func prefetch(_ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, in root: TreeRoot) {
    assert(start < operations.count, "nothing is left to fetch paths for")
    prefetchEnd = min(start + PathPrefetcher.capacity, operations.count)
    prefetcher.prefetch(
      UnsafeBufferPointer(rebasing: operations[start..<prefetchEnd]), in: root, editor.reader.access)
  }

  /// Builds an empty tree of the puts that are left.
  private func build(
    _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, in root: inout TreeRoot, _ makeRoom: MakeRoom
  ) throws(StorageError) {
    assert(root.reference.isNone, "a tree that has entries is built")
    let builder = TreeBuilder(editor, for: root)
    for index in start..<operations.count where !operations[index].isDelete {
      if editor.pages.isOverDirtyLimit { try makeRoom(root, builder.completedReferences) }
      try builder.append(borrowing: operations[index].searchKey(root.keyKind), operations[index].cellValue)
    }
    root = try builder.finish()
  }

  /// Walks to the leaf of `key` and fills the editor's path; the leaf may lie in the buffer of `leaves`.
  private func descend(_ key: SearchKey, in root: TreeRoot) throws(StorageError) -> PageBytes {
    guard root.level > 0 else {
      _ = try editor.descend(key, in: root)
      return editor.path[0].page
    }
    var level = root.level
    var reference = root.reference
    var page = try editor.reader.page(reference, checksum: root.checksum, level: level)
    editor.path.depth = 0
    while true {
      let index = page.childIndex(key)
      editor.path.append(PathStep(page: page, reference: reference, index: index))
      level -= 1
      reference = PageReference(rawValue: page.references[index])
      if level == 0 {
        if !isSparse, index + 2 < page.count {
          editor.reader.access.prefetchPlace(of: PageReference(rawValue: page.references[index + 2]))
          editor.reader.access.prefetchPage(PageReference(rawValue: page.references[index + 1]))
        }
        page = try leaves.leaf(index, of: page, readsAhead: readsAhead)
        editor.path.append(PathStep(page: page, reference: reference, index: 0))
        return page
      }
      page = try editor.reader.page(reference, checksum: page.checksums[index], level: level)
    }
  }

  /// Merges the operations that fall into one leaf, from `start` on; returns the first one that it left.
  private func merge(
    _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, in root: inout TreeRoot
  ) throws(StorageError) -> Int {
    let leaf = try descend(operations[start].searchKey(root.keyKind), in: root)
    if isSparse, !leaves.holds(leaf), !isCrowded(leaf, operations, from: start, root.keyKind) {
      return try applySingly(operations, start..<(start + 1), in: &root)
    }
    assert(editor.path.depth == root.level + 1, "the path does not end at a leaf")
    let runLength = denseRunLength(operations, from: start, root.keyKind)
    if runLength > 0 { return try mergeRun(of: runLength, operations, from: start, in: &root) }
    let bound = OperationBound(editor.path.upperBound, root.keyKind)
    let merger = LeafMerger(leaf, bound: bound, byteLimit: Self.pagesAtOnce * pageSize)
    let few = merger.count(operations, from: start, limit: Self.fewest)
    if few < Self.fewest, !leaves.holds(leaf) { return try applySingly(operations, start..<(start + few), in: &root) }
    let isPrivate = editor.pages.isPrivate(editor.path[editor.path.depth - 1].reference, leaf)
    if !isPrivate { try editor.checkFitness(editor.path.depth - 1, in: root, isTakenApart: true) }
    let old = editor.rewriter.entries(of: leaf, isPrivate: isPrivate)
    let packer = editor.packer(root.keyKind)
    // Whatever has an extent to give up is changed.
    let merged = merger.over(old).merge(operations, from: start, into: packer) { editor.pages.supersedeExtent($0) }
    assert(merged.next > start, "the operation that led to a leaf is not taken")
    guard merged.isChanged else { return merged.next }
    try editor.makePathPrivate(&root, levels: editor.path.depth - 1)
    if merged.addsExtents { editor.notePathHasExtents(&root) }
    let level = editor.path.depth - 1
    let fills = merged.appends && editor.path.isRightmost(at: level)
    let isOneLeaf = try editor.rewriter.rewrite(packer, isPrivate: isPrivate, fills: fills, in: &root)
    root.count += merged.change
    if isOneLeaf, merged.hasDeletes { try editor.tidy(level: level, in: &root) }
    return merged.next
  }

  /// Whether so many of the operations from `start` on fall among the entries of `leaf`, or behind those of the last
  /// leaf, that it is worth being written anew. Others may come behind its last entry; where leaves end is not looked
  /// at, which would be a miss of the cache.
  private func isCrowded(
    _ leaf: PageBytes, _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, _ kind: KeyKind
  ) -> Bool {
    let last = start + Self.fewest - 1
    guard last < operations.count else { return false }
    return leaf.leafSearch(operations[last].searchKey(kind)).index < leaf.count
      || editor.path.isRightmost(at: editor.path.depth - 1)
  }

  /// Applies operations that are too few to write their leaf anew for; it is in memory, at the end of the path. Returns
  /// the first one behind.
  private func applySingly(
    _ operations: UnsafeBufferPointer<SortableOperation>, _ range: Range<Int>, in root: inout TreeRoot
  ) throws(StorageError) -> Int {
    assert(!range.isEmpty && range.upperBound <= operations.count, "operations that are not there are applied")
    for index in range {
      let operation = operations[index]
      let key = operation.searchKey(root.keyKind)
      if operation.isDelete {
        _ = try editor.delete(key, in: &root)
      } else if index == range.lowerBound {
        let position = editor.path[editor.path.depth - 1].page.leafSearch(key)
        editor.path[editor.path.depth - 1].index = position.index
        _ = try editor.put(key, operation.cellValue, mode: .insertOrReplace, at: position, in: &root)
      } else {
        _ = try editor.put(key, operation.cellValue, mode: .insertOrReplace, in: &root)
      }
    }
    // The next leaf may be the tail, and be written elsewhere.
    editor.forgetRightmostLeaf()
    return range.upperBound
  }
}
