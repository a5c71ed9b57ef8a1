// Splitting leaves and branches. A split yields two pages, or three when the new key has nothing in common with its
// neighbours and the old page's prefix is what made it fit.

/// A page that a split added to the right of the one that was split.
struct SplitPage {
  let separator: OwnedKey
  let reference: PageReference
  /// What the parent counts for it: a word of `ChildCount`.
  let count: UInt64
}

extension TreeEditor {
  /// Writes the private leaf at the end of `path` anew with one entry more, or another value, over as many pages as it
  /// takes, and corrects the counts above; the root's own count stays as it is.
  func rebuildLeaf(
    inserting key: SearchKey, _ value: CellValue, at index: Int, replacing: Bool,
    in root: inout TreeRoot
  ) throws(StorageError) {
    let leaf = path[depth - 1].page
    if !replacing, index == leaf.count, try startLeaf(with: key, value, in: &root) { return }
    let old = PageBytes(scratch)
    scratch.copyMemory(from: leaf.base, byteCount: pageSize)
    let packer = packer(root.keyKind)
    packer.removeAll()
    packer.append(old, 0..<index)
    packer.append(key, value)
    packer.append(old, (replacing ? index + 1 : index)..<old.count)
    // Ascending keys fill pages to the brim.
    let appends = !replacing && index == packer.count - 1 && isRightmost(levelsBelow: depth - 1)
    packer.cuts(limit: pageSize, fills: appends, into: &leafEnds)
    let firstCount = leafEnds[0]
    initialize(leaf, kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
    packer.encode(0..<firstCount, into: leaf)
    let pages = try makeLeaves(packer, from: firstCount, ends: leafEnds.dropFirst(), in: root)
    try addToParent(of: depth - 1, firstCount: packer.childCount(0..<firstCount), pages, in: &root)
  }

  /// Makes leaves of the entries of `packer` from `start` on, each up to the next of `ends`.
  func makeLeaves(
    _ packer: LeafPacker, from start: Int, ends: ArraySlice<Int>, in root: TreeRoot
  ) throws(StorageError) -> [SplitPage] {
    var pages: [SplitPage] = []
    var start = start
    for end in ends {
      let made = try makePage(kind: .leaf, level: 0, keyKind: root.keyKind, treeID: root.id.rawValue)
      packer.encode(start..<end, into: made.page)
      let separator = Separator.between(
        packer.entries[start - 1].splitKey, packer.entries[start].splitKey, keyKind: root.keyKind)
      pages.append(
        SplitPage(separator: separator, reference: made.reference, count: packer.childCount(start..<end)))
      start = end
    }
    return pages
  }

  /// Whether the page `path[depth]` is the last one of its level.
  func isRightmost(levelsBelow depth: Int) -> Bool {
    for index in 0..<depth where path[index].index != path[index].page.count - 1 { return false }
    return true
  }

  /// The cut nearest to the middle, in bytes, whose halves both fit; nil if there is none.
  private func middleCut(sizes: [Int], fits: (Range<Int>) -> Bool) -> Int? {
    let total = sizes.reduce(0, +)
    var middle = 0
    var below = 0
    while middle < sizes.count - 1, below + sizes[middle] / 2 < total / 2 {
      below += sizes[middle]
      middle += 1
    }
    for distance in 0..<sizes.count {
      for cut in distance == 0 ? [middle] : [middle - distance, middle + distance]
      where cut > 0 && cut < sizes.count && fits(0..<cut) && fits(cut..<sizes.count) {
        return cut
      }
    }
    return nil
  }

  /// Enters the pages that the split of `path[level]` made into its parent, splitting that as well if it must.
  func addToParent(
    of level: Int, firstCount: UInt64, _ pages: [SplitPage], in root: inout TreeRoot
  ) throws(StorageError) {
    let total = pages.reduce(ChildCount.count(firstCount)) { $0 + ChildCount.count($1.count) }
    if level == 0 {
      forgetRightmostLeaf()
      if !pages.isEmpty { try growRoot(firstCount: firstCount, pages, in: &root) }
      return
    }
    let parent = path[level - 1].page
    let index = path[level - 1].index
    // Flags further up stand already: nothing below has become an extent that was not noted there.
    let change = Int(total) - Int(ChildCount.count(parent.counts[index]))
    parent.counts[index] = firstCount
    for above in 0..<(level - 1) {
      path[above].page.counts[path[above].index] &+= UInt64(bitPattern: Int64(change))
    }
    if pages.isEmpty { return }
    forgetRightmostLeaf()
    if pages.count == 1, try insertInPlace(pages[0], at: index + 1, in: parent) { return }
    try rebuildBranch(at: level - 1, inserting: pages, at: index + 1, in: &root)
  }

  /// Puts a new root above the old one; a merge may have made more children than one page takes, and then another one
  /// above several branches.
  private func growRoot(firstCount: UInt64, _ pages: [SplitPage], in root: inout TreeRoot) throws(StorageError) {
    guard root.level + 1 < Limits.treeLevels else {
      throw StorageError(.limitReached, "A tree would have more than \(Limits.treeLevels) levels.")
    }
    let (page, reference) = try makePage(
      kind: .branch, level: root.level + 1, keyKind: root.keyKind, treeID: root.id.rawValue)
    var entries = [
      BranchEntry(
        separator: SplitKey(integer: 0), reference: root.reference.rawValue, checksum: 0, count: firstCount)
    ]
    var added: [SplitPage] = []
    var count = firstCount
    try withEntries(pages, appendedTo: &entries) { (entries) throws(StorageError) in
      branchEntries.removeAll(keepingCapacity: true)
      branchEntries.append(contentsOf: entries)
      let cuts = branchCuts(appends: false, keyKind: root.keyKind)
      (count, added) = try writeBranches(entries, cuts: cuts, into: page, level: root.level + 1, in: root)
    }
    root.reference = reference
    root.checksum = 0
    root.level += 1
    if !added.isEmpty { try growRoot(firstCount: count, added, in: &root) }
  }

  /// Calls `body` with `entries` and an entry for each of `pages`, whose separators are borrowed meanwhile.
  private func withEntries(
    _ pages: [SplitPage], appendedTo entries: inout [BranchEntry],
    _ body: (inout [BranchEntry]) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let first = pages.first else { return try body(&entries) }
    try first.separator.withSplitKey { (key) throws(StorageError) in
      entries.append(
        BranchEntry(separator: key, reference: first.reference.rawValue, checksum: 0, count: first.count))
      try withEntries(Array(pages.dropFirst()), appendedTo: &entries, body)
    }
  }

  /// Inserts a child into a private branch; false if there is no room or the separator lacks the page's prefix.
  private func insertInPlace(_ new: SplitPage, at index: Int, in page: PageBytes) throws(StorageError) -> Bool {
    try new.separator.withSplitKey { (key) throws(StorageError) -> Bool in
      let count = page.count
      let hasIntegerKeys = page.hasIntegerKeys
      let prefixCount = page.prefixCount
      let keyCount = hasIntegerKeys ? 0 : key.count - prefixCount
      if !hasIntegerKeys {
        let search = SearchKey(key.back)
        if prefixCount > 0, page.comparePrefix(with: search) != 0 { return false }
      }
      let cellByteCount = hasIntegerKeys ? 0 : PageLayout.branchCellHeader + keyCount
      let newEnd = PageBytes.branchArraysEnd(count: count + 1, hasIntegerKeys: hasIntegerKeys)
      guard newEnd + cellByteCount <= page.cellStart else { return false }
      openGap(at: index, in: page)
      page.references[index] = new.reference.rawValue
      page.checksums[index] = 0
      page.counts[index] = new.count
      if hasIntegerKeys {
        page.heads64[index] = key.integer
      } else {
        let offset = page.cellStart - cellByteCount
        let cell = page.base + offset
        cell.storeBytes(of: UInt16(truncatingIfNeeded: keyCount), as: UInt16.self)
        key.copy(skipping: prefixCount, to: cell + PageLayout.branchCellHeader)
        page.heads32[index] = KeyOrder.head(cell + PageLayout.branchCellHeader, keyCount)
        page.branchSlots[index] = UInt16(truncatingIfNeeded: offset)
        page.cellStart = offset
      }
      return true
    }
  }

  /// Moves a branch's arrays, from the last one to the first, so that there is room for a child at `index`.
  private func openGap(at index: Int, in page: PageBytes) {
    let count = page.count
    let (slots, counts, checksums, references) = (
      UnsafeMutableRawPointer(page.branchSlots), UnsafeMutableRawPointer(page.counts),
      UnsafeMutableRawPointer(page.checksums), UnsafeMutableRawPointer(page.references)
    )
    let heads = page.base + PageLayout.headerByteCount
    let width = page.headWidth
    page.count = count + 1
    func move(_ old: UnsafeMutableRawPointer, _ new: UnsafeMutableRawPointer, width: Int) {
      memmoveBytes(new + width * (index + 1), old + width * index, width * (count - index))
      memmoveBytes(new, old, width * index)
    }
    if !page.hasIntegerKeys { move(slots, UnsafeMutableRawPointer(page.branchSlots), width: 2) }
    move(counts, UnsafeMutableRawPointer(page.counts), width: 8)
    move(checksums, UnsafeMutableRawPointer(page.checksums), width: 8)
    move(references, UnsafeMutableRawPointer(page.references), width: 8)
    move(heads, heads, width: width)
    page.clearHeadPadding()
  }

  /// Writes the private branch `path[level]` anew with more children, over as many pages as it takes.
  private func rebuildBranch(
    at level: Int, inserting new: [SplitPage], at index: Int, in root: inout TreeRoot
  ) throws(StorageError) {
    let branch = path[level].page
    // Leaves are done with: their part of the scratch is free again.
    let old = PageBytes(scratch)
    scratch.copyMemory(from: branch.base, byteCount: pageSize)
    branchEntries.removeAll(keepingCapacity: true)
    var added: [BranchEntry] = []
    var pages: [SplitPage] = []
    var firstCount: UInt64 = 0
    try withEntries(new, appendedTo: &added) { (added) throws(StorageError) in
      old.appendBranchEntries(to: &branchEntries)
      branchEntries.insert(contentsOf: added, at: index)
      let appends = index + added.count == branchEntries.count && isRightmost(levelsBelow: level)
      let cuts = branchCuts(appends: appends, keyKind: root.keyKind)
      (firstCount, pages) = try writeBranches(
        branchEntries, cuts: cuts, into: branch, level: root.level - level, in: root)
    }
    try addToParent(of: level, firstCount: firstCount, pages, in: &root)
  }

  /// Writes the private branch `path[level]` anew with the children `new` in the place of `range`, over as many pages
  /// as it takes, and corrects the counts above; the root's own count stays as it is. The first of them keeps the
  /// separator of the first one replaced; the other separators are borrowed, from elsewhere than the branch. Returns
  /// whether the branch has been split: the path then leads astray.
  func replaceLeaves(
    _ range: Range<Int>, of level: Int, by new: [BranchEntry], in root: inout TreeRoot
  ) throws(StorageError) -> Bool {
    takeApart(path[level].page, replacing: range, by: new)
    let cuts = branchCuts(appends: false, keyKind: root.keyKind)
    let (firstCount, pages) = try writeBranches(
      branchEntries, cuts: cuts, into: path[level].page, level: root.level - level, in: root)
    try addToParent(of: level, firstCount: firstCount, pages, in: &root)
    return !pages.isEmpty
  }

  /// Fills `branchEntries` with the children of a branch, with others in the place of `range`, of which the first keeps
  /// the separator of the first one replaced. What they borrow of the branch is a copy: it can be written over.
  func takeApart(_ branch: PageBytes, replacing range: Range<Int>, by new: [BranchEntry]) {
    scratch.copyMemory(from: branch.base, byteCount: pageSize)
    branchEntries.removeAll(keepingCapacity: true)
    PageBytes(scratch).appendBranchEntries(to: &branchEntries)
    let separator = branchEntries[range.lowerBound].separator
    branchEntries.replaceSubrange(range, with: new)
    branchEntries[range.lowerBound].separator = separator
  }

  /// Writes the pieces of a branch, the first one into `branch`; returns what its parent counts for that, and the pages
  /// that were added.
  private func writeBranches(
    _ entries: [BranchEntry], cuts: [Int], into branch: PageBytes, level: Int, in root: TreeRoot
  ) throws(StorageError) -> (UInt64, [SplitPage]) {
    var pages: [SplitPage] = []
    var firstCount: UInt64 = 0
    var start = 0
    for (piece, end) in (cuts + [entries.count]).enumerated() {
      let count = branchWord(entries[start..<end])
      let target: PageBytes
      if piece == 0 {
        target = branch
        initialize(branch, kind: .branch, level: level, keyKind: root.keyKind, treeID: root.id.rawValue)
        firstCount = count
      } else {
        let made = try makePage(kind: .branch, level: level, keyKind: root.keyKind, treeID: root.id.rawValue)
        target = made.page
        let key = entries[start].separator
        let separator = OwnedKey(bytes: root.keyKind == .int64 ? [] : key.bytes, integer: key.integer)
        pages.append(SplitPage(separator: separator, reference: made.reference, count: count))
      }
      PageEncoder.encodeBranch(entries[start..<end], into: target, pageSize: pageSize)
      start = end
    }
    return (firstCount, pages)
  }

  /// What the parent of a branch with these children counts for it.
  private func branchWord(_ entries: ArraySlice<BranchEntry>) -> UInt64 {
    ChildCount.sum(entries.lazy.map(\.count))
  }

  /// Where to cut `branchEntries` so that each piece fits a page.
  private func branchCuts(appends: Bool, keyKind: KeyKind) -> [Int] {
    let count = branchEntries.count
    func fits(_ range: Range<Int>) -> Bool {
      PageEncoder.branchByteCount(branchEntries[range], keyKind: keyKind) <= pageSize
    }
    if fits(0..<count) { return [] }
    if appends, fits(0..<(count - 1)) { return [count - 1] }
    if let cut = middleCut(sizes: branchEntries.map { $0.separator.count + 32 }, fits: fits) { return [cut] }
    // Several new children at once, or one that breaks the prefix: each piece takes as many children as fit.
    var cuts: [Int] = []
    var start = 0
    while start < count {
      var end = start + 1
      while end < count, fits(start..<(end + 1)) { end += 1 }
      if end < count { cuts.append(end) }
      start = end
    }
    return cuts
  }
}

extension PageBytes {
  /// Zeroes the four bytes behind an odd number of heads, which reach the disk with the page.
  @inline(__always) func clearHeadPadding() {
    if !hasIntegerKeys, count & 1 == 1 { heads32[count] = 0 }
  }
}
