// Moving through a tree in key order, in both directions.

/// A position in a tree: on an entry, before the first one, or behind the last.
///
/// The path is kept as references, and only the leaf's address across steps: when the access epoch has moved, the
/// caller calls `refresh` and the address is looked up again (hazard C3). Memory is a fixed array, freed with the
/// cursor.
///
/// Invariants:
/// 1. `depth` is 0 (no position) or the tree's number of levels.
/// 2. `path[i]` names the page at level `root.level - i` and the child taken; `path[depth - 1]` is the leaf.
package struct CursorPath: ~Copyable {
  /// One level of the path: a page, and the child or entry taken in it.
  package struct Step {
    var reference: PageReference
    var checksum: UInt64
    var index: Int
  }

  private let reader: TreeReader
  package private(set) var root: TreeRoot
  private let path: UnsafeMutablePointer<Step>
  private var depth = 0
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
    path = UnsafeMutablePointer.allocate(capacity: root.level + 1)
    copy = copies ? UnsafeMutableRawPointer.allocate(byteCount: reader.pageSize, alignment: 16) : nil
  }

  deinit {
    path.deallocate()
    copy?.deallocate()
  }

  /// Whether the leaf is the cursor's own copy.
  @inline(__always) package var hasCopy: Bool { copy != nil }

  /// Whether the cursor stands on an entry.
  @inline(__always) package var isOnEntry: Bool {
    guard leaf != nil else { return false }
    let index = path[depth &- 1].index
    return index >= 0 && index < leafCount
  }

  /// The page and the index of the entry that the cursor stands on.
  @inline(__always) package var entry: (page: PageBytes, index: Int)? {
    guard let leaf, isOnEntry else { return nil }
    return (leaf, path[depth &- 1].index)
  }

  /// The page of the entry that the cursor stands on, and the indices of that entry and those behind it in the page.
  @inline(__always) package var run: (page: PageBytes, indices: Range<Int>)? {
    guard let leaf, isOnEntry else { return nil }
    return (leaf, path[depth &- 1].index..<leafCount)
  }

  /// Steps over `count` entries, at most as many as there are in the run; false behind the last entry of the tree.
  package mutating func skip(_ count: Int) throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[depth &- 1].index &+ count
    path[depth &- 1].index = index
    if index < leafCount { return true }
    return try advanceLeaf()
  }

  /// Looks the leaf's address up again. Called when addresses from before may have become invalid.
  package mutating func refresh() throws(StorageError) {
    guard leaf != nil, copy == nil else { return }
    leaf = try currentLeaf()
  }

  /// The leaf that the cursor is in, looked up once more. It has a position, and no copy.
  package func currentLeaf() throws(StorageError) -> PageBytes {
    let step = path[depth - 1]
    return try reader.page(step.reference, checksum: step.checksum, level: 0)
  }

  /// Goes to `key`, or to the first entry above it. Returns whether `key` itself was found.
  package mutating func seek(_ key: SearchKey) throws(StorageError) -> Bool {
    leaf = nil
    guard start() else { return false }
    var page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    while depth <= root.level {
      let index = page.childIndex(key)
      path[depth - 1].index = index
      page = try push(page, index)
    }
    let position = page.leafSearch(key)
    settle(page, position.index)
    // The key may be above all keys of the leaf that its range covers; the next entry is then in the next leaf.
    if position.index == leafCount { _ = try advanceLeaf() }
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
    if index > path[depth &- 1].index { path[depth &- 1].index = index }
  }

  /// Goes to entry `rank` in key order; false, without a position, if there are fewer.
  package mutating func seek(rank: Int) throws(StorageError) -> Bool {
    leaf = nil
    guard rank >= 0, rank < root.count, start() else { return false }
    var rest = UInt64(rank)
    var page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    while depth <= root.level {
      var index = 0
      while index < page.count - 1, rest >= ChildCount.count(page.counts[index]) {
        rest -= ChildCount.count(page.counts[index])
        index += 1
      }
      path[depth - 1].index = index
      page = try push(page, index)
    }
    guard rest < UInt64(page.count) else {
      throw StorageError(.damagedPage, "The counts of a tree do not match its leaves. Restore a backup.")
    }
    settle(page, Int(rest))
    return true
  }

  /// Goes to the first entry; false if the tree is empty.
  package mutating func seekFirst() throws(StorageError) -> Bool { try seekEdge(last: false) }

  /// Goes to the last entry; false if the tree is empty.
  package mutating func seekLast() throws(StorageError) -> Bool { try seekEdge(last: true) }

  /// Steps to the next entry; false behind the last one.
  @inline(__always) package mutating func next() throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[depth &- 1].index &+ 1
    path[depth &- 1].index = index
    if index < leafCount { return true }
    return try advanceLeaf()
  }

  /// Steps to the entry before; false in front of the first one.
  @inline(__always) package mutating func previous() throws(StorageError) -> Bool {
    guard leaf != nil else { return false }
    let index = path[depth &- 1].index &- 1
    path[depth &- 1].index = index
    if index >= 0 { return true }
    return try retreatLeaf()
  }

  /// Moves by `distance`, 1 or -1, if that leads to another entry of the same leaf; otherwise changes nothing.
  @inline(__always) package mutating func stepInLeaf(_ distance: Int) -> Bool {
    guard leaf != nil else { return false }
    let index = path[depth &- 1].index &+ distance
    guard index >= 0, index < leafCount else { return false }
    path[depth &- 1].index = index
    return true
  }

  private mutating func start() -> Bool {
    depth = 0
    leavesPassed = 0
    asked = (.none, .none)
    if root.reference.isNone { return false }
    path[0] = Step(reference: root.reference, checksum: root.checksum, index: 0)
    depth = 1
    return true
  }

  /// Goes down to a child. A step from leaf to leaf says in which direction it goes.
  @inline(__always)
  private mutating func push(_ page: PageBytes, _ index: Int, step: Int = 0) throws(StorageError) -> PageBytes {
    if step != 0, depth == root.level { try lookAhead(page, index, step: step) }
    let next = Step(
      reference: PageReference(rawValue: page.references[index]), checksum: page.checksums[index], index: 0)
    path[depth] = next
    depth += 1
    return try reader.page(next.reference, checksum: next.checksum, level: root.level - (depth - 1))
  }

  private mutating func settle(_ page: PageBytes, _ index: Int) {
    if let copy {
      copy.copyMemory(from: page.base, byteCount: reader.pageSize)
      leaf = PageBytes(copy)
    } else {
      leaf = page
    }
    leafCount = page.count
    path[depth - 1].index = index
  }

  private mutating func seekEdge(last: Bool) throws(StorageError) -> Bool {
    leaf = nil
    guard start() else { return false }
    var page = try reader.page(root.reference, checksum: root.checksum, level: root.level)
    while depth <= root.level {
      let index = last ? page.count - 1 : 0
      path[depth - 1].index = index
      page = try push(page, index)
    }
    settle(page, last ? page.count - 1 : 0)
    return leafCount > 0
  }

  /// Goes to the first entry of the next leaf; at the end the cursor stays behind the last entry.
  @inline(never) private mutating func advanceLeaf() throws(StorageError) -> Bool {
    guard let ancestor = try climb({ index, count in index + 1 < count }) else {
      path[depth - 1].index = leafCount
      return false
    }
    // No position unless the whole way down can be read.
    leaf = nil
    depth = ancestor.depth
    let index = path[depth - 1].index + 1
    path[depth - 1].index = index
    var page = try push(ancestor.page, index, step: 1)
    while depth <= root.level {
      path[depth - 1].index = 0
      page = try push(page, 0, step: 1)
    }
    settle(page, 0)
    return leafCount > 0
  }

  /// Goes to the last entry of the leaf before; at the start the cursor stays in front of the first entry.
  @inline(never) private mutating func retreatLeaf() throws(StorageError) -> Bool {
    guard let ancestor = try climb({ index, _ in index > 0 }) else {
      path[depth - 1].index = -1
      return false
    }
    // No position unless the whole way down can be read.
    leaf = nil
    depth = ancestor.depth
    let index = path[depth - 1].index - 1
    path[depth - 1].index = index
    var page = try push(ancestor.page, index, step: -1)
    while depth <= root.level {
      let index = page.count - 1
      path[depth - 1].index = index
      page = try push(page, index, step: -1)
    }
    settle(page, page.count - 1)
    return leafCount > 0
  }

  /// Called before the cursor steps into the leaf at child `index` of `parent`.
  ///
  /// A scan brings a run of leaves into memory at a time, once it has shown to be one: a cursor that was put somewhere
  /// to read a few entries reads no page that it does not visit. While it is in one leaf, the first lines of the next
  /// are on their way.
  ///
  /// - Throws: `damagedPage` if the cursor has passed more leaves than the file can have: references that lead to one
  ///   page over and over would else keep a scan from ever coming to an end.
  private mutating func lookAhead(_ parent: PageBytes, _ index: Int, step: Int) throws(StorageError) {
    leavesPassed = step > 0 ? max(leavesPassed, 0) + 1 : min(leavesPassed, 0) - 1
    if leavesPassed & (Self.leavesPerCheck - 1) == 0 { try checkLeavesPassed() }
    let access = reader.access
    if abs(leavesPassed) >= 2, access.residentPage(PageReference(rawValue: parent.references[index])) == nil {
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

  @inline(never) private func checkLeavesPassed() throws(StorageError) {
    guard abs(leavesPassed) > reader.access.leafLimit else { return }
    throw StorageError(
      .damagedPage,
      "A tree has more leaves than its file has pages: references lead to one page twice. Restore a backup.",
      page: root.reference.isDirty ? nil : root.reference.pageNumber)
  }

  /// Makes the disk work ahead of a scan: asks for the leaves below a parent at the first of them, and for those below
  /// the next parent when half of this one's are done, so that there is always something to do.
  private mutating func askAhead(_ parent: PageBytes, _ index: Int, step: Int) {
    let reference = path[depth - 1].reference
    if asked.parent != reference {
      if asked.next != reference { reader.access.startReading(childrenOf: parent, from: index, step: step) }
      asked = (reference, .none)
    }
    let left = step > 0 ? parent.count - index : index + 1
    guard asked.next.isNone, left <= parent.count / 2, depth > 1 else { return }
    // What is wrong with these pages is told when the scan comes to them.
    let above = path[depth - 2]
    guard
      let page = try? reader.page(above.reference, checksum: above.checksum, level: 2),
      (0..<page.count).contains(above.index + step),
      let next = try? reader.child(page, above.index + step, level: 1)
    else { return }
    reader.access.startReading(childrenOf: next, from: step > 0 ? 0 : next.count - 1, step: step)
    asked.next = PageReference(rawValue: page.references[above.index + step])
  }

  /// The nearest ancestor of the leaf that can move as asked.
  private func climb(
    _ canMove: (Int, Int) -> Bool
  ) throws(StorageError) -> (page: PageBytes, depth: Int)? {
    var level = depth - 1
    while level > 0 {
      let step = path[level - 1]
      let page = try reader.page(step.reference, checksum: step.checksum, level: root.level - (level - 1))
      if canMove(step.index, page.count) { return (page, level) }
      level -= 1
    }
    return nil
  }
}
