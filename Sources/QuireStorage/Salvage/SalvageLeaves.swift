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

/// An index of the leaves of one tree: 40 bytes for each, and up to 64 of its first key.
struct SalvageLeaves {
  struct Leaf {
    let page: UInt64
    let birth: UInt64
    /// The number of entries.
    let count: Int32
    let isCurrent: Bool
    /// Whether the first key is longer than what is kept of it.
    let isCut: Bool
    fileprivate let keyStart: Int
    fileprivate let keyCount: Int32

    /// Where what is kept of it stands.
    fileprivate var keyRange: Range<Int> { keyStart..<(keyStart + Int(keyCount)) }
  }

  private(set) var leaves: [Leaf] = []
  private var keys: [UInt8] = []
  private static let keptByteCount = 64

  /// Reads each of `found` once.
  init(_ found: ArraySlice<SalvageScan.Leaf>, _ liveness: SalvageLiveness, _ keyKind: KeyKind, _ pages: SalvagePages) {
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
  }

  /// What is kept of the first key of a leaf: no key of the leaf is below it.
  func firstKey(_ index: Int) -> [UInt8] { Array(keys[leaves[index].keyRange]) }

  /// Whether a range that had `gap.count` entries has all of them in leaves of the newest state.
  func isComplete(_ gap: SalvageGap, besides walk: SalvageWalk?) -> Bool {
    guard let expected = gap.count, !gap.isOtherVersion else { return false }
    var found = 0
    // Ranges are many where much is damaged, and so are leaves.
    let start = leaves.partitioningIndex { !gap.isAbove(Array(keys[$0.keyRange])) }
    for index in start..<leaves.count {
      if gap.isBelow(firstKey(index)) { break }
      let leaf = leaves[index]
      guard leaf.isCurrent, !leaf.isCut, walk?.reached[leaf.page] != true else { continue }
      found += Int(leaf.count)
    }
    return found == expected
  }
}
