// Giving up whole trees, or subtrees of them, without reading their leaves.

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

  /// Notes that a reference is given up; false if one to the same page was before. Frames are never forged.
  mutating func claim(_ reference: PageReference) -> Bool {
    if reference.isDirty { return true }
    if seen[reference.rawValue] { return false }
    seen[reference.rawValue] = true
    return true
  }
}

extension TreeEditor {
  /// A branch page on the way through a subtree, and the child to look at next.
  private struct Visit {
    let page: PageBytes
    let level: Int
    var child = 0
  }

  /// Notes every page of a tree as replaced. Reads its branch pages, but no leaf.
  ///
  /// - Throws: `damagedPage` if two references lead to one page, or one leads to a branch of another tree. Also what
  ///   reading throws.
  package func supersedeAll(of root: TreeRoot) throws(StorageError) {
    forgetTail()
    if root.reference.isNone { return }
    var givenUp = GivenUpPages()
    try supersedeAll(below: root.reference, checksum: root.checksum, level: root.level, of: root, &givenUp)
  }

  /// Notes every page from `reference` down as replaced. Reads branch pages, each once, in key order; keeps one for
  /// each level.
  func supersedeAll(
    below reference: PageReference, checksum: UInt64, level: Int, of root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    guard level > 0 else { return try supersedeLeaf(reference, of: root, &givenUp) }
    var visits = [Visit(page: try giveUpBranch(reference, checksum, level: level, root, &givenUp), level: level)]
    while let visit = visits.last {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      if visit.level == 1 {
        for index in 0..<visit.page.count {
          try supersedeLeaf(PageReference(rawValue: visit.page.references[index]), of: root, &givenUp)
        }
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

  /// The one way out for leaves that go with the subtree they are in: a leaf that owns more than its page would have to
  /// be read here, which only what its parent says of it can tell.
  private func supersedeLeaf(
    _ reference: PageReference, of root: TreeRoot, _ givenUp: inout GivenUpPages
  ) throws(StorageError) {
    guard givenUp.claim(reference) else { throw sharedPage(reference, root) }
    supersede(reference, birth: reference.isDirty ? store.frames.birth(reference.frame) : 0)
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
