// The way from a tree's root to one of its leaves, and what the pages on it say of the others.

/// One level of the way from the root to a leaf.
struct PathStep {
  var page: PageBytes
  var reference: PageReference
  /// The child taken, or the entry in the leaf.
  var index: Int
}

/// The steps from the root down, in memory that is allocated once.
///
/// Invariants:
/// 1. `0 <= depth <= Limits.treeLevels + 1`; the first `depth` steps are set.
/// 2. Each of them but the last one is a branch, and the child that it takes is the next one's page.
struct TreePath {
  private let steps: UnsafeMutablePointer<PathStep>
  /// The number of steps; the last one is the leaf, once the way has been gone to its end.
  var depth = 0

  /// Memory for the deepest tree; `deallocate` ends it.
  init() { steps = UnsafeMutablePointer.allocate(capacity: Limits.treeLevels + 1) }

  func deallocate() { steps.deallocate() }

  /// Step `level`, counted from the root. One behind `depth` may be set, not read.
  @inline(__always) subscript(_ level: Int) -> PathStep {
    unsafeAddress { UnsafePointer(steps + level) }
    nonmutating unsafeMutableAddress { steps + level }
  }

  /// Adds a step.
  @inline(__always) mutating func append(_ step: PathStep) {
    assert(depth <= Limits.treeLevels, "a way is no longer than the deepest tree")
    steps[depth] = step
    depth &+= 1
  }

  /// The steps, to come back to.
  var copy: [PathStep] { (0..<depth).map { steps[$0] } }

  /// Goes the way of a copy again.
  mutating func set(_ copy: [PathStep]) {
    assert(copy.count <= Limits.treeLevels + 1, "a way is no longer than the deepest tree")
    depth = copy.count
    for level in 0..<depth { steps[level] = copy[level] }
  }

  /// Takes over another way.
  mutating func set(_ other: TreePath) {
    depth = other.depth
    for level in 0..<depth { steps[level] = other.steps[level] }
  }

  /// The number of entries in front of the place that the way leads to.
  var rank: Int {
    assert(depth > 0, "the way has been gone")
    return (0..<(depth - 1)).reduce(self[depth - 1].index) {
      $0 + self[$1].page.countBelow(childrenBefore: self[$1].index)
    }
  }

  /// What the page of step `level` may hold, as the separators above it say.
  func bounds(ofPageAt level: Int) -> KeyBounds {
    var bounds = KeyBounds()
    for above in 0..<level { bounds = bounds.child(self[above].index, of: self[above].page) }
    return bounds
  }

  /// Whether the page of step `level` is the last one of its level.
  @inline(__always) func isRightmost(at level: Int) -> Bool {
    assert(level <= depth, "the level is one of the way's, or the one that comes next")
    var above = 0
    while above < level {
      if self[above].index != self[above].page.count &- 1 { return false }
      above &+= 1
    }
    return true
  }

  /// The separator behind the page of step `level`; nil for the last one of its level.
  func upperBound(ofPageAt level: Int) -> SplitKey? {
    var above = level - 1
    while above >= 0 {
      let step = self[above]
      if step.index + 1 < step.page.count { return step.page.branchKey(step.index + 1) }
      above -= 1
    }
    return nil
  }

  /// The separator behind the page at the end of the way; nil for the last one.
  var upperBound: SplitKey? { upperBound(ofPageAt: depth - 1) }

  /// Adds `change` to what the branches above the last step count.
  @inline(__always) func adjustCounts(by change: Int) {
    var level = 0
    while level < depth &- 1 {
      self[level].page.counts[self[level].index] &+= UInt64(bitPattern: Int64(change))
      level &+= 1
    }
  }

  /// Says in the branches above the last step, all of them private, that leaves below may hold extents.
  func noteExtents() {
    for level in 0..<(depth - 1) { self[level].page.counts[self[level].index] |= ChildCount.extentBit }
  }
}
