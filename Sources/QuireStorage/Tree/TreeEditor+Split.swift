// Splitting leaves and branches. A split yields two pages, or three when the new key has nothing in common with its
// neighbours and the old page's prefix is what made it fit.

extension TreeEditor {
  /// Divides the uniform leaf at the end of `path`, if it has no room for an entry more, between two leaves, the entry
  /// in its place, and corrects all counts. A leaf that is not the transaction's own is not copied before.
  ///
  /// Other leaves are left to `rebuildLeaf`, and false returned with nothing done: where the entry is not like the
  /// others or comes behind them all, where the cells overlap, in a forged file, and where one half could have two
  /// bytes more of a prefix. Heads that begin with the same bytes tell keys apart badly, and a tree that grows from one
  /// leaf would never get longer prefixes.
  @inline(__always) func divideLeaf(
    inserting key: SearchKey, _ value: CellValue, at index: Int, in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    let leaf = path[path.depth &- 1].page
    guard leaf.isUniform, !leaf.hasRoomForUniformCell else { return false }
    return try divideFullLeaf(inserting: key, value, at: index, in: &root)
  }

  @inline(never) private func divideFullLeaf(
    inserting key: SearchKey, _ value: CellValue, at index: Int, in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    let level = path.depth - 1
    let (leaf, reference) = (path[level].page, path[level].reference)
    guard index < leaf.count, leaf.isUniform(with: key, value) else { return false }
    guard leaf.hasIntegerKeys || leaf.comparePrefix(with: key) == 0 else { return false }
    let halves = LeafDivision(leaf, key, value, at: index)
    guard halves.mayKeepPrefix, halves.fit(pageSize) else { return false }
    let isOwn = pages.isPrivate(reference, leaf)
    if !isOwn { try checkFitness(level, in: root, isTakenApart: true) }
    try makePathPrivate(&root, levels: level)
    // Before anything is taken apart: it may throw.
    let right = try pages.makeLeaf(of: root)
    let source = rewriter.entries(of: leaf, isPrivate: isOwn)
    let left = try rewriter.vacate(isPrivate: isOwn, in: &root)
    halves.write(halves.left, of: source, into: left, pageSize)
    halves.write(halves.right, of: source, into: right.page, pageSize)
    let separator = Separator.between(
      left.leafKey(halves.left.count - 1), right.page.leafKey(0), keyKind: root.keyKind)
    let added = SplitPage(
      separator: separator, reference: right.reference,
      count: ChildCount.word(halves.right.count, mayHaveExtents: false))
    try addToParent(
      of: level, firstCount: ChildCount.word(halves.left.count, mayHaveExtents: false), [added], in: &root)
    root.count += 1
    return true
  }

  /// Writes the private leaf at the end of `path` anew with one entry more, or another value, over as many pages as it
  /// takes, and corrects the counts above; the root's own count stays as it is.
  func rebuildLeaf(
    inserting key: SearchKey, _ value: CellValue, at index: Int, replacing: Bool,
    in root: inout TreeRoot
  ) throws(StorageError) {
    assert(pages.isPrivate(path[path.depth - 1].reference, path[path.depth - 1].page), "others see what is rebuilt")
    let level = path.depth - 1
    let leaf = path[level].page
    if !replacing, index == leaf.count, try startLeaf(with: key, value, in: &root) { return }
    let old = rewriter.entries(of: leaf, isPrivate: true)
    let packer = packer(root.keyKind)
    packer.append(old, 0..<index)
    packer.append(key, value)
    packer.append(old, (replacing ? index + 1 : index)..<old.count)
    // Ascending keys fill pages to the brim.
    let appends = !replacing && index == packer.count - 1 && path.isRightmost(at: level)
    try rewriter.rewrite(packer, isPrivate: true, fills: appends, in: &root)
  }

  /// Enters the pages that the split of `path[level]` made into its parent, splitting that as well if it must.
  func addToParent(
    of level: Int, firstCount: UInt64, _ added: [SplitPage], in root: inout TreeRoot
  ) throws(StorageError) {
    let total = added.reduce(ChildCount.count(firstCount)) { $0 + ChildCount.count($1.count) }
    if level == 0 {
      forgetRightmostLeaf()
      if !added.isEmpty { try growRoot(firstCount: firstCount, added, in: &root) }
      return
    }
    assert(pages.isPrivate(path[level - 1].reference, path[level - 1].page), "a parent that others see is changed")
    let parent = path[level - 1].page
    let index = path[level - 1].index
    // Flags further up stand already: nothing below has become an extent that was not noted there.
    let change = Int(total) - Int(ChildCount.count(parent.counts[index]))
    parent.counts[index] = firstCount
    for above in 0..<(level - 1) {
      path[above].page.counts[path[above].index] &+= UInt64(bitPattern: Int64(change))
    }
    if added.isEmpty { return }
    forgetRightmostLeaf()
    if added.count == 1, try BranchWriter(parent).insert(added[0], at: index + 1) { return }
    try rebuildBranch(at: level - 1, inserting: added, at: index + 1, in: &root)
  }

