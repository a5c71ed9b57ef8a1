// Asking for the memory of paths, side by side, before they are edited one after the other.
//
// An edit below a random key waits for memory at each level, and for the lines of its leaf that a search begins with.
// The edits of a sorted batch are known in advance: the descents of the next ones take each step together, as lookups
// do in `LookupBatch.swift`, and find nothing out. What they have asked for has come when the edits want it.
//
// The rest of the leaf, which is copied from one end to the other, is left to the processor, which sees where a copy
// goes: to ask for sixteen leaves line by line keeps its few places for misses busy, and made a batch of 1000 random
// puts into a million rows a sixth slower (a quarter of a microsecond for a copy, in C as well).

/// Room for the descents of one window of operations. One allocation, used again and again.
struct PathPrefetcher: ~Copyable {
  /// One operation on its way down; without a page where the next one is not in memory.
  private struct Lane {
    var key: SearchKey
    var page: PageBytes?
    var index = 0
  }

  /// As many misses as the processors at hand keep in flight.
  static let capacity = 16

  private let lanes: UnsafeMutablePointer<Lane>

  init() { lanes = UnsafeMutablePointer.allocate(capacity: Self.capacity) }

  deinit { lanes.deallocate() }

  /// Asks for the pages on the way to the leaves of `operations`, at most `capacity`, as far as they are in memory, and
  /// for what a search of the leaves begins with. Loads nothing, and cannot fail.
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
        if level > 0 { child.prefetchBranchSearch() } else { child.prefetchPrefix() }
        lanes[lane].page = child
      }
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
