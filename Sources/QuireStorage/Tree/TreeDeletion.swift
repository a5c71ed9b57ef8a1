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

/// Gives up trees and subtrees of the running transaction, with everything below.
struct TreeDeletion {
  private let editor: TreeEditor
  private var givenUp = GivenUpPages()

  init(_ editor: TreeEditor) { self.editor = editor }

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
  mutating func delete(_ root: TreeRoot) throws(StorageError) {
    editor.forgetRightmostLeaf()
    if root.reference.isNone { return }
    if root.level > 0 {
      try deleteSubtree(root.reference, checksum: root.checksum, level: root.level, of: root)
    } else if try deleteLeaf(root.reference, isUnread: !root.mayHaveExtents, of: root) {
      let leaf = try editor.reader.page(root.reference, checksum: root.checksum, level: 0)
      try deleteLeaf(leaf, root.reference, root.checksum, of: root)
    }
  }

  /// Notes child `index` of a branch, with everything below, as replaced.
  ///
  /// - Parameter level: the child's.
  mutating func delete(
    child index: Int, of branch: PageBytes, level: Int, in root: TreeRoot
  ) throws(StorageError) {
    guard level > 0 else { return try deleteLeaf(index, of: branch, in: root) }
    try deleteSubtree(
      PageReference(rawValue: branch.references[index]), checksum: branch.checksums[index], level: level,
      of: root)
  }

  /// Notes every page from the branch `reference` down as replaced. Reads branch pages, each once, in key order; keeps
  /// one for each level.
  private mutating func deleteSubtree(
    _ reference: PageReference, checksum: UInt64, level: Int, of root: TreeRoot
  ) throws(StorageError) {
    var visits = [Visit(page: try giveUpBranch(reference, checksum, level: level, root), level: level)]
    while let visit = visits.last {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      if visit.level == 1 {
        for index in 0..<visit.page.count { try deleteLeaf(index, of: visit.page, in: root) }
        visits.removeLast()
        continue
      }
      visits[visits.count - 1].child += 1
      let child = PageReference(rawValue: visit.page.references[visit.child])
      let page = try giveUpBranch(
        child, visit.page.checksums[visit.child], level: visit.level - 1, root)
      visits.append(Visit(page: page, level: visit.level - 1))
    }
  }

  /// The way out for leaves that go with the subtree they are in. One that may own more than its page, which its parent
  /// says, is read.
  private mutating func deleteLeaf(
    _ index: Int, of branch: PageBytes, in root: TreeRoot
  ) throws(StorageError) {
    let reference = PageReference(rawValue: branch.references[index])
    let isUnread = !ChildCount.mayHaveExtents(branch.counts[index])
    guard try deleteLeaf(reference, isUnread: isUnread, of: root) else { return }
    let leaf = try givenUp.leafSource(editor).leaf(index, of: branch, readsAhead: true)
    try deleteLeaf(leaf, reference, branch.checksums[index], of: root)
  }

  /// Notes a leaf as replaced if it `isUnread`; otherwise returns true, and it must be read.
  private mutating func deleteLeaf(
    _ reference: PageReference, isUnread: Bool, of root: TreeRoot
  ) throws(StorageError) -> Bool {
    guard givenUp.claim(reference) else { throw sharedPage(reference, root) }
    if isUnread {
      let birth = reference.isDirty ? editor.store.frames.birth(reference.frame) : 0
      editor.pages.supersede(reference, birth: birth)
    }
    return !isUnread
  }

  /// Notes a leaf that was read as replaced, and its extents.
  private mutating func deleteLeaf(
    _ leaf: PageBytes, _ reference: PageReference, _ checksum: UInt64, of root: TreeRoot
  ) throws(StorageError) {
    if !reference.isDirty {
      guard leaf.checksum == checksum else { throw editor.notTheVersion(reference) }
      guard leaf.treeID == root.id.rawValue else { throw sharedPage(reference, root) }
    }
    try deleteEntries(0..<leaf.count, of: leaf)
    editor.pages.supersede(reference, leaf)
  }

  /// Notes the extents of some entries of a leaf as replaced; the leaf itself may stay.
  mutating func deleteEntries(_ range: Range<Int>, of leaf: PageBytes) throws(StorageError) {
    try editor.pages.supersedeExtents(in: leaf, range, &givenUp)
  }

  /// Notes a branch page as replaced, and returns it.
  private mutating func giveUpBranch(
    _ reference: PageReference, _ checksum: UInt64, level: Int, _ root: TreeRoot
  ) throws(StorageError) -> PageBytes {
    guard givenUp.claim(reference) else { throw sharedPage(reference, root) }
    let page = try editor.reader.page(reference, checksum: checksum, level: level)
    if !reference.isDirty {
      guard page.checksum == checksum else { throw editor.notTheVersion(reference) }
      guard page.treeID == root.id.rawValue else { throw sharedPage(reference, root) }
    }
    editor.pages.supersede(reference, page)
    return page
  }

  private func sharedPage(_ reference: PageReference, _ root: TreeRoot) -> StorageError {
    editor.store.damaged(reference, "\(root.id) refers to it, but not alone")
  }
}