  /// Puts a new root above the old one; a merge may have made more children than one page takes, and then another one
  /// above several branches.
  private func growRoot(firstCount: UInt64, _ split: [SplitPage], in root: inout TreeRoot) throws(StorageError) {
    guard root.level + 1 < Limits.treeLevels else {
      throw StorageError(.limitReached, "A tree would have more than \(Limits.treeLevels) levels.")
    }
    let (page, reference) = try pages.make(kind: .branch, level: root.level + 1, of: root)
    branches.entries = [BranchEntry(reference: root.reference.rawValue, count: firstCount)]
    var added: [SplitPage] = []
    var count = firstCount
    try withEntries(split[...], at: 1) { () throws(StorageError) in
      (count, added) = try writeBranches(appends: false, into: page, level: root.level + 1, in: root)
    }
    root.reference = reference
    root.checksum = 0
    root.level += 1
    if !added.isEmpty { try growRoot(firstCount: count, added, in: &root) }
  }

  /// Adds an entry for each of `pages` to `branches` behind its first `index`, and calls `body`; the separators are
  /// borrowed meanwhile.
  private func withEntries(
    _ pages: ArraySlice<SplitPage>, at index: Int, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let first = pages.first else { return try body() }
    try first.separator.withSplitKey { (key) throws(StorageError) in
      branches.entries.insert(
        BranchEntry(separator: key, reference: first.reference.rawValue, count: first.count), at: index)
      try withEntries(pages.dropFirst(), at: index + 1, body)
    }
  }

  /// Writes the private branch `path[level]` anew with more children, over as many pages as it takes.
  private func rebuildBranch(
    at level: Int, inserting new: [SplitPage], at index: Int, in root: inout TreeRoot
  ) throws(StorageError) {
    assert(!new.isEmpty && index > 0, "a branch is rebuilt for nothing")
    let branch = path[level].page
    takeApart(branch)
    var added: [SplitPage] = []
    var firstCount: UInt64 = 0
    try withEntries(new[...], at: index) { () throws(StorageError) in
      let appends = index + new.count == branches.entries.count && path.isRightmost(at: level)
      (firstCount, added) = try writeBranches(appends: appends, into: branch, level: root.level - level, in: root)
    }
    try addToParent(of: level, firstCount: firstCount, added, in: &root)
  }

  /// Writes the private branch `path[level]` anew with the children `new` in the place of `range`, over as many pages
  /// as it takes, and corrects the counts above; the root's own count stays as it is. The first of them keeps the
  /// separator of the first one replaced; the other separators are borrowed, from elsewhere than the branch. Returns
  /// whether the branch has been split: the path then leads astray.
  func replaceLeaves(
    _ range: Range<Int>, of level: Int, by new: [BranchEntry], in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    let branch = path[level].page
    takeApart(branch)
    assert(pages.isPrivate(path[level].reference, branch), "a page that others see is changed")
    branches.replace(range, by: new)
    let (firstCount, added) = try writeBranches(appends: false, into: branch, level: root.level - level, in: root)
    try addToParent(of: level, firstCount: firstCount, added, in: &root)
    return !added.isEmpty
  }

  /// Fills `branches` with the children of a branch. What they borrow of it is a copy in `scratch`, where leaves are
  /// done with: the branch can be written over.
  func takeApart(_ branch: PageBytes) {
    scratch.copyMemory(from: branch.base, byteCount: pageSize)
    branches.take(PageBytes(scratch))
  }

  /// Writes `branches` over a private branch; they fit.
  func rewrite(_ branch: PageBytes, level: Int, of root: TreeRoot) {
    assert(level > 0 && level <= root.level, "a branch stands on a level of its tree")
    pages.initialize(branch, kind: .branch, level: level, of: root)
    branches.encode(into: branch)
  }

  /// Writes `branches` over as many pages as it takes, the first one `branch`; returns what its parent counts for that,
  /// and the pages that were added.
  private func writeBranches(
    appends: Bool, into branch: PageBytes, level: Int, in root: TreeRoot
  ) throws(StorageError) -> (UInt64, [SplitPage]) {
    var added: [SplitPage] = []
    var firstCount: UInt64 = 0
    var start = 0
    for end in branches.cuts(appends: appends, root.keyKind) {
      let count = branches.childCount(start..<end)
      if start == 0 {
        pages.initialize(branch, kind: .branch, level: level, of: root)
        branches.encode(start..<end, into: branch)
        firstCount = count
      } else {
        let made = try pages.make(kind: .branch, level: level, of: root)
        branches.encode(start..<end, into: made.page)
        let key = branches.entries[start].separator
        let separator = OwnedKey(bytes: root.keyKind == .int64 ? [] : key.bytes, integer: key.integer)
        added.append(SplitPage(separator: separator, reference: made.reference, count: count))
      }
      start = end
    }
    return (firstCount, added)
  }
}
