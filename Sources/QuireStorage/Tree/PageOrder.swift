// What must hold of a page's entries beyond what a search needs: order, heads, limits, and space that adds up.
//
// `PageValidation` keeps a search inside the page, and that is all a reader needs: a page with entries out of order
// makes it miss, not crash. The writer trusts more: a split takes the prefix from the first and the last key, a
// compaction packs cells that must not overlap. So it looks here before it changes a page that came from disk, and
// `verify` looks here at every page.

extension SplitKey {
  /// Negative, zero or positive as this key orders before, with or after `other`; `kind` says which part counts.
  func order(relativeTo other: SplitKey, _ kind: KeyKind) -> Int {
    if kind == .int64 { return integer < other.integer ? -1 : integer == other.integer ? 0 : 1 }
    let common = commonPrefixCount(with: other)
    if common < count, common < other.count { return self[common] < other[common] ? -1 : 1 }
    return count - other.count
  }
}

/// The keys that a page may hold, as its parents' separators say: from `lower` on, and below `upper`.
struct KeyBounds {
  var lower: SplitKey?
  var upper: SplitKey?

  /// What the child `index` of `branch` may hold, if `branch` itself is within these bounds.
  func child(_ index: Int, of branch: PageBytes) -> KeyBounds {
    KeyBounds(
      lower: index > 0 ? branch.branchKey(index) : lower,
      upper: index + 1 < branch.count ? branch.branchKey(index + 1) : upper)
  }
}

/// Checks pages that passed `PageValidation`, or that this process built.
enum PageOrder {
  /// Why the page's entries break the format, or nil. Touches every cell once.
  ///
  /// - Parameter isTakenApart: whether the page is a leaf whose entries alone count: they go into other pages, and
  ///   where they lie in this one, or whether two of them share bytes, is the same to everybody.
  static func defect(
    in page: PageBytes, of root: TreeRoot, within bounds: KeyBounds, pageSize: Int, isTakenApart: Bool = false
  ) -> String? {
    guard page.treeID == root.id.rawValue else { return "it belongs to \(TreeID(page.treeID)), not to \(root.id)" }
    guard page.keyKind == root.keyKind.rawValue else { return "its keys are not of the tree's kind" }
    let isLeaf = page.kind == PageKind.leaf.rawValue
    if isLeaf, isPlainLeaf(page, of: root, within: bounds, pageSize: pageSize, isTakenApart: isTakenApart) {
      return nil
    }
    if !isTakenApart, let defect = spaceDefect(page, isLeaf: isLeaf, pageSize: pageSize) { return defect }
    // The first child of a branch has no separator.
    let first = isLeaf ? 0 : 1
    if !isLeaf, !page.hasIntegerKeys, page.heads32[0] != 0 { return "its first child has a separator" }
    guard first < page.count else { return nil }
    if let defect = orderDefect(page, first: first, isLeaf: isLeaf) { return defect }
    if isLeaf, let defect = limitDefect(page, root, pageSize: pageSize) { return defect }
    return boundsDefect(page, root.keyKind, first: first, isLeaf: isLeaf, bounds)
  }

  /// Whether a leaf breaks nothing, in one pass over its cells. False for one that does, and for a few that do not:
  /// cells in another order than those of a page that was written in one go, values in extents.
  private static func isPlainLeaf(
    _ page: PageBytes, of root: TreeRoot, within bounds: KeyBounds, pageSize: Int, isTakenApart: Bool
  ) -> Bool {
    let (count, prefixCount, hasIntegerKeys) = (page.count, page.prefixCount, page.hasIntegerKeys)
    let slots = page.leafSlots
    let known = prefixCount &+ page.headOnlyCount
    let keyLimit = Limits.keyByteCount(pageSize: pageSize) &- known
    let entryLimit = (root.id.rawValue == 0 ? pageSize : Limits.entryByteCount(pageSize: pageSize)) &- known
    let isUniform = page.isUniform
    var top = pageSize &- prefixCount
    if !isTakenApart, prefixCount > 0, page.prefixOffset != top { return false }
    var before = page.leafCell(at: Int(slots[0]))
    for index in 0..<count {
      let offset = Int(slots[index])
      let cell = page.leafCell(at: offset)
      top &-= cell.byteCount
      if (offset != top && !isTakenApart) || cell.isExtent { return false }
      if cell.keyCount > keyLimit || cell.keyCount &+ cell.valueCount > entryLimit { return false }
      if hasIntegerKeys { continue }
      let head = page.heads32[index]
      if !isUniform, head != KeyOrder.head(cell.key, cell.keyCount) { return false }
      if index > 0, head <= page.heads32[index &- 1] {
        guard head == page.heads32[index &- 1],
          KeyOrder.compare(before.key, before.keyCount, cell.key, cell.keyCount) < 0
        else { return false }
      }
      before = cell
    }
    guard isTakenApart || (top == page.cellStart && page.garbage == 0) else { return false }
    if hasIntegerKeys, orderDefect(page, first: 0, isLeaf: true) != nil { return false }
    return boundsDefect(page, root.keyKind, first: 0, isLeaf: true, bounds) == nil
  }

