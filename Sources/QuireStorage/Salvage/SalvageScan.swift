// All leaves of a file, whatever refers to them.

/// Which leaves stand in a file: found by looking at every page, kept in 24 bytes for each.
struct SalvageScan {
  /// A leaf that can be used by itself.
  struct Leaf {
    /// The tree, and in the lowest bit the kind of its keys.
    fileprivate let owner: UInt64
    let page: UInt64
    let birth: UInt64

    var tree: UInt64 { owner >> 1 }
    var keyKind: KeyKind { owner & 1 == 0 ? .bytes : .int64 }
  }

  /// By tree and kind of keys, then by place.
  private(set) var leaves: [Leaf] = []

  /// Reads every page of the file once, but those that lie in holes.
  init(_ pages: SalvagePages) {
    let page = pages.makeBuffer()
    defer { page.base.deallocate() }
    var number: UInt64 = 2
    while number < pages.fileLimit {
      if Self.isLeaf(number, pages, page), page.treeID < UInt64(Limits.treeID) {
        let owner = page.treeID << 1 | (page.hasIntegerKeys ? 1 : 0)
        leaves.append(Leaf(owner: owner, page: number, birth: page.birth))
        number += 1
      } else {
        // A hole is no leaf.
        guard let next = pages.store.file.nextData(from: Int(number + 1) * pages.pageSize) else { break }
        number = max(number + 1, UInt64(next / pages.pageSize))
      }
    }
    leaves.sort { ($0.owner, $0.page) < ($1.owner, $1.page) }
  }

  private static func isLeaf(_ number: UInt64, _ pages: SalvagePages, _ page: PageBytes) -> Bool {
    do throws(SalvageDefect) { _ = try pages.load(number, checksum: nil, into: page) } catch { return false }
    return page.level == 0
  }

  /// The leaves of a tree.
  func leaves(of tree: TreeID, _ keyKind: KeyKind) -> ArraySlice<Leaf> {
    let owner = tree.rawValue << 1 | (keyKind == .int64 ? 1 : 0)
    let start = leaves.partitioningIndex { $0.owner >= owner }
    return leaves[start...].prefix { $0.owner == owner }
  }

  /// Calls `body` once for each tree and kind of keys, with its leaves.
  func forEachTree(_ body: (ArraySlice<Leaf>) -> Void) {
    var start = 0
    while start < leaves.count {
      let owner = leaves[start].owner
      let end = leaves[start...].partitioningIndex { $0.owner > owner }
      body(leaves[start..<end])
      start = end
    }
  }
}

extension RandomAccessCollection where Index == Int {
  /// The first index whose element, and all behind it, are in the second part; `endIndex` if none is. O(log n).
  func partitioningIndex(_ isInSecondPart: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if isInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
