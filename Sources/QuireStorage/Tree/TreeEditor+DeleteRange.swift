// Taking a range of keys out of a tree. Only the pages on the ways to its two ends are edited; what lies between them
// goes by whole subtrees, whose leaves nobody reads unless they may hold extents.

extension TreeEditor {
  /// The two ways from the root to the ends of a range.
  ///
  /// Down to the page `fork` they share their pages; there, the left one goes on in a child in front of the right
  /// one's. Each is as long as there are pages on it to be edited.
  private struct Edges {
    var left: [PathStep]
    var right: [PathStep]
    /// The last page that both ways have; -1 if the range has no upper end, and so no right way.
    var fork: Int
    /// The number of pages on the way to a leaf.
    let height: Int
  }

  /// Removes every entry from `lower` on and below `upper`; nil leaves an end open. Returns how many there were;
  /// nothing has changed if it is 0.
  ///
  /// Touches two pages for each level, neighbours where pages merge, and in between the branch pages and those leaves
  /// that may hold extents.
  package func deleteRange(
    from lower: SearchKey?, to upper: SearchKey?, in root: inout TreeRoot
  ) throws(StorageError) -> Int {
    forgetRightmostLeaf()
    if root.reference.isNone { return 0 }
    let before = root.count
    if lower == nil, upper == nil {
      try supersedeAll(of: root)
      root = TreeRoot(id: root.id, keyKind: root.keyKind)
      return before
    }
    // No key is below the empty one, nor below the least integer.
    let lower = lower ?? (root.keyKind == .int64 ? SearchKey(Int64.min) : SearchKey(base: scratch, count: 0))
    guard var edges = try findEdges(lower, upper, in: root) else { return 0 }
    try makePrivate(&edges, in: &root)
    try cut(edges, in: &root)
    // Both ends may have become small or empty, at every level. A merge may make room for the next.
    while try tidyEdge(at: lower, in: &root) {}
    if let upper { while try tidyEdge(at: upper, in: &root) {} }
    return before - root.count
  }

  // MARK: The two ways

  /// The ways to both ends, as far down as they must be edited; nil if there is nothing between them.
  private func findEdges(
    _ lower: SearchKey, _ upper: SearchKey?, in root: TreeRoot
  ) throws(StorageError) -> Edges? {
    var right: [PathStep] = []
    var end = root.count
    if let upper {
      _ = try descend(upper, in: root)
      right = steps()
      end = rank()
    }
    _ = try descend(lower, in: root)
    guard rank() < end else { return nil }
    var edges = Edges(left: steps(), right: right, fork: -1, height: depth)
    if upper != nil {
      edges.fork = 0
      while edges.fork < depth - 1, edges.left[edges.fork].index == right[edges.fork].index { edges.fork += 1 }
    }
    // Below the last page that loses something nothing is edited.
    var (leftDepth, rightDepth) = (edges.fork + 1, edges.fork + 1)
    for level in (edges.fork + 1)..<max(depth, edges.fork + 1) {
      let step = edges.left[level]
      if level == depth - 1 ? step.index < step.page.count : step.index + 1 < step.page.count { leftDepth = level + 1 }
      if upper != nil, right[level].index > 0 { rightDepth = level + 1 }
    }
    // A page of a forged file may count entries that are not there.
    if leftDepth == 0 {
      throw store.damaged(path[depth - 1].reference, "entries are counted behind its last one where there are none")
    }
    edges.left.removeLast(depth - leftDepth)
    edges.right.removeLast(upper == nil ? 0 : depth - rightDepth)
    return edges
  }

  private func steps() -> [PathStep] { (0..<depth).map { path[$0] } }

  /// The number of entries in front of the position that `path` leads to.
  private func rank() -> Int {
    (0..<(depth - 1)).reduce(path[depth - 1].index) { $0 + path[$1].page.countBelow(childrenBefore: path[$1].index) }
  }

  /// Copies the pages of both ways that are not private; the tree holds what it held.
  private func makePrivate(_ edges: inout Edges, in root: inout TreeRoot) throws(StorageError) {
    try makePrivate(&edges.left, in: &root)
    if edges.right.isEmpty { return }
    // The pages that both have, as they are now.
    for level in 0...edges.fork {
      edges.right[level].page = edges.left[level].page
      edges.right[level].reference = edges.left[level].reference
    }
    try makePrivate(&edges.right, in: &root)
  }