  /// Why the keys are not strictly ascending, or their heads are not theirs.
  private static func orderDefect(_ page: PageBytes, first: Int, isLeaf: Bool) -> String? {
    if page.hasIntegerKeys {
      let heads = page.heads64
      for index in (first + 1)..<max(page.count, first + 1) where heads[index - 1] >= heads[index] {
        return "key \(index) is not above the one before it"
      }
      return nil
    }
    let heads = page.heads32
    // The heads of a uniform leaf are the only place where those bytes are.
    let isUniform = isLeaf && page.isUniform
    var before = UnsafeRawBufferPointer(start: nil, count: 0)
    for index in first..<page.count {
      let key = rest(page, index, isLeaf: isLeaf)
      guard let base = key.baseAddress, isUniform || heads[index] == KeyOrder.head(base, key.count) else {
        return "head \(index) is not that of its key"
      }
      if index > first, let left = before.baseAddress {
        if heads[index - 1] > heads[index] { return "key \(index) is not above the one before it" }
        if heads[index - 1] == heads[index], KeyOrder.compare(left, before.count, base, key.count) >= 0 {
          return "key \(index) is not above the one before it"
        }
      }
      before = key
    }
    return nil
  }

  /// What remains of a byte-string key after the page's prefix, in a uniform leaf after the head.
  @inline(__always)
  private static func rest(_ page: PageBytes, _ index: Int, isLeaf: Bool) -> UnsafeRawBufferPointer {
    if !isLeaf { return page.separator(index) }
    let cell = page.leafCell(index)
    return UnsafeRawBufferPointer(start: cell.key, count: cell.keyCount)
  }

  private static func limitDefect(_ page: PageBytes, _ root: TreeRoot, pageSize: Int) -> String? {
    let keyLimit = Limits.keyByteCount(pageSize: pageSize)
    // The catalog's entries have a limit of their own, that of names.
    let entryLimit = root.id.rawValue == 0 ? pageSize : Limits.entryByteCount(pageSize: pageSize)
    for index in 0..<page.count {
      let cell = page.leafCell(index)
      let keyCount = page.prefixCount + page.headOnlyCount + cell.keyCount
      guard keyCount <= keyLimit else { return "key \(index) has \(keyCount) bytes; the limit is \(keyLimit)" }
      guard keyCount + cell.valueCount <= entryLimit else {
        return "entry \(index) has \(keyCount + cell.valueCount) bytes; the limit is \(entryLimit)"
      }
      // One form for each value: what fits stands in the leaf.
      if cell.isExtent, root.id.rawValue == 0 || keyCount + cell.extent.valueByteCount <= entryLimit {
        return "the value of entry \(index) stands in an extent, and would fit into the page"
      }
    }
    return nil
  }

  private static func boundsDefect(
    _ page: PageBytes, _ kind: KeyKind, first: Int, isLeaf: Bool, _ bounds: KeyBounds
  ) -> String? {
    func key(_ index: Int) -> SplitKey { isLeaf ? page.leafKey(index) : page.branchKey(index) }
    if let lower = bounds.lower {
      let order = key(first).order(relativeTo: lower, kind)
      // A branch whose first separator equals its own lower bound would have a child without room for a key.
      guard isLeaf ? order >= 0 : order > 0 else { return "its first key is below what its parents' separators allow" }
    }
    if let upper = bounds.upper, key(page.count - 1).order(relativeTo: upper, kind) >= 0 {
      return "its last key is above what its parents' separators allow"
    }
    return nil
  }

  // MARK: Space

  /// Why cells, prefix and garbage do not add up to the space behind `cellStart`, or overlap.
  private static func spaceDefect(_ page: PageBytes, isLeaf: Bool, pageSize: Int) -> String? {
    let first = isLeaf ? 0 : 1
    var used = page.prefixCount
    // Pages that were written in one go have their cells in descending order, one directly below the other.
    var top = pageSize - page.prefixCount
    var isPacked = page.prefixCount == 0 || page.prefixOffset == top
    if isLeaf || !page.hasIntegerKeys {
      for index in first..<max(page.count, first) {
        let cell = extent(page, index, isLeaf: isLeaf)
        used += cell.count
        top -= cell.count
        if cell.lowerBound != top { isPacked = false }
      }
    }
    guard used + page.garbage == pageSize - page.cellStart else {
      return "its cells take \(used) bytes and its garbage \(page.garbage), of \(pageSize - page.cellStart)"
    }
    if isPacked { return nil }
    return overlapDefect(page, isLeaf: isLeaf, pageSize: pageSize)
  }

  @inline(__always) private static func extent(_ page: PageBytes, _ index: Int, isLeaf: Bool) -> Range<Int> {
    if isLeaf {
      let offset = Int(page.leafSlots[index])
      return offset..<(offset + page.leafCell(at: offset).byteCount)
    }
    let offset = Int(page.branchSlots[index])
    return offset..<(offset + PageLayout.branchCellHeader + page.separator(index).count)
  }

  /// Marks every byte that is taken; the map is on the stack.
  private static func overlapDefect(_ page: PageBytes, isLeaf: Bool, pageSize: Int) -> String? {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: pageSize / 64) { words in
      words.initialize(repeating: 0)
      /// False if a byte was taken before.
      func take(_ range: Range<Int>) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
          let bit = position & 63
          let count = min(64 - bit, range.upperBound - position)
          let mask: UInt64 = (count == 64 ? .max : (1 << UInt64(count)) - 1) << UInt64(bit)
          if words[position >> 6] & mask != 0 { return false }
          words[position >> 6] |= mask
          position += count
        }
        return true
      }
      if page.prefixCount > 0 { _ = take(page.prefixOffset..<(page.prefixOffset + page.prefixCount)) }
      for index in (isLeaf ? 0 : 1)..<page.count where !take(extent(page, index, isLeaf: isLeaf)) {
        return "cell \(index) overlaps another"
      }
      return nil
    }
  }
}
