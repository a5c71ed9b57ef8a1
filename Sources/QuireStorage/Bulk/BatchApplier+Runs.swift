// Operations that are dense: runs of neighbour leaves are merged with them as one stream.
//
// A batch that puts two entries or more into nearly every leaf has them all copied anyway. Merged one by one they would
// split, here one and there one, and be two thirds full at the end; as one stream the same entries take fewer pages,
// each of which is made, checksummed, written home and read back.

extension BatchApplier {
  /// The fewest leaves that are worth being merged together.
  private static let fewestLeaves = 4
  /// So many operations in a row for each leaf, in halves: where they are fewer, leaves are left that need no copy.
  private static let halfOperationsPerLeaf = 3
  /// A run ends in front of more leaves than this that no operation falls into.
  private static let longestGap = 2

  /// How many leaves, from the one at the end of the path on, are worth being merged with the operations from `start`
  /// on as one run; 0 if they had better be merged one by one.
  func denseRunLength(
    _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, _ kind: KeyKind
  ) -> Int {
    // What the last look went over and found sparse is not looked at again.
    guard editor.path.depth > 1, start >= sparseEnd else { return 0 }
    let parent = editor.path[editor.path.depth - 2]
    let limit = min(parent.page.count - parent.index, runs.runLimit)
    let fewest = (Self.fewestLeaves * Self.halfOperationsPerLeaf + 1) / 2
    guard limit >= Self.fewestLeaves, operations.count - start >= fewest else { return 0 }
    // One look tells most batches that are not dense.
    let near = min(limit, 2 * Self.fewestLeaves)
    guard bound(behind: parent.index + near - 1, kind).isAbove(operations[start + fewest - 1]) else { return 0 }
    var (length, count, next, gap) = (0, 0, start, 0)
    for leaf in 0..<limit {
      let bound = bound(behind: parent.index + leaf, kind)
      let first = next
      while next < operations.count, bound.isAbove(operations[next]) { next += 1 }
      if next > first {
        (length, count, gap) = (leaf + 1, next - start, 0)
      } else {
        gap += 1
        if gap > Self.longestGap { break }
      }
    }
    if length >= Self.fewestLeaves, 2 * count >= Self.halfOperationsPerLeaf * length { return length }
    sparseEnd = next
    return 0
  }

  /// Where the range of a child of the branch above the leaf at the end of the path ends.
  private func bound(behind index: Int, _ kind: KeyKind) -> OperationBound {
    let level = editor.path.depth - 2
    let branch = editor.path[level].page
    return OperationBound(
      index + 1 < branch.count ? branch.branchKey(index + 1) : editor.path.upperBound(ofPageAt: level), kind)
  }

  /// Merges `length` leaves, the first of which is at the end of the path, with the operations of their range, from
  /// `start` on; returns the first one that it left.
  func mergeRun(
    of length: Int, _ operations: UnsafeBufferPointer<SortableOperation>, from start: Int, in root: inout TreeRoot
  ) throws(StorageError) -> Int {
    let level = editor.path.depth - 1
    let first = editor.path[level - 1].index
    assert(length > 0 && length <= runs.runLimit, "a run has no more leaves than its limit")
    assert(first + length <= editor.path[level - 1].page.count, "a run ends with its branch")
    try editor.makePathPrivate(&root, levels: level)
    let packer = editor.packer(root.keyKind)
    runs.begin()
    var (next, change, index) = (start, 0, first)
    while index < first + length, runs.children.count < 2 * runs.runLimit {
      editor.path[level - 1].index = index
      let bound = bound(behind: index, root.keyKind)
      let leaf = try takeLeaf(level, in: root)
      let merger = LeafMerger(leaf, bound: bound, byteLimit: packer.byteCount + runs.runLimit * pageSize)
      let merged = merger.merge(operations, from: next, isLed: index == first, into: packer) {
        editor.pages.supersedeExtent($0)
      }
      if merged.addsExtents { editor.notePathHasExtents(&root) }
      change += merged.change
      next = merged.next
      index += 1
      if packer.byteCount >= Self.pagesAtOnce * pageSize { try runs.write(packer, all: false, in: root) }
      // There were too many for one leaf: the rest goes to what has become of it.
      if next < operations.count, bound.isAbove(operations[next]) { break }
    }
    assert(index > first, "a run has a leaf at least")
    try runs.write(packer, all: true, in: root)
    try runs.finish(in: root)
    editor.path[level - 1].index = first
    try replace(first..<index, at: level, in: &root)
    root.count += change
    return next
  }

  /// Fetches the leaf that the path above `level` leads to, looks whether it is fit, and gives it up; returns where its
  /// entries stay until the run has ended.
  private func takeLeaf(_ level: Int, in root: TreeRoot) throws(StorageError) -> PageBytes {
    let step = editor.path[level - 1]
    let reference = PageReference(rawValue: step.page.references[step.index])
    if step.index + 2 < step.page.count {
      editor.reader.access.prefetchPlace(of: PageReference(rawValue: step.page.references[step.index + 2]))
      editor.reader.access.prefetchPage(PageReference(rawValue: step.page.references[step.index + 1]))
    }
    let leaf = try leaves.leaf(step.index, of: step.page, readsAhead: true)
    editor.path[level] = PathStep(page: leaf, reference: reference, index: 0)
    let isPrivate = editor.pages.isPrivate(reference, leaf)
    if !isPrivate { try editor.checkFitness(level, in: root, isTakenApart: true) }
    runs.take(leaf, reference, isPrivate: isPrivate)
    // Its bytes go when it is written over, or the next leaf is asked for.
    return isPrivate || leaves.holds(leaf) ? runs.copy(leaf) : leaf
  }

  /// Puts the leaves that have been written in the place of `range` of the branch above `level`, and merges what is too
  /// small with its neighbours.
  private func replace(_ range: Range<Int>, at level: Int, in root: inout TreeRoot) throws(StorageError) {
    assert(!runs.children.isEmpty, "a run leaves a leaf at least")
    editor.forgetRightmostLeaf()
    let isSplit = try editor.replaceLeaves(range, of: level - 1, by: runs.children, in: &root)
    guard !isSplit, runs.children.count < range.count else { return }
    if runs.children.count == 1, let only = runs.children.first {
      let reference = PageReference(rawValue: only.reference)
      let page = try editor.reader.page(reference, checksum: 0, level: 0)
      editor.path[level] = PathStep(page: page, reference: reference, index: 0)
      if try editor.tidy(level: level, in: &root) { return }
    }
    try editor.tidy(level: level - 1, in: &root)
  }
}
