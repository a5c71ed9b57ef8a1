// What stands in a lost range after all: leaves that nothing leads to, merged by their keys.

internal import HeapModule

/// Delivers, for one lost range of a tree after the other, what leaves have that were found by looking at all pages.
///
/// Of several leaves with one key, one of the newest state wins, then the one that was made last. Between the first and
/// the last key of a leaf of the newest state nothing else is: what old leaves have there was deleted.
///
/// Memory: the index, and at most `openLimit` pages.
final class SalvageFill {
  /// A leaf whose keys are being merged.
  private final class OpenLeaf: Comparable {
    let page: PageBytes
    let leaf: SalvageLeaves.Leaf
    let isCurrent: Bool
    let isProven: Bool
    let lastKey: [UInt8]
    var index = 0
    var key: [UInt8]

    init(_ page: PageBytes, _ leaf: SalvageLeaves.Leaf, isCurrent: Bool, isProven: Bool, _ keyKind: KeyKind) {
      self.page = page
      self.leaf = leaf
      self.isCurrent = isCurrent
      self.isProven = isProven
      lastKey = SalvageKey.bytes(page.leafKey(page.count - 1), keyKind)
      key = SalvageKey.bytes(page.leafKey(0), keyKind)
    }

    deinit { page.base.deallocate() }

    /// Goes to the next key; false behind the last.
    func advance(_ keyKind: KeyKind) -> Bool {
      index += 1
      guard index < page.count else { return false }
      key = SalvageKey.bytes(page.leafKey(index), keyKind)
      return true
    }

    static func == (left: OpenLeaf, right: OpenLeaf) -> Bool { left === right }

    /// Whether the next key of `left` comes first; of leaves with the same one, the leaf that wins.
    static func < (left: OpenLeaf, right: OpenLeaf) -> Bool {
      let order = SalvageKey.compare(left.key, right.key)
      if order != 0 { return order < 0 }
      if left.isCurrent != right.isCurrent { return left.isCurrent }
      return (left.leaf.birth, right.leaf.page) > (right.leaf.birth, left.leaf.page)
    }
  }

  /// An entry that a leaf has.
  struct Found {
    let page: PageBytes
    let index: Int
    let isCurrent: Bool
    let isProven: Bool
  }

  private let pages: SalvagePages
  private let root: TreeRoot
  private let leaves: SalvageLeaves
  private let includesStale: Bool
  private var nextLeaf = 0
  /// None changes its key while it is in there.
  private var open = HeapModule.Heap<OpenLeaf>()
  private static let openLimit = 1024

  init(_ pages: SalvagePages, _ root: TreeRoot, _ leaves: SalvageLeaves, includesStale: Bool) {
    self.pages = pages
    self.root = root
    self.leaves = leaves
    self.includesStale = includesStale
  }

  /// Calls `body` with what leaves have of a range, in the order of the keys; again with an older version of a key as
  /// long as it returns false. Ranges must come in order. Reads each leaf once, over all ranges.
  ///
  /// - Parameter walk: has been at pages whose keys lie elsewhere, and at some that are not what they should be: these
  ///   are old.
  func fill(_ gap: SalvageGap, besides walk: SalvageWalk?, _ body: (Found) throws -> Bool) throws {
    let takesStale = includesStale && !leaves.isComplete(gap, besides: walk)
    skip(to: gap)
    var covered: [UInt8]?
    while true {
      openLeaves(gap, walk)
      guard let key = open.min?.key, !gap.isBelow(key) else { return }
      // The leaf of the newest state that comes first covers the key for the others, too.
      if let top = open.min, top.isCurrent, covered.map({ SalvageKey.compare($0, top.lastKey) < 0 }) ?? true {
        covered = top.lastKey
      }
      let isCovered = covered.map { SalvageKey.compare(key, $0) <= 0 } ?? false
      var isDone = false
      while let top = open.min, top.key == key {
        if !isDone, top.isCurrent || (takesStale && !isCovered) {
          let found = Found(page: top.page, index: top.index, isCurrent: top.isCurrent, isProven: top.isProven)
          isDone = try body(found)
        }
        open.removeMin()
        if top.advance(root.keyKind) { open.insert(top) }
      }
    }
  }

  // MARK: Leaves

  /// Leaves keys below the range behind.
  private func skip(to gap: SalvageGap) {
    open = HeapModule.Heap(open.unordered.filter { isAt($0, gap) })
  }

  /// Moves a leaf to its first key that is not below the range; false if it has none.
  private func isAt(_ leaf: OpenLeaf, _ gap: SalvageGap) -> Bool {
    while gap.isAbove(leaf.key) {
      guard leaf.advance(root.keyKind) else { return false }
    }
    return true
  }

  /// Opens all leaves that may have the least key.
  private func openLeaves(_ gap: SalvageGap, _ walk: SalvageWalk?) {
    while nextLeaf < leaves.leaves.count {
      let first = leaves.firstKey(nextLeaf)
      if gap.isBelow(first) { return }
      if let least = open.min?.key, SalvageKey.compare(first, least) > 0 { return }
      let leaf = leaves.leaves[nextLeaf]
      nextLeaf += 1
      let hasFailed = walk?.failed[leaf.page] ?? false
      let isCurrent = leaf.isCurrent && !hasFailed && !gap.isOtherVersion
      guard isCurrent || includesStale, hasFailed || walk?.reached[leaf.page] != true,
        let opened = load(leaf, isCurrent: isCurrent), isAt(opened, gap)
      else { continue }
      if open.count >= Self.openLimit { dropOldest() }
      open.insert(opened)
    }
  }

  private func load(_ leaf: SalvageLeaves.Leaf, isCurrent: Bool) -> OpenLeaf? {
    let page = pages.makeBuffer()
    do throws(SalvageDefect) {
      let isProven = try pages.load(leaf.page, checksum: nil, into: page)
      guard page.level == 0,
        PageOrder.defect(in: page, of: root, within: KeyBounds(), pageSize: pages.pageSize, isTakenApart: true) == nil
      else { throw SalvageDefect("it has changed") }
      return OpenLeaf(page, leaf, isCurrent: isCurrent, isProven: isProven, root.keyKind)
    } catch {
      page.base.deallocate()
      return nil
    }
  }

  /// Gives up the leaf that is least likely to win.
  private func dropOldest() {
    assert(open.count == Self.openLimit, "a leaf is given up without need, or too late")
    var leaves = open.unordered
    let oldest = leaves.indices.min { left, right in
      let (a, b) = (leaves[left], leaves[right])
      return a.isCurrent != b.isCurrent ? b.isCurrent : a.leaf.birth < b.leaf.birth
    }
    if let oldest { leaves.remove(at: oldest) }
    open = HeapModule.Heap(leaves)
  }
}
