// What stands in a lost range after all: leaves that nothing leads to, merged by their keys.

internal import HeapModule

/// Delivers, for one lost range of a tree after the other, what leaves have that were found by looking at all pages.
///
/// Of several leaves with one key, one of the newest state wins, then the one that was made last. Between the first and
/// the last key of a leaf of the newest state nothing else is: what old leaves have there was deleted.
///
/// Memory: the index; of each leaf that is being merged one key; at most `pageLimit` pages.
final class SalvageFill {
  /// A leaf whose keys are being merged.
  private final class OpenLeaf: Comparable {
    /// Its page, if there was room to keep it; otherwise it is read again for each key.
    let page: PageBytes?
    let leaf: SalvageLeaves.Leaf
    /// Whether it is of the newest state; settled anew for each lost range.
    var isCurrent: Bool
    let isProven: Bool
    let lastKey: [UInt8]
    var index = 0
    var key: [UInt8]
    private let room: PageRoom

    /// - Parameter page: kept if there is room for it.
    init(
      _ page: PageBytes, _ leaf: SalvageLeaves.Leaf, isCurrent: Bool, isProven: Bool, _ keyKind: KeyKind,
      _ room: PageRoom
    ) {
      self.page = room.copy(page)
      self.leaf = leaf
      self.isCurrent = isCurrent
      self.isProven = isProven
      self.room = room
      lastKey = leaf.isCurrent ? SalvageKey.bytes(page.leafKey(page.count - 1), keyKind) : []
      key = SalvageKey.bytes(page.leafKey(0), keyKind)
    }

    deinit { if let page { room.free(page) } }

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
  /// The first key of the last leaf that was opened: no leaf behind it has a lower one.
  private var frontier: [UInt8] = []
  /// None changes its key while it is in there.
  private var open = HeapModule.Heap<OpenLeaf>()
  private let room: PageRoom
  /// For a page that is read only to be looked at, and the leaf whose it is.
  private let scratch: PageBytes
  private var scratchLeaf: UInt64 = 0
  private static let pageLimit = 1024

  init(_ pages: SalvagePages, _ root: TreeRoot, _ leaves: SalvageLeaves, includesStale: Bool) {
    self.pages = pages
    self.root = root
    self.leaves = leaves
    self.includesStale = includesStale
    room = PageRoom(pageSize: pages.pageSize, limit: Self.pageLimit)
    scratch = pages.makeBuffer()
  }

  deinit { scratch.base.deallocate() }