  private func makePrivate(_ way: inout [PathStep], in root: inout TreeRoot) throws(StorageError) {
    depth = way.count
    for level in 0..<depth { path[level] = way[level] }
    try makePathPrivate(&root)
    way = steps()
  }

  // MARK: Cutting

  /// Takes out what lies between the two ways, from the leaves up, and corrects the counts.
  private func cut(_ edges: Edges, in root: inout TreeRoot) throws(StorageError) {
    var givenUp = GivenUpPages()
    let leaf = edges.height - 1
    for way in [(steps: edges.left, isLeft: true), (steps: edges.right, isLeft: false)] {
      var level = way.steps.count - 1
      while level > edges.fork {
        let step = way.steps[level]
        settleCount(of: way.steps, level)
        let first = level == leaf ? step.index : step.index + 1
        let range = way.isLeft ? first..<step.page.count : 0..<step.index
        try remove(range, from: step.page, level: root.level - level, of: root, &givenUp)
        level -= 1
      }
    }
    var level = edges.fork
    while level >= 0 {
      let step = edges.left[level]
      settleCount(of: edges.left, level)
      if level == edges.fork {
        settleCount(of: edges.right, level)
        let first = level == leaf ? step.index : step.index + 1
        let range = first..<max(first, edges.right[level].index)
        try remove(range, from: step.page, level: root.level - level, of: root, &givenUp)
      }
      level -= 1
    }
    root.count = edges.left[0].page.entryCount()
  }

  /// Enters the number of entries below the page that `way` goes on in, if that was edited.
  private func settleCount(of way: [PathStep], _ level: Int) {
    guard level + 1 < way.count else { return }
    let (page, index) = (way[level].page, way[level].index)
    page.counts[index] = ChildCount.word(
      way[level + 1].page.entryCount(), mayHaveExtents: ChildCount.mayHaveExtents(page.counts[index]))
  }

  /// Writes a private page anew without some of its entries or children; these are given up with all that is below.
  private func remove(
    _ range: Range<Int>, from page: PageBytes, level: Int, of root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    if range.isEmpty { return }
    let old = PageBytes(scratch)
    scratch.copyMemory(from: page.base, byteCount: pageSize)
    // What is left shares at least the prefix that all shared, so it fits.
    if level == 0 {
      try supersedeExtents(in: old, range, &givenUp)
      let packer = packer(root.keyKind)
      packer.removeAll()
      packer.append(old, 0..<range.lowerBound)
      packer.append(old, range.upperBound..<old.count)
      initialize(page, kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
      packer.encode(0..<packer.count, into: page)
      return
    }
    for index in range { try supersedeAll(belowChild: index, of: old, level: level - 1, in: root, &givenUp) }
    branchEntries.removeAll(keepingCapacity: true)
    old.appendBranchEntries(to: &branchEntries)
    branchEntries.removeSubrange(range)
    initialize(page, kind: .branch, level: level, keyKind: root.keyKind, treeID: root.id.rawValue)
    PageEncoder.encodeBranch(branchEntries[...], into: page, pageSize: pageSize)
  }

  // MARK: Tidying

  /// Merges or removes the edited pages on the way to `key` that have become too small. Unlike a delete, which goes up
  /// only as far as pages become small, it looks at every level. Returns whether there may be more to do.
  private func tidyEdge(at key: SearchKey, in root: inout TreeRoot) throws(StorageError) -> Bool {
    if root.reference.isNone { return false }
    _ = try descend(key, in: root)
    var isChanged = false
    var level = depth - 1
    while level > 0 {
      let (page, reference) = (path[level].page, path[level].reference)
      if isPrivate(reference, page) {
        if page.count == 0 {
          supersede(reference, page)
          try removeChild(at: path[level - 1].index, of: level - 1, in: root)
          isChanged = true
        } else if usedByteCount(page) * 4 < pageSize, try merge(level: level, in: root) {
          isChanged = true
        }
      }
      level -= 1
    }
    let oldLevel = root.level
    try tidyRoot(&root)
    return isChanged && !root.reference.isNone && (root.level > 0 || oldLevel > 0)
  }
}
