// Packing children into branches: splits, merges and anything else that does not fit in place.

/// A child of a branch, taken out of its page; the separator of a page's first child is not used.
struct BranchEntry {
  var separator: SplitKey
  var reference: UInt64
  var checksum: UInt64
  /// A word of `ChildCount`.
  var count: UInt64

  init(separator: SplitKey = SplitKey(integer: 0), reference: UInt64, checksum: UInt64 = 0, count: UInt64) {
    (self.separator, self.reference, self.checksum, self.count) = (separator, reference, checksum, count)
  }
}

/// A list of children in ascending order, and the branches that they fill.
///
/// Separators are borrowed: from pages that stay as they are until the children have been written, or from keys.
struct BranchPacker {
  let pageSize: Int
  var entries: [BranchEntry] = []

  init(pageSize: Int) { self.pageSize = pageSize }

  /// Takes the children of a branch, which stays as it is, instead of those before.
  mutating func take(_ branch: PageBytes) {
    entries.removeAll(keepingCapacity: true)
    append(branch)
  }

  /// Adds the children of a branch, which stays as it is.
  mutating func append(_ branch: PageBytes) {
    for index in 0..<branch.count {
      entries.append(
        BranchEntry(
          separator: index == 0 ? SplitKey(integer: 0) : branch.branchKey(index),
          reference: branch.references[index], checksum: branch.checksums[index], count: branch.counts[index]))
    }
  }

  /// Puts others in the place of some children; the first of them keeps the separator of the first one replaced.
  mutating func replace(_ range: Range<Int>, by new: [BranchEntry]) {
    assert(!new.isEmpty, "a branch keeps a child in the place of those replaced")
    assert(range.upperBound <= entries.count, "a branch has fewer children")
    let separator = entries[range.lowerBound].separator
    entries.replaceSubrange(range, with: new)
    entries[range.lowerBound].separator = separator
  }

  /// What the parent of a branch of the children `range` counts for it.
  func childCount(_ range: Range<Int>) -> UInt64 { ChildCount.sum(entries[range].lazy.map(\.count)) }

  // MARK: Measuring

  /// The bytes that a branch of the children `range` needs.
  func byteCount(_ range: Range<Int>, _ keyKind: KeyKind) -> Int {
    let hasIntegerKeys = keyKind == .int64
    return PageBytes.branchByteCount(
      count: range.count, hasIntegerKeys: hasIntegerKeys, prefixCount: hasIntegerKeys ? 0 : prefixCount(range),
      separatorByteCount: hasIntegerKeys ? 0 : entries[range.dropFirst()].reduce(0) { $0 + $1.separator.count })
  }

  /// Whether one branch takes all children.
  func fitsOne(_ keyKind: KeyKind, limit: Int? = nil) -> Bool {
    byteCount(0..<entries.count, keyKind) <= limit ?? pageSize
  }

  private func prefixCount(_ range: Range<Int>) -> Int {
    guard range.count > 2 else { return 0 }
    return entries[range.lowerBound + 1].separator.commonPrefixCount(with: entries[range.upperBound - 1].separator)
  }

  /// Where to cut the children so that each piece fits a page: the end of each, the last one's included.
  ///
  /// - Parameter appends: whether what is new is the last child, as ascending keys bring it: the others stay together.
  func cuts(appends: Bool, _ keyKind: KeyKind) -> [Int] {
    assert(!entries.isEmpty, "a branch has a child at least")
    let count = entries.count
    func fits(_ range: Range<Int>) -> Bool { byteCount(range, keyKind) <= pageSize }
    if fits(0..<count) { return [count] }
    if appends, fits(0..<(count - 1)) { return [count - 1, count] }
    if let cut = middleCut(fits) { return [cut, count] }
    // Several new children at once, or one that breaks the prefix: each piece takes as many children as fit.
    var cuts: [Int] = []
    var start = 0
    while start < count {
      var end = start + 1
      while end < count, fits(start..<(end + 1)) { end += 1 }
      cuts.append(end)
      start = end
    }
    return cuts
  }

  /// The cut nearest to the middle, in bytes, whose halves both fit; nil if there is none.
  private func middleCut(_ fits: (Range<Int>) -> Bool) -> Int? {
    let sizes = entries.map { $0.separator.count + 32 }
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

  // MARK: Writing

  /// Fills `page`, whose header has been initialized, with all children; they fit, and no separator lies in it.
  func encode(into page: PageBytes) { encode(0..<entries.count, into: page) }

  /// The same with the children `range`.
  func encode(_ range: Range<Int>, into page: PageBytes) {
    if range.isEmpty { return }
    assert(range.upperBound <= entries.count, "what is written was not packed")
    assert(page.level > 0, "leaves have no children")
    let hasIntegerKeys = page.hasIntegerKeys
    let prefix = hasIntegerKeys ? 0 : prefixCount(range)
    var top = pageSize - prefix
    page.prefixCount = prefix
    page.prefixOffset = prefix > 0 ? top : 0
    if prefix > 0 {
      let separator = entries[range.lowerBound + 1].separator
      for index in 0..<prefix { page.base.storeBytes(of: separator[index], toByteOffset: top + index, as: UInt8.self) }
    }
    page.count = range.count
    page.clearHeadPadding()
    let (references, checksums, counts) = (page.references, page.checksums, page.counts)
    for (index, entry) in entries[range].enumerated() {
      references[index] = entry.reference
      checksums[index] = entry.checksum
      counts[index] = entry.count
      if hasIntegerKeys {
        page.heads64[index] = index == 0 ? 0 : entry.separator.integer
      } else if index == 0 {
        page.heads32[0] = 0
        page.branchSlots[0] = 0
      } else {
        let keyCount = entry.separator.count - prefix
        top -= PageLayout.branchCellHeader + keyCount
        let cell = page.base + top
        cell.storeBytes(of: UInt16(keyCount), as: UInt16.self)
        entry.separator.copy(skipping: prefix, to: cell + PageLayout.branchCellHeader)
        page.heads32[index] = KeyOrder.head(cell + PageLayout.branchCellHeader, keyCount)
        page.branchSlots[index] = UInt16(top)
      }
    }
    assert(page.branchArraysEnd <= top, "arrays and cells meet")
    page.cellStart = top
    page.garbage = 0
  }
}