  /// Calls `body` with what leaves have of a range, in the order of the keys; again with an older version of a key as
  /// long as it returns false. Ranges must come in order. Reads each leaf once, over all ranges; where more leaves than
  /// `pageLimit` overlap, some of them once for each key.
  ///
  /// - Parameter walk: has been at pages whose keys lie elsewhere, and at some that are not what they should be: these
  ///   are old.
  func fill(_ gap: SalvageGap, besides walk: SalvageWalk?, _ body: (Found) throws -> Bool) throws {
    // Nothing in such a range is known to be of the newest state.
    if gap.isOtherVersion, !includesStale { return }
    let takesStale = includesStale && !leaves.isComplete(gap, besides: walk)
    skip(to: gap, walk)
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
        if !isDone, top.isCurrent || (takesStale && !isCovered), let page = page(of: top) {
          let found = Found(page: page, index: top.index, isCurrent: top.isCurrent, isProven: top.isProven)
          isDone = try body(found)
        }
        open.removeMin()
        if advance(top) { open.insert(top) }
      }
    }
  }

  // MARK: Leaves

  /// Leaves keys below the range behind, and leaves that the walk has been at since.
  private func skip(to gap: SalvageGap, _ walk: SalvageWalk?) {
    open = HeapModule.Heap(
      open.unordered.filter { opened in
        guard let isCurrent = isCurrent(opened.leaf, gap, walk) else { return false }
        opened.isCurrent = isCurrent
        return isAt(opened, gap)
      })
  }

  /// Moves a leaf to its first key that is not below the range; false if it has none.
  private func isAt(_ leaf: OpenLeaf, _ gap: SalvageGap) -> Bool {
    while gap.isAbove(leaf.key) {
      guard advance(leaf) else { return false }
    }
    return true
  }

  /// Opens all leaves that may have the least key, and the first one behind.
  private func openLeaves(_ gap: SalvageGap, _ walk: SalvageWalk?) {
    while nextLeaf < leaves.leaves.count {
      let first = leaves.firstKey(nextLeaf)
      if gap.isBelow(first) || gap.isBelow(frontier) { return }
      if let least = open.min?.key {
        if SalvageKey.compare(first, least) > 0 || SalvageKey.compare(frontier, least) > 0 { return }
      }
      let leaf = leaves.leaves[nextLeaf]
      nextLeaf += 1
      guard leaf.count > 0, let isCurrent = isCurrent(leaf, gap, walk), isCurrent || includesStale,
        let opened = load(leaf, isCurrent: isCurrent)
      else { continue }
      frontier = opened.key
      if isAt(opened, gap) { open.insert(opened) }
    }
  }

  /// Whether a leaf is of the newest state; nil if its keys lie elsewhere.
  private func isCurrent(_ leaf: SalvageLeaves.Leaf, _ gap: SalvageGap, _ walk: SalvageWalk?) -> Bool? {
    let hasFailed = walk?.failed[leaf.page] ?? false
    guard hasFailed || walk?.reached[leaf.page] != true else { return nil }
    return leaf.isCurrent && !hasFailed && !gap.isOtherVersion
  }

  private func load(_ leaf: SalvageLeaves.Leaf, isCurrent: Bool) -> OpenLeaf? {
    guard let isProven = read(leaf) else { return nil }
    return OpenLeaf(scratch, leaf, isCurrent: isCurrent, isProven: isProven, root.keyKind, room)
  }

  /// Reads a leaf into `scratch`. Returns whether it is proven; nil if it is not what it was.
  private func read(_ leaf: SalvageLeaves.Leaf) -> Bool? {
    scratchLeaf = 0
    do throws(SalvageDefect) {
      let isProven = try pages.load(leaf.page, checksum: nil, into: scratch)
      guard scratch.level == 0, scratch.count > 0, scratch.birth == leaf.birth,
        PageOrder.defect(in: scratch, of: root, within: KeyBounds(), pageSize: pages.pageSize, isTakenApart: true)
          == nil
      else { return nil }
      scratchLeaf = leaf.page
      return isProven
    } catch {
      return nil
    }
  }

  // MARK: Entries

  /// The page of an open leaf, good until the next one is asked for; nil if it can no longer be read.
  private func page(of opened: OpenLeaf) -> PageBytes? {
    if let page = opened.page { return page }
    guard scratchLeaf == opened.leaf.page || read(opened.leaf) != nil, opened.index < scratch.count else { return nil }
    return scratch
  }

  /// Goes to the next key of a leaf; false behind the last.
  private func advance(_ opened: OpenLeaf) -> Bool {
    opened.index += 1
    guard opened.index < opened.leaf.count, let page = page(of: opened), opened.index < page.count else { return false }
    opened.key = SalvageKey.bytes(page.leafKey(opened.index), root.keyKind)
    return true
  }
}

/// Memory for a bounded number of pages.
private final class PageRoom {
  private let pageSize: Int
  private let limit: Int
  private var count = 0

  init(pageSize: Int, limit: Int) { (self.pageSize, self.limit) = (pageSize, limit) }

  /// A copy of a page; nil if there is no room for one more.
  func copy(_ page: PageBytes) -> PageBytes? {
    guard count < limit else { return nil }
    count += 1
    let base = UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 16)
    base.copyMemory(from: page.base, byteCount: pageSize)
    return PageBytes(base)
  }

  /// Gives a copy back.
  func free(_ page: PageBytes) {
    assert(count > 0, "more pages are given back than were copied")
    count -= 1
    page.base.deallocate()
  }
}
