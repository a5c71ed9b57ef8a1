// The full check of trees: every page, from the roots down.

/// Walks trees and collects what is wrong with them.
///
/// For every page below a root: it loads and verifies; level, kind of keys and tree are those of the root; its keys are
/// strictly ascending, agree with their heads and lie between the separators above; its space adds up; the count that
/// its parent has of it is right; and no other path leads to it. The walk keeps one page for each level and never
/// recurses, so a damaged tree can neither exhaust the stack nor run in a circle.
///
/// Several trees may be walked one after the other: a page that two of them share is a defect.
package final class TreeVerifier {
  /// A page on the way down, and the child to look at next.
  private struct Visit {
    let page: PageBytes
    let bounds: KeyBounds
    /// Whether it stands in the file: it must then refer to such pages only.
    let isClean: Bool
    var child = 0
  }

  private let store: PageStore
  private let pages: WalkPages
  /// The newest commit that may have made a page.
  private let newestBirth: UInt64
  private let defectLimit: Int
  private var visits: [Visit] = []
  private var reached = PageBits()
  private var reachedFrames = PageBits()
  /// What is wrong, in the order it was found; never more than the limit.
  package private(set) var defects: [StorageError] = []
  /// Pages looked at.
  package private(set) var pageCount = 0
  /// Entries in the leaves looked at.
  package private(set) var entryCount = 0

  /// - Parameters:
  ///   - store: what the pages belong to.
  ///   - pages: where the walk takes them from.
  ///   - newestBirth: the commit of the snapshot that the roots are from.
  ///   - defectLimit: the walk ends when it has found so many defects.
  package init(_ store: PageStore, _ pages: WalkPages, newestBirth: CSN, defectLimit: Int = 100) {
    self.store = store
    self.pages = pages
    self.newestBirth = newestBirth.rawValue
    self.defectLimit = max(1, defectLimit)
  }

  /// Whether there is no point in going on.
  package var isFull: Bool { defects.count >= defectLimit }

  /// Whether page `number` has been reached.
  package func hasReached(_ number: PageNumber) -> Bool { reached[number.rawValue] }

  /// The number of pages of the file that have been reached.
  package var reachedCount: Int { reached.count }

  /// Enters a defect that was found elsewhere.
  package func note(_ defect: StorageError) {
    if !isFull { defects.append(defect) }
  }

  /// Enters a page that is no tree's; a page that was reached before is a defect.
  package func reach(_ number: PageNumber) {
    if reached[number.rawValue] {
      note(store.damaged(PageReference(number), "two references lead to it"))
    }
    reached[number.rawValue] = true
  }

  /// Checks the tree at `root`; touches every page of it once.
  ///
  /// - Parameter look: called with every page that loads, leaves in key order; an error that it throws ends the walk.
  package func verify(_ root: TreeRoot, look: (PageBytes) throws -> Void = { _ in }) throws {
    guard !root.reference.isNone else {
      if root.count != 0 { note(inTree(root, "it has no pages but \(root.count) entries")) }
      return
    }
    visits.removeAll(keepingCapacity: true)
    try enter(
      root.reference, checksum: root.checksum, level: root.level, count: UInt64(bitPattern: Int64(root.count)),
      KeyBounds(), root, parentIsClean: !root.reference.isDirty, look)
    while let visit = visits.last, !isFull {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      visits[visits.count - 1].child += 1
      let (page, index) = (visit.page, visit.child)
      try enter(
        PageReference(rawValue: page.references[index]), checksum: page.checksums[index], level: page.level - 1,
        count: page.counts[index], visit.bounds.child(index, of: page), root, parentIsClean: visit.isClean, look)
    }
  }

  /// Looks at a page; goes on with its children if it is a branch.
  private func enter(
    _ reference: PageReference, checksum: UInt64, level: Int, count: UInt64, _ bounds: KeyBounds, _ root: TreeRoot,
    parentIsClean: Bool, _ look: (PageBytes) throws -> Void
  ) throws {
    guard let isClean = claim(reference, parentIsClean: parentIsClean, root) else { return }
    let page: PageBytes
    do throws(StorageError) {
      page = try pages.page(reference, checksum: checksum, level: level)
    } catch {
      return note(error)
    }
    pageCount += 1
    if !isClean || reference.isDirty {
      // Made by this process and never loaded: a mistake of ours would show here.
      let defect = PageValidation.defect(
        in: page, pageSize: store.pageSize, pageCount: store.pageCount, allowsFrames: !isClean)
      if let defect { return note(store.damaged(reference, defect)) }
      guard page.level == level else { return note(store.damaged(reference, "its level is not \(level)")) }
    }
    if let defect = PageOrder.defect(in: page, of: root, within: bounds, pageSize: store.pageSize) {
      note(store.damaged(reference, defect))
    }
    if page.birth > newestBirth {
      note(store.damaged(reference, "it was made by \(CSN(page.birth)), after the snapshot"))
    }
    let entries = page.entryCount()
    if UInt64(bitPattern: Int64(entries)) != count {
      note(store.damaged(reference, "it has \(entries) entries where its parent counts \(count)"))
    }
    if level > 0 {
      visits.append(Visit(page: page, bounds: bounds, isClean: isClean))
    } else {
      entryCount += entries
    }
    try look(page)
  }

  /// Notes that a reference leads to its page. Nil if another did before, or if it must not stand where it does;
  /// otherwise whether the page stands in the file.
  private func claim(_ reference: PageReference, parentIsClean: Bool, _ root: TreeRoot) -> Bool? {
    var number = reference.pageNumber
    if reference.isDirty {
      guard !parentIsClean else {
        note(inTree(root, "a page of the file refers to a page in memory"))
        return nil
      }
      guard !reachedFrames[UInt64(reference.frame.rawValue)] else {
        note(inTree(root, "two references lead to one dirty page"))
        return nil
      }
      reachedFrames[UInt64(reference.frame.rawValue)] = true
      let location = store.frames.location(reference.frame)
      guard location.isPageNumber else { return false }
      number = location.pageNumber
    }
    guard number.rawValue >= 2, number.rawValue < store.pageCount else {
      note(store.damaged(PageReference(number), "a reference of \(root.id) names it, but the file does not have it"))
      return nil
    }
    guard !reached[number.rawValue] else {
      note(store.damaged(PageReference(number), "two references lead to it, the second from \(root.id)"))
      return nil
    }
    reached[number.rawValue] = true
    return true
  }

  private func inTree(_ root: TreeRoot, _ defect: String) -> StorageError {
    StorageError(
      .damagedPage, "\(root.id) is damaged: \(defect). Restore the database from a backup.", path: store.file.path)
  }
}
