// Giving up whole trees, or subtrees of them, without reading their leaves unless these may hold extents.

/// The pages of the file that one operation has given up, by number.
///
/// A hostile file can hold two references to one page, in one tree or in two. What that could do, and what stops it:
///
/// - *Walk the same pages for ever, or exponentially often*: `claim` throws at the second reference within one
///   operation, and levels fall by one from page to page.
/// - *Make one place free twice*: across operations, `PageAllocator.supersede` refuses a place that is free, or given
///   up already.
/// - *Have a place given out while another reference leads there.* Nobody knows whether an unread leaf is a page of
///   this tree at all. So from there on nothing relies on it: its slot in memory waits for the access epoch like one
///   that readers are inside of (`Reclaimer`); a place that is in memory when it is to be written is refused
///   (`PageWriter`); a page that has been overwritten does not have the checksum that the other reference expects,
///   which loading checks, and before an edit the writer (`TreeEditor.notTheVersion`). Readers that come by the table
///   find whole, valid pages, with the wrong entries, as befits a file that says so.
struct GivenUpPages {
  private var seen = PageBits()
  private var leaves: LeafSource?

  /// Where leaves that may hold extents are read.
  mutating func leafSource(_ editor: TreeEditor) -> LeafSource {
    if let leaves { return leaves }
    let made = LeafSource(editor)
    leaves = made
    return made
  }

  /// Notes that a reference is given up; false if one to the same page was before. Frames are never forged.
  mutating func claim(_ reference: PageReference) -> Bool {
    if reference.isDirty { return true }
    if seen[reference.rawValue] { return false }
    seen[reference.rawValue] = true
    return true
  }

  /// Notes that an extent of `count` pages is given up; the first page of it that was given up before, or nil.
  mutating func claim(_ extent: ExtentReference, pageCount count: Int) -> PageNumber? {
    for number in extent.first.rawValue..<(extent.first.rawValue + UInt64(count)) {
      if seen[number] { return PageNumber(number) }
      seen[number] = true
    }
    return nil
  }
}

extension TreeEditor {
  /// A branch page on the way through a subtree, and the child to look at next.
  private struct Visit {
    let page: PageBytes
    let level: Int
    var child = 0
  }

  /// Notes every page of a tree as replaced. Reads its branch pages, and of its leaves those that may hold extents.
  ///
  /// - Throws: `damagedPage` if two references lead to one page, or one leads to a branch of another tree. Also what
  ///   reading throws.
  package func supersedeAll(of root: TreeRoot) throws(StorageError) {
    forgetRightmostLeaf()
    if root.reference.isNone { return }
    var givenUp = GivenUpPages()
    if root.level > 0 {
      try supersedeAll(below: root.reference, checksum: root.checksum, level: root.level, of: root, &givenUp)
    } else if try supersedeLeaf(root.reference, isUnread: !root.mayHaveExtents, of: root, &givenUp) {
      let leaf = try reader.page(root.reference, checksum: root.checksum, level: 0)
      try supersedeLeaf(leaf, root.reference, root.checksum, of: root, &givenUp)
    }
  }

  /// Notes child `index` of a branch, with everything below, as replaced.
  ///
  /// - Parameter level: the child's.
  func supersedeAll(
    belowChild index: Int, of branch: PageBytes, level: Int, in root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    guard level > 0 else { return try supersedeLeaf(index, of: branch, in: root, &givenUp) }
    try supersedeAll(
      below: PageReference(rawValue: branch.references[index]), checksum: branch.checksums[index], level: level,
      of: root, &givenUp)
  }

  /// Notes every page from the branch `reference` down as replaced. Reads branch pages, each once, in key order; keeps
  /// one for each level.
  private func supersedeAll(
    below reference: PageReference, checksum: UInt64, level: Int, of root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    var visits = [Visit(page: try giveUpBranch(reference, checksum, level: level, root, &givenUp), level: level)]
    while let visit = visits.last {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      if visit.level == 1 {
        for index in 0..<visit.page.count { try supersedeLeaf(index, of: visit.page, in: root, &givenUp) }
        visits.removeLast()
        continue
      }
      visits[visits.count - 1].child += 1
      let child = PageReference(rawValue: visit.page.references[visit.child])
      let page = try giveUpBranch(
        child, visit.page.checksums[visit.child], level: visit.level - 1, root, &givenUp)
      visits.append(Visit(page: page, level: visit.level - 1))
    }
  }

  /// The way out for leaves that go with the subtree they are in. One that may own more than its page, which its parent
  /// says, is read.
  private func supersedeLeaf(
    _ index: Int, of branch: PageBytes, in root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    let reference = PageReference(rawValue: branch.references[index])
    let isUnread = !ChildCount.mayHaveExtents(branch.counts[index])
    guard try supersedeLeaf(reference, isUnread: isUnread, of: root, &givenUp) else { return }
    let leaf = try givenUp.leafSource(self).leaf(index, of: branch, readsAhead: true)
    try supersedeLeaf(leaf, reference, branch.checksums[index], of: root, &givenUp)
  }

  /// Notes a leaf as replaced if it `isUnread`; otherwise returns true, and it must be read.
  private func supersedeLeaf(
    _ reference: PageReference, isUnread: Bool, of root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) -> Bool {
    guard givenUp.claim(reference) else { throw sharedPage(reference, root) }
    if isUnread { supersede(reference, birth: reference.isDirty ? store.frames.birth(reference.frame) : 0) }
    return !isUnread
  }

  /// Notes a leaf that was read as replaced, and its extents.
  private func supersedeLeaf(
    _ leaf: PageBytes, _ reference: PageReference, _ checksum: UInt64, of root: TreeRoot,
    _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    if !reference.isDirty {
      guard leaf.checksum == checksum else { throw notTheVersion(reference) }
      guard leaf.treeID == root.id.rawValue else { throw sharedPage(reference, root) }
    }
    try supersedeExtents(in: leaf, 0..<leaf.count, &givenUp)
    supersede(reference, leaf)
  }

  /// Notes a branch page as replaced, and returns it.
  private func giveUpBranch(
    _ reference: PageReference, _ checksum: UInt64, level: Int, _ root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) -> PageBytes {
    guard givenUp.claim(reference) else { throw sharedPage(reference, root) }
    let page = try reader.page(reference, checksum: checksum, level: level)
    if !reference.isDirty {
      guard page.checksum == checksum else { throw notTheVersion(reference) }
      guard page.treeID == root.id.rawValue else { throw sharedPage(reference, root) }
    }
    supersede(reference, page)
    return page
  }

  private func sharedPage(_ reference: PageReference, _ root: TreeRoot) -> StorageError {
    store.damaged(reference, "\(root.id) refers to it, but not alone")
  }
}
