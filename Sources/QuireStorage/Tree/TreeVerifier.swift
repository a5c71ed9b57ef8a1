// The full check of trees: every page, from the roots down.

/// Walks trees and collects what is wrong with them.
///
/// For every page below a root: it loads and verifies; level, kind of keys and tree are those of the root; its keys are
/// strictly ascending, agree with their heads and lie between the separators above; its space adds up; the count that
/// its parent has of it is right; and no other path leads to it. Every chunk of every extent is read from the file, or
/// from memory if it has yet to be written there, and verified, no other reference leads to its pages, and all pages
/// above say that there are extents.
///
/// The walk keeps one page for each level and never
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
    /// Whether its own parent says that leaves below may hold extents.
    let mayHaveExtents: Bool
    var child = 0
  }

  private let store: PageStore
  private let pages: WalkPages
  /// The newest commit that may have made a page.
  private let newestBirth: UInt64
  private let defectLimit: Int
  private let readsExtents: Bool
  private let knownBirth: UInt64
  private var visits: [Visit] = []
  private var reached = PageBits()
  private var reachedFrames = PageBits()
  /// What is wrong, in the order it was found; never more than the limit.
  package private(set) var defects: [StorageError] = []
  /// Pages looked at.
  package private(set) var pageCount = 0
  /// Entries in the leaves looked at.
  package private(set) var entryCount = 0
  /// Extents of these leaves.
  package private(set) var extentCount = 0
  /// Pages of these extents.
  package private(set) var extentPageCount = 0
  /// Bytes of the values in these extents.
  package private(set) var extentByteCount = 0

  /// - Parameters:
  ///   - store: what the pages belong to.
  ///   - pages: where the walk takes them from.
  ///   - newestBirth: the commit of the snapshot that the roots are from.
  ///   - defectLimit: the walk ends when it has found so many defects.
  ///   - readsExtents: false to leave out the bytes of long values, and look at the references to them alone.
  ///   - knownBirth: the bytes of long values that were written up to this commit are left out.
  package init(
    _ store: PageStore, _ pages: WalkPages, newestBirth: CSN, defectLimit: Int = 100, readsExtents: Bool = true,
    knownBirth: CSN = CSN(0)
  ) {
    self.knownBirth = knownBirth.rawValue
    self.store = store
    self.pages = pages
    self.newestBirth = newestBirth.rawValue
    self.defectLimit = max(1, defectLimit)
    self.readsExtents = readsExtents
  }

  /// Whether there is no point in going on.
  package var isFull: Bool { defects.count >= defectLimit }

  /// Whether page `number` has been reached.
  package func hasReached(_ number: PageNumber) -> Bool { reached[number.rawValue] }

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
  /// - Parameters:
  ///   - look: called with every page that loads, leaves in key order; an error that it throws ends the walk.
  ///   - afterExtent: called behind every extent; an error that it throws ends the walk.
  package func verify(
    _ root: TreeRoot, look: (PageBytes) throws -> Void = { _ in }, afterExtent: () throws -> Void = {}
  ) throws {
    guard !root.reference.isNone else {
      if root.count != 0 { note(inTree(root, "it has no pages but \(root.count) entries")) }
      return
    }
    visits.removeAll(keepingCapacity: true)
    try enter(
      root.reference, checksum: root.checksum, level: root.level, count: UInt64(bitPattern: Int64(root.count)),
      KeyBounds(), root, parentIsClean: !root.reference.isDirty, mayHaveExtents: root.mayHaveExtents, afterExtent, look)
    while let visit = visits.last, !isFull {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      visits[visits.count - 1].child += 1
      let (page, index) = (visit.page, visit.child)
      let word = page.counts[index]
      if ChildCount.mayHaveExtents(word), !visit.mayHaveExtents {
        note(inTree(root, "a page above a branch says that there are no extents, and the branch that there may be"))
      }
      try enter(
        PageReference(rawValue: page.references[index]), checksum: page.checksums[index], level: page.level - 1,
        count: ChildCount.count(word), visit.bounds.child(index, of: page), root, parentIsClean: visit.isClean,
        mayHaveExtents: ChildCount.mayHaveExtents(word), afterExtent, look)
    }
  }

  /// Looks at a page; goes on with its children if it is a branch.
  private func enter(
    _ reference: PageReference, checksum: UInt64, level: Int, count: UInt64, _ bounds: KeyBounds, _ root: TreeRoot,
    parentIsClean: Bool, mayHaveExtents: Bool, _ afterExtent: () throws -> Void, _ look: (PageBytes) throws -> Void
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
      visits.append(Visit(page: page, bounds: bounds, isClean: isClean, mayHaveExtents: mayHaveExtents))
    } else {
      entryCount += entries
      try verifyExtents(of: page, reference, mayHaveExtents: mayHaveExtents, root, afterExtent)
    }
    try look(page)
  }

  /// Looks at every extent of a leaf, whose cells have been validated.
  private func verifyExtents(
    of page: PageBytes, _ reference: PageReference, mayHaveExtents: Bool, _ root: TreeRoot,
    _ afterExtent: () throws -> Void
  ) throws {
    var hasExtents = false
    for index in 0..<page.count where !isFull {
      let cell = page.leafCell(index)
      guard cell.isExtent else { continue }
      hasExtents = true
      let extent = cell.extent
      if extent.birth > newestBirth {
        note(store.damaged(reference, "extent \(index) was written by \(CSN(extent.birth)), after the snapshot"))
      }
      guard claim(extent, root) else { continue }
      extentCount += 1
      extentByteCount += extent.valueByteCount
      extentPageCount += extent.layout(pageSize: store.pageSize).pageCount
      guard readsExtents, extent.birth > knownBirth else { continue }
      store.verifyExtent(extent) { note($0) }
      try afterExtent()
    }
    if hasExtents, !mayHaveExtents {
      note(store.damaged(reference, "it has extents where the page above says that there are none"))
    }
  }

  /// Notes that a reference leads to the pages of an extent; false if others led to one of them before.
  private func claim(_ extent: ExtentReference, _ root: TreeRoot) -> Bool {
    let count = UInt64(extent.layout(pageSize: store.pageSize).pageCount)
    for number in extent.first.rawValue..<(extent.first.rawValue + count) {
      guard !reached[number] else {
        note(store.damaged(PageReference(PageNumber(number)), "an extent of \(root.id) takes it, but not alone"))
        return false
      }
      reached[number] = true
    }
    return true
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
      .damagedPage, "\(root.id) is damaged: \(defect). \(StorageError.restoring)", path: store.file.path)
  }
}
