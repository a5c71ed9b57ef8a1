// Asking for the memory of whole paths, side by side, before they are edited one after the other.
//
// An edit below a random key waits for memory at each level, and for a leaf, all of which it copies, at each of its
// lines. The edits of a sorted batch are known in advance: the descents of the next ones take each step together, as
// lookups do in `LookupBatch.swift`, and find nothing out. What they have asked for has come when the edits want it.

/// Room for the descents of one window of operations. One allocation, used again and again.
struct PathPrefetcher: ~Copyable {
  /// One operation on its way down; without a page where the next one is not in memory.
  private struct Lane {
    var key: SearchKey
    var page: PageBytes?
    var index = 0
  }

  /// As many misses as the processors at hand keep in flight; leaves of so many pages fit their second caches.
  static let capacity = 16

  private let lanes: UnsafeMutablePointer<Lane>

  init() { lanes = UnsafeMutablePointer.allocate(capacity: Self.capacity) }

  deinit { lanes.deallocate() }

  /// Asks for the pages on the way to the leaves of `operations`, at most `capacity`, as far as they are in memory, and
  /// for all that the leaves hold. Loads nothing, and cannot fail.
  func prefetch(_ operations: UnsafeBufferPointer<SortableOperation>, in root: TreeRoot, _ access: PageAccess) {
    guard !root.reference.isNone, let top = access.residentPage(root.reference), top.level == root.level else { return }
    let count = min(operations.count, Self.capacity)
    for lane in 0..<count {
      (lanes + lane).initialize(to: Lane(key: operations[lane].searchKey(root.keyKind), page: top))
    }
    var level = root.level
    while level > 0 {
      level &-= 1
      chooseChildren(count, access)
      for lane in 0..<count {
        guard let page = lanes[lane].page else { continue }
        let reference = PageReference(rawValue: page.references[lanes[lane].index])
        // Looked at as in a descent: no page is taken for what it is not.
        guard let child = access.residentPage(reference), child.level == level else {
          lanes[lane].page = nil
          continue
        }
        if level > 0 { child.prefetchBranchSearch() }
        lanes[lane].page = child
      }
    }
    for lane in 0..<count {
      if let leaf = lanes[lane].page { leaf.prefetchLines(from: leaf.cellStart, through: access.lastLine) }
    }
  }

  /// Finds the child of each descent, and asks for its first lines.
  private func chooseChildren(_ count: Int, _ access: PageAccess) {
    for lane in 0..<count {
      guard let page = lanes[lane].page else { continue }
      let index = page.childIndex(lanes[lane].key)
      page.prefetchReference(index)
      page.prefetchCount(index)
      lanes[lane].index = index
    }
    for lane in 0..<count {
      guard let page = lanes[lane].page else { continue }
      access.prefetchPlace(of: PageReference(rawValue: page.references[lanes[lane].index]))
    }
    for lane in 0..<count {
      guard let page = lanes[lane].page else { continue }
      access.prefetchPage(PageReference(rawValue: page.references[lanes[lane].index]))
    }
  }
}
