// Moving through a tree in key order, in both directions.

/// A position in a tree: on an entry, before the first one, behind the last, or behind the last one of a leaf.
///
/// The path is kept as references, and only the leaf's address across steps: when the access epoch has moved, the
/// caller calls `refresh` and the address is looked up again (hazard C3). Memory is a fixed array, freed with the
/// cursor.
///
/// A call that throws leaves the position as it was: the way to another leaf is gone on the spare path, which changes
/// places with the path once the leaf has been read.
///
/// Invariants:
/// 1. With a leaf, `path[i]` names the page at level `root.level - i` and the child taken, `path[leafDepth]` the leaf.
/// 2. The index in the leaf is -1 only in front of the tree's first entry, and otherwise in `0...leafCount`.
/// 3. `path` and `spare` are the two halves of `steps`; what `spare` holds has a meaning within a call only.
package struct CursorPath: ~Copyable {
  /// One level of the path: a page, and the child or entry taken in it.
  package struct Step {
    var reference: PageReference
    var checksum: UInt64
    var index: Int
  }

  private let reader: TreeReader
  package private(set) var root: TreeRoot
  private let steps: UnsafeMutablePointer<Step>
  private var path: UnsafeMutablePointer<Step>
  private var spare: UnsafeMutablePointer<Step>
  /// The place of the leaf in a path.
  private let leafDepth: Int
  private var leaf: PageBytes?
  /// The number of entries in `leaf`.
  private var leafCount = 0
  /// How many leaves the cursor has entered by steps in one direction since it was put somewhere; negative for
  /// backwards.
  private var leavesPassed = 0
  /// The parent whose leaves the disk was asked for, and the one behind it if it was asked for those too.
  private var asked = (parent: PageReference.none, next: PageReference.none)
  /// When memory is short: room for a copy of the leaf, so that between its steps the cursor holds no address of a page
  /// and nobody waits for it (hazard C3).
  private let copy: UnsafeMutableRawPointer?

  /// A cursor without a position. The reader's store must outlive it, and `root` must stay protected.
  ///
  /// - Parameter copies: whether the cursor works on a copy of its leaf: it must where its transaction gives up
  ///   addresses between calls, and must not elsewhere, since it gives up its epoch after each step then, and with it
  ///   that of everybody else in the transaction.
  package init(_ reader: TreeReader, _ root: TreeRoot, copies: Bool) {
    self.reader = reader
    self.root = root
    leafDepth = root.level
    steps = UnsafeMutablePointer.allocate(capacity: 2 * (root.level + 1))
    path = steps
    spare = steps + root.level + 1
    copy = copies ? UnsafeMutableRawPointer.allocate(byteCount: reader.pageSize, alignment: 16) : nil
  }

  deinit {
    steps.deallocate()
    copy?.deallocate()
  }

  /// Whether the leaf is the cursor's own copy.
  @inline(__always) package var hasCopy: Bool { copy != nil }

  /// Whether the cursor stands on an entry.
  @inline(__always) package var isOnEntry: Bool {
    guard leaf != nil else { return false }
    let index = path[leafDepth].index
    return index >= 0 && index < leafCount
  }

  /// The page and the index of the entry that the cursor stands on.
  @inline(__always) package var entry: (page: PageBytes, index: Int)? {
    guard let leaf, isOnEntry else { return nil }
    return (leaf, path[leafDepth].index)
  }

  /// The page of the entry that the cursor stands on, and the indices of that entry and those behind it in the page.
  @inline(__always) package var run: (page: PageBytes, indices: Range<Int>)? {
    guard let leaf, isOnEntry else { return nil }
    return (leaf, path[leafDepth].index..<leafCount)
  }

  /// The same, where the cursor may be behind the last entry of a leaf: then it goes on to the next leaf.
  @inline(__always) package mutating func runGoingOn() throws(StorageError) -> (page: PageBytes, indices: Range<Int>)? {
    if let run { return run }
    return try leaveEndOfLeaf() ? run : nil
  }

  /// Goes from behind the last entry of a leaf to the first one of the next; false, and the cursor stays, behind the
  /// last entry of the tree and elsewhere.
  @inline(never) package mutating func leaveEndOfLeaf() throws(StorageError) -> Bool {
    guard leaf != nil, path[leafDepth].index >= leafCount else { return false }
    return try leaveLeaf(1)
  }

  /// Steps over `count` entries of the run, and reads nothing; false behind the last entry of the leaf.
  @inline(__always) package mutating func pass(_ count: Int) -> Bool {
    let index = path[leafDepth].index &+ count
    assert(leaf != nil && index <= leafCount, "entries are passed over that are not in the leaf")
    path[leafDepth].index = index
    return index < leafCount
  }

  /// Steps over `count` entries, at most as many as there are in the run; false behind the last entry of the tree.
  package mutating func skip(_ count: Int) throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[leafDepth].index &+ count
    assert(index <= leafCount, "entries are skipped that are not in the leaf")
    if index == leafCount { return try leaveLeaf(1) }
    path[leafDepth].index = index
    return true
  }

  /// Looks the leaf's address up again. Called when addresses from before may have become invalid.
  package mutating func refresh() throws(StorageError) {
    guard leaf != nil, copy == nil else { return }
    leaf = try currentLeaf()
  }

  /// The leaf that the cursor is in, looked up once more. It has a position, and no copy.
  package func currentLeaf() throws(StorageError) -> PageBytes {
    let step = path[leafDepth]
    return try reader.page(step.reference, checksum: step.checksum, level: 0)
  }

  /// Goes to `key`, or to the first entry above it. Returns whether `key` itself was found.
  package mutating func seek(_ key: SearchKey) throws(StorageError) -> Bool {
    guard var page = try begin() else { return false }
    var depth = 0
    while depth < leafDepth {
      page = try push(page, page.childIndex(key), below: depth)
      depth &+= 1
    }
    let position = page.leafSearch(key)
    // The key may be above all keys of the leaf that its range covers; the next entry is then in the next leaf.
    if position.index == page.count, let next = try goToNeighbour(1, passed: 1) {
      settle(next, 0, passed: 1)
    } else {
      settle(page, position.index, passed: 0)
    }
    return position.isFound
  }

  /// Goes forwards to `key`, or to the first entry above it, and stays where it is if that is above already. A way down
  /// the tree only where the leaf at hand ends below `key`.
  package mutating func advance(to key: SearchKey) throws(StorageError) {
    guard let leaf, !leaf.isBelow(key) else {
      _ = try seek(key)
      return
    }
    let index = leaf.leafSearch(key).index
    if index > path[leafDepth].index {
      path[leafDepth].index = index
    } else if path[leafDepth].index == leafCount {
      _ = try leaveLeaf(1)
    }
  }

  /// Goes to entry `rank` in key order; false, without a position, if there are fewer.
  package mutating func seek(rank: Int) throws(StorageError) -> Bool {
    guard rank >= 0, rank < root.count, var page = try begin() else {
      leaf = nil
      return false
    }
    var rest = UInt64(rank)
    var depth = 0
    while depth < leafDepth {
      var index = 0
      while index < page.count - 1, rest >= ChildCount.count(page.counts[index]) {
        rest -= ChildCount.count(page.counts[index])
        index += 1
      }
      page = try push(page, index, below: depth)
      depth += 1
    }
    guard rest < UInt64(page.count) else {
      throw StorageError(.damagedPage, "The counts of a tree do not match its leaves. Restore a backup.")
    }
    settle(page, Int(rest), passed: 0)
    return true
  }

  /// Goes to the first entry; false if the tree is empty.
  package mutating func seekFirst() throws(StorageError) -> Bool { try seekEdge(last: false) }

  /// Goes to the last entry; false if the tree is empty.
  package mutating func seekLast() throws(StorageError) -> Bool { try seekEdge(last: true) }

  /// Steps to the next entry; false behind the last one.
  @inline(__always) package mutating func next() throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[leafDepth].index &+ 1
    if index >= leafCount { return try leaveLeaf(1) }
    path[leafDepth].index = index
    return true
  }

  /// Steps to the entry before; false in front of the first one.
  @inline(__always) package mutating func previous() throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[leafDepth].index &- 1
    if index < 0 { return try leaveLeaf(-1) }
    path[leafDepth].index = index
    return true
  }

  /// Moves by `distance`, 1 or -1, if that leads to another entry of the same leaf; otherwise changes nothing.
  @inline(__always) package mutating func stepInLeaf(_ distance: Int) -> Bool {
    guard leaf != nil else { return false }
    let index = path[leafDepth].index &+ distance
    guard index >= 0, index < leafCount else { return false }
    path[leafDepth].index = index
    return true
  }

  /// Begins a way down the spare path: the root's page; nil in an empty tree, where there is never a position.
  private mutating func begin() throws(StorageError) -> PageBytes? {
    asked = (.none, .none)
    if root.reference.isNone { return nil }
    spare[0] = Step(reference: root.reference, checksum: root.checksum, index: 0)
    return try reader.page(root.reference, checksum: root.checksum, level: root.level)
  }

  /// Takes child `index` of `page`, which is step `depth` of the spare path, for its next step, and reads it.
  @inline(__always)
  private func push(_ page: PageBytes, _ index: Int, below depth: Int) throws(StorageError) -> PageBytes {
    assert(depth >= 0 && depth < leafDepth, "a way goes below the leaves")
    let next = Step(
      reference: PageReference(rawValue: page.references[index]), checksum: page.checksums[index], index: 0)
    spare[depth].index = index
    spare[depth + 1] = next
    return try reader.page(next.reference, checksum: next.checksum, level: root.level - (depth + 1))
  }

  /// Makes the spare path, which ends in the leaf `page`, the path.
  private mutating func settle(_ page: PageBytes, _ index: Int, passed: Int) {
    assert(index >= 0 && index <= page.count, "a way ends beside its leaf")
    if let copy {
      copy.copyMemory(from: page.base, byteCount: reader.pageSize)
      leaf = PageBytes(copy)
    } else {
      leaf = page
    }
    leafCount = page.count
    leavesPassed = passed
    spare[leafDepth].index = index
    (path, spare) = (spare, path)
  }

  private mutating func seekEdge(last: Bool) throws(StorageError) -> Bool {
    guard var page = try begin() else { return false }
    var depth = 0
    while depth < leafDepth {
      page = try push(page, last ? page.count - 1 : 0, below: depth)
      depth += 1
    }
    settle(page, last ? max(page.count - 1, 0) : 0, passed: 0)
    return leafCount > 0
  }

  /// Goes to the nearest entry of the next leaf in direction `step`, 1 or -1; where there is none, the cursor stays
  /// behind the last entry or in front of the first one.
  @inline(never) private mutating func leaveLeaf(_ step: Int) throws(StorageError) -> Bool {
    for depth in 0..<leafDepth { spare[depth] = path[depth] }
    let passed = step > 0 ? max(leavesPassed, 0) + 1 : min(leavesPassed, 0) - 1
    guard let page = try goToNeighbour(step, passed: passed) else {
      path[leafDepth].index = step > 0 ? leafCount : -1
      return false
    }
    settle(page, step > 0 ? 0 : max(page.count - 1, 0), passed: passed)
    return leafCount > 0
  }

  /// Leads the spare path, whose branches are those above a leaf, to the leaf beside that one, and returns its page;
  /// nil, and the path is as it was, if there is none in that direction.
  private mutating func goToNeighbour(_ step: Int, passed: Int) throws(StorageError) -> PageBytes? {
    var depth = leafDepth
    while depth > 0 {
      depth &-= 1
      let above = spare[depth]
      var page = try reader.page(above.reference, checksum: above.checksum, level: root.level - depth)
      var index = above.index + step
      if index < 0 || index >= page.count { continue }
      while true {
        if depth == leafDepth - 1 { try lookAhead(page, index, step: step, passed: passed) }
        page = try push(page, index, below: depth)
        depth &+= 1
        if depth == leafDepth { return page }
        index = step > 0 ? 0 : page.count - 1
      }
    }
    return nil
  }

  /// Called before the cursor steps into the leaf at child `index` of `parent`, the `passed`-th in its direction.
  ///
  /// A scan brings a run of leaves into memory at a time, once it has shown to be one: a cursor that was put somewhere
  /// to read a few entries reads no page that it does not visit. While it is in one leaf, the first lines of the next
  /// are on their way.
  ///
  /// - Throws: `damagedPage` if the cursor has passed more leaves than the file can have: references that lead to one
  ///   page over and over would else keep a scan from ever coming to an end.
  private mutating func lookAhead(
    _ parent: PageBytes, _ index: Int, step: Int, passed: Int
  ) throws(StorageError) {
    if passed & (Self.leavesPerCheck - 1) == 0 { try check(passed: passed) }
    let access = reader.access
    if abs(passed) >= 2, access.residentPage(PageReference(rawValue: parent.references[index])) == nil {
      askAhead(parent, index, step: step)
      access.loadLeaves(of: parent, from: index, step: step)
    }
    let (next, afterNext) = (index + step, index + 2 * step)
    if next >= 0, next < parent.count { access.prefetchPage(PageReference(rawValue: parent.references[next])) }
    if afterNext >= 0, afterNext < parent.count {
      access.prefetchPlace(of: PageReference(rawValue: parent.references[afterNext]))
    }
  }

  /// How many leaves pass between two looks at how many there can be.
  private static let leavesPerCheck = 1 << 12

  @inline(never) private func check(passed: Int) throws(StorageError) {
    guard abs(passed) > reader.access.leafLimit else { return }
    throw StorageError(
      .damagedPage,
      "A tree has more leaves than its file has pages: references lead to one page twice. Restore a backup.",
      page: root.reference.isDirty ? nil : root.reference.pageNumber)
  }

  /// Makes the disk work ahead of a scan: asks for the leaves below a parent at the first of them, and for those below
  /// the next parent when half of this one's are done, so that there is always something to do.
  private mutating func askAhead(_ parent: PageBytes, _ index: Int, step: Int) {
    let reference = spare[leafDepth - 1].reference
    if asked.parent != reference {
      if asked.next != reference { reader.access.startReading(childrenOf: parent, from: index, step: step) }
      asked = (reference, .none)
    }
    let left = step > 0 ? parent.count - index : index + 1
    guard asked.next.isNone, left <= parent.count / 2, leafDepth > 1 else { return }
    // What is wrong with these pages is told when the scan comes to them.
    let above = spare[leafDepth - 2]
    guard
      let page = try? reader.page(above.reference, checksum: above.checksum, level: 2),
      (0..<page.count).contains(above.index + step),
      let next = try? reader.child(page, above.index + step, level: 1)
    else { return }
    reader.access.startReading(childrenOf: next, from: step > 0 ? 0 : next.count - 1, step: step)
    asked.next = PageReference(rawValue: page.references[above.index + step])
  }
}
