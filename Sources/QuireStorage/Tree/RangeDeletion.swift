// Taking a range of keys out of a tree. Only the pages on the ways to its two ends are edited; what lies between them
// goes by whole subtrees, whose leaves nobody reads unless they may hold extents.

/// One removal of a range of keys from a tree of the running transaction.
struct RangeDeletion {
  private let editor: TreeEditor
  private let pageSize: Int
  /// Gives up what lies between the ends.
  private var subtrees: TreeDeletion

  init(_ editor: TreeEditor) {
    self.editor = editor
    pageSize = editor.pageSize
    subtrees = TreeDeletion(editor)
  }

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
  mutating func delete(
    from lower: SearchKey?, to upper: SearchKey?, in root: inout TreeRoot
  ) throws(StorageError) -> Int {
    editor.forgetRightmostLeaf()
    if root.reference.isNone { return 0 }
    let before = root.count
    if lower == nil, upper == nil {
      try subtrees.delete(root)
      root = TreeRoot(id: root.id, keyKind: root.keyKind)
      return before
    }
    // No key is below the empty one, nor below the least integer.
    let lower = lower ?? (root.keyKind == .int64 ? SearchKey(Int64.min) : SearchKey(base: editor.scratch, count: 0))
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
      _ = try editor.descend(upper, in: root)
      right = editor.path.copy
      end = editor.path.rank
    }
    _ = try editor.descend(lower, in: root)
    guard editor.path.rank < end else { return nil }
    let depth = editor.path.depth
    var edges = Edges(left: editor.path.copy, right: right, fork: -1, height: depth)
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
      throw editor.store.damaged(
        editor.path[depth - 1].reference, "entries are counted behind its last one where there are none")
    }
    edges.left.removeLast(depth - leftDepth)
    edges.right.removeLast(upper == nil ? 0 : depth - rightDepth)
    return edges
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
    editor.path.set(way)
    try editor.makePathPrivate(&root)
    way = editor.path.copy
  }

  // MARK: Cutting

  /// Takes out what lies between the two ways, from the leaves up, and corrects the counts.
  private mutating func cut(_ edges: Edges, in root: inout TreeRoot) throws(StorageError) {
    let leaf = edges.height - 1
    for way in [(steps: edges.left, isLeft: true), (steps: edges.right, isLeft: false)] {
      var level = way.steps.count - 1
      while level > edges.fork {
        let step = way.steps[level]
        settleCount(of: way.steps, level)
        let first = level == leaf ? step.index : step.index + 1
        let range = way.isLeft ? first..<step.page.count : 0..<step.index
        try remove(range, from: step.page, level: root.level - level, of: root)
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
        try remove(range, from: step.page, level: root.level - level, of: root)
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
  private mutating func remove(
    _ range: Range<Int>, from page: PageBytes, level: Int, of root: TreeRoot
  ) throws(StorageError) {
    if range.isEmpty { return }
    // What is left shares at least the prefix that all shared, so it fits.
    if level == 0 {
      let old = editor.rewriter.entries(of: page, isPrivate: true)
      try subtrees.deleteEntries(range, of: old)
      let packer = editor.packer(root.keyKind)
      packer.append(old, 0..<range.lowerBound)
      packer.append(old, range.upperBound..<old.count)
      editor.rewriter.write(packer, 0..<packer.count, over: page, of: root)
      return
    }
    for index in range { try subtrees.delete(child: index, of: page, level: level - 1, in: root) }
    editor.takeApart(page)
    editor.branches.entries.removeSubrange(range)
    editor.rewrite(page, level: level, of: root)
  }

  // MARK: Tidying

  /// Merges or removes the edited pages on the way to `key` that have become too small. Unlike a delete, which goes up
  /// only as far as pages become small, it looks at every level. Returns whether there may be more to do.
  private func tidyEdge(at key: SearchKey, in root: inout TreeRoot) throws(StorageError) -> Bool {
    if root.reference.isNone { return false }
    _ = try editor.descend(key, in: root)
    var isChanged = false
    var level = editor.path.depth - 1
    while level > 0 {
      let (page, reference) = (editor.path[level].page, editor.path[level].reference)
      if editor.pages.isPrivate(reference, page) {
        if page.count == 0 {
          editor.pages.supersede(reference, page)
          try editor.removeChild(at: editor.path[level - 1].index, of: level - 1, in: root)
          isChanged = true
        } else if page.usedByteCount(pageSize: pageSize) * 4 < pageSize, try editor.merge(level: level, in: root) {
          isChanged = true
        }
      }
      level -= 1
    }
    let oldLevel = root.level
    try editor.tidyRoot(&root)
    return isChanged && !root.reference.isNone && (root.level > 0 || oldLevel > 0)
  }
}
