// The leaves of one tree that were found by looking at all pages, in the order of their first keys.

/// What tells pages of the newest state from old ones.
struct SalvageLiveness {
  /// The places that the free map calls free; nil if there is none that can be believed.
  let free: PageBits?
  /// The commit of the meta page that the map belongs to.
  let newestBirth: UInt64
  /// How many pages that meta page says there are: what stands behind them is of no state, or of a later one.
  let pageCount: UInt64

  /// Without a meta page, nothing is known to be of the newest state.
  static var unknown: SalvageLiveness { SalvageLiveness(free: nil, newestBirth: 0, pageCount: 0) }

  /// Whether the page at `number`, made by `birth`, is part of the newest state. Each place in use is a page of that
  /// state: one that verifies is its page, unless a write to it was lost.
  func isCurrent(_ number: UInt64, birth: UInt64) -> Bool {
    guard let free, number < pageCount else { return false }
    return birth <= newestBirth && !free[number]
  }
}

/// An index of the leaves of one tree, in the order of their first keys: 40 bytes for each, and up to 64 of its first
/// key; while leaves are sorted whose keys agree in these, about 150 more for each of them.
struct SalvageLeaves {
  struct Leaf {
    let page: UInt64
    let birth: UInt64
    /// The number of entries; 0 of a leaf that can no longer be read.
    fileprivate(set) var count: Int32
    let isCurrent: Bool
    /// Whether the first key is longer than what is kept of it.
    let isCut: Bool
    fileprivate let keyStart: Int
    fileprivate let keyCount: Int32

    fileprivate var emptied: Leaf {
      var leaf = self
      leaf.count = 0
      return leaf
    }

    /// Where what is kept of it stands.
    fileprivate var keyRange: Range<Int> { keyStart..<(keyStart + Int(keyCount)) }
  }

  private(set) var leaves: [Leaf] = []
  private var keys: [UInt8] = []
  private let keyKind: KeyKind
  private let pages: SalvagePages
  private static let keptByteCount = 64

  /// Reads each of `found` once, and those whose first keys agree in their first 64 bytes once more for each 64 bytes
  /// in which they do.
  init(_ found: ArraySlice<SalvageScan.Leaf>, _ liveness: SalvageLiveness, _ keyKind: KeyKind, _ pages: SalvagePages) {
    (self.keyKind, self.pages) = (keyKind, pages)
    let page = pages.makeBuffer()
    defer { page.base.deallocate() }
    leaves.reserveCapacity(found.count)
    for leaf in found {
      do throws(SalvageDefect) { _ = try pages.load(leaf.page, checksum: nil, into: page) } catch { continue }
      guard page.level == 0, page.count > 0, page.birth == leaf.birth else { continue }
      let key = SalvageKey.bytes(page.leafKey(0), keyKind)
      let kept = key.prefix(Self.keptByteCount)
      leaves.append(
        Leaf(
          page: leaf.page, birth: leaf.birth, count: Int32(truncatingIfNeeded: page.count),
          isCurrent: liveness.isCurrent(leaf.page, birth: leaf.birth), isCut: kept.count < key.count,
          keyStart: keys.count, keyCount: Int32(kept.count)))
      keys.append(contentsOf: kept)
      assert(kept.count <= Self.keptByteCount, "more of a key is kept than there is room for")
    }
    keys.withUnsafeBytes { keys in
      func key(of leaf: Leaf) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: keys[leaf.keyRange]) }
      leaves.sort { left, right in
        let order = SalvageKey.compare(key(of: left), key(of: right))
        return order != 0 ? order < 0 : left.page < right.page
      }
    }
    sortCutKeys(page)
  }

  // MARK: Keys that are cut

  /// Puts leaves into order whose first keys agree in all that is kept of them.
  private mutating func sortCutKeys(_ page: PageBytes) {
    var start = 0
    while start < leaves.count {
      let end = leaves[start...].dropFirst().firstIndex { keys[$0.keyRange] != keys[leaves[start].keyRange] }
      let run = start..<(end ?? leaves.count)
      if run.count > 1 { sort(run, page) }
      start = run.upperBound
    }
  }

  /// Puts leaves into order by what follows what is kept of their first keys, 64 bytes at a time.
  private mutating func sort(_ run: Range<Int>, _ page: PageBytes) {
    var left = [(run: run, offset: Self.keptByteCount)]
    while let (run, offset) = left.popLast() {
      assert(run.count > 1, "a leaf is put into order by itself")
      var parts = leaves[run].map { leaf in
        guard leaf.isCut else { return (leaf: leaf, bytes: [UInt8]()) }
        guard let key = firstKey(of: leaf, page) else { return (leaf: leaf.emptied, bytes: []) }
        return (leaf: leaf, bytes: [UInt8](key.dropFirst(offset).prefix(Self.keptByteCount)))
      }
      parts.sort { left, right in
        let order = SalvageKey.compare(left.bytes, right.bytes)
        return order != 0 ? order < 0 : left.leaf.page < right.leaf.page
      }
      for (index, part) in parts.enumerated() { leaves[run.lowerBound + index] = part.leaf }
      var start = 0
      while start < parts.count {
        let bytes = parts[start].bytes
        let end = parts[start...].firstIndex { $0.bytes != bytes } ?? parts.count
        if end - start > 1, bytes.count == Self.keptByteCount {
          left.append((run.lowerBound + start..<run.lowerBound + end, offset + Self.keptByteCount))
        }
        start = end
      }
    }
  }

  /// The whole first key of a leaf, which is read again; nil if that fails.
  private func firstKey(of leaf: Leaf, _ page: PageBytes) -> [UInt8]? {
    do throws(SalvageDefect) { _ = try pages.load(leaf.page, checksum: nil, into: page) } catch { return nil }
    guard page.level == 0, page.count > 0 else { return nil }
    return SalvageKey.bytes(page.leafKey(0), keyKind)
  }

  /// What is kept of the first key of a leaf: no key of the leaf is below it.
  func firstKey(_ index: Int) -> [UInt8] { Array(keys[leaves[index].keyRange]) }

  /// Whether the first key of a leaf is below `bound`. Reads the leaf if what is kept of its key does not tell.
  private func isBelow(_ leaf: Leaf, _ bound: [UInt8], _ page: PageBytes) -> Bool {
    let kept = Array(keys[leaf.keyRange])
    let key = leaf.isCut && bound.starts(with: kept) ? firstKey(of: leaf, page) : nil
    return SalvageKey.compare(key ?? kept, bound) < 0
  }

  /// Whether a range that had `gap.count` entries has all of them in leaves of the newest state.
  func isComplete(_ gap: SalvageGap, besides walk: SalvageWalk?) -> Bool {
    guard let expected = gap.count, !gap.isOtherVersion else { return false }
    let page = pages.makeBuffer()
    defer { page.base.deallocate() }
    // Ranges are many where much is damaged, and so are leaves.
    let start = gap.lower.map { lower in leaves.partitioningIndex { !isBelow($0, lower, page) } } ?? 0
    let end = gap.upper.map { upper in leaves.partitioningIndex { !isBelow($0, upper, page) } } ?? leaves.count
    guard start <= end else { return false }
    var found = 0
    for leaf in leaves[start..<end] where leaf.isCurrent && walk?.reached[leaf.page] != true {
      found += Int(leaf.count)
    }
    return found == expected
  }
}
