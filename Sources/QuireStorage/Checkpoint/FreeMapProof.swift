// Whether a free map that was read from a file may be believed: nothing that its checkpoint reaches is free in it.

/// Walks what a meta page names, as far as pages name others, and compares it with the free map.
///
/// A map says which pages may be written over, and it is the only one to say so. One that lies, with checksums that are
/// right, made by a bug or by an enemy, would have live pages written over by the first commits after an opening. So
/// nothing that it calls free is given out before this walk has come to its end.
///
/// Every page that the checkpoint reaches is claimed once: those of the catalog, branches and leaves of all trees,
/// extents, and the map's own. A leaf is claimed by the branch above it, and is read only if that says that it may hold
/// extents; so are the roots of trees that are a leaf. What is claimed twice is damage too, as one reference would
/// give up what another one needs.
///
/// The walk reads the file past everything that is in memory. None of the pages that it may come to is written over
/// before it has ended: the allocator gives out no place of a file that is not proven. It keeps one page for each
/// level, a bit for each page of the file, and the roots of the trees; a page claimed twice ends it, so that it never
/// takes more steps than the file has pages.
package final class FreeMapProof {
  /// How a step has ended.
  package enum Outcome {
    /// There is more to look at.
    case more
    /// The map is right.
    case proven
    /// The file contradicts itself.
    case refuted(StorageError)
  }

  private enum Phase {
    case map
    case catalog
    case tree(Int)
  }

  /// A branch on the way down, and the child to look at next.
  private struct Visit {
    let page: PageBytes
    let owner: TreeID
    var child = 0
  }

  private let store: PageStore
  private let meta: MetaPage
  private let pages: WalkPages
  private var phase = Phase.map
  private var free = PageBits()
  private var reached = PageBits()
  private var trees: [TreeRoot] = []
  private var visits: [Visit] = []
  private var contradiction: StorageError?
  /// Pages read so far, those of the map left out.
  package var readCount: Int { pages.readCount }

  /// A walk over what `meta` names in the file of `store`; nothing is read yet.
  package init(_ store: PageStore, _ meta: MetaPage) {
    self.store = store
    self.meta = meta
    pages = WalkPages(store)
  }

  /// Reads about `pageLimit` more pages.
  ///
  /// - Throws: `damagedPage`, `truncatedFile`, `inputOutput`: a page cannot be read, and what it names is not known.
  package func step(pageLimit: Int) throws(StorageError) -> Outcome {
    let start = readCount
    repeat {
      guard try advance() else { return .proven }
      if let contradiction { return .refuted(contradiction) }
    } while readCount - start < pageLimit
    return .more
  }

  /// Looks at the next page; false if there is none.
  private func advance() throws(StorageError) -> Bool {
    if !visits.isEmpty {
      try visitNext()
      return true
    }
    switch phase {
    case .map:
      try readMap()
      phase = .catalog
    case .catalog:
      try enter(Catalog.root(of: meta))
      phase = .tree(0)
    case .tree(let index):
      guard index < trees.count else { return false }
      try enter(trees[index])
      phase = .tree(index + 1)
    }
    return true
  }

  // MARK: Pages

  private func readMap() throws(StorageError) {
    let map = FreeMapFile(store: store)
    free = try map.load(meta.freeMap, pageCount: meta.pageCount)
    map.forEachPage { number in _ = claim(number, 1, by: nil) }
  }

  private func enter(_ root: TreeRoot) throws(StorageError) {
    guard !root.reference.isNone, claim(root.reference.pageNumber, 1, by: root.id) else { return }
    guard root.level > 0 || root.mayHaveExtents || isCatalog(root.id) else { return }
    try read(root.reference, root.checksum, level: root.level, owner: root.id)
  }

  /// Looks at the next child of the last branch on the way.
  private func visitNext() throws(StorageError) {
    let visit = visits[visits.count - 1]
    guard visit.child < visit.page.count else {
      visits.removeLast()
      return
    }
    visits[visits.count - 1].child += 1
    let (page, index) = (visit.page, visit.child)
    let reference = PageReference(rawValue: page.references[index])
    guard claim(reference.pageNumber, 1, by: visit.owner) else { return }
    let isNeeded = page.level > 1 || ChildCount.mayHaveExtents(page.counts[index]) || isCatalog(visit.owner)
    if isNeeded { try read(reference, page.checksums[index], level: page.level - 1, owner: visit.owner) }
  }

  private func isCatalog(_ id: TreeID) -> Bool { id.rawValue == 0 }

  private func read(
    _ reference: PageReference, _ checksum: UInt64, level: Int, owner: TreeID
  ) throws(StorageError) {
    let page = try pages.page(reference, checksum: checksum, level: level)
    if level > 0 {
      let isRead = level > 1 || isCatalog(owner) || ChildCount.mayHaveExtents(page.counts[0])
      if isRead { store.startReading(childrenOf: page, from: 0, step: 1) }
      visits.append(Visit(page: page, owner: owner))
    } else if isCatalog(owner) {
      try collectTrees(of: page, reference)
    } else {
      claimExtents(of: page, owner)
    }
  }

  private func collectTrees(of page: PageBytes, _ reference: PageReference) throws(StorageError) {
    for index in 0..<page.count {
      guard let entry = Catalog.entry(index, of: page, pageCount: meta.pageCount) else {
        throw store.damaged(reference, "entry \(index) of a catalog page breaks the format")
      }
      trees.append(entry.root)
    }
  }

  private func claimExtents(of page: PageBytes, _ owner: TreeID) {
    for index in 0..<page.count where contradiction == nil {
      let cell = page.leafCell(index)
      guard cell.isExtent else { continue }
      _ = claim(cell.extent.first, cell.extent.layout(pageSize: store.pageSize).pageCount, by: owner)
    }
  }

  // MARK: Claims

  /// Notes that a reference leads to `count` pages from `first` on; false, and the walk is over, if it must not.
  private func claim(_ first: PageNumber, _ count: Int, by owner: TreeID?) -> Bool {
    let end = first.rawValue + UInt64(count)
    guard first.rawValue >= 2, end <= meta.pageCount else {
      contradiction = contradiction ?? refuted(first, "\(name(owner)) refers to it, and the file does not have it")
      return false
    }
    for number in first.rawValue..<end {
      if reached[number] {
        contradiction = contradiction ?? refuted(PageNumber(number), "\(name(owner)) refers to it, but not alone")
        return false
      }
      if free[number] {
        contradiction =
          contradiction
          ?? refuted(
            PageNumber(number), "the free map, \(meta.freeMap.number), calls it free, but \(name(owner)) refers to it")
        return false
      }
      reached[number] = true
    }
    return true
  }

  private func name(_ owner: TreeID?) -> String {
    guard let owner else { return "the free map" }
    return isCatalog(owner) ? "the catalog" : "\(owner)"
  }

  private func refuted(_ number: PageNumber, _ why: String) -> StorageError {
    StorageError(
      .damagedPage,
      """
      A page must not be written over: \(why). None has been. What the database holds can be read: back it up, and go \
      on with the copy; or restore an earlier backup.
      """, path: store.file.path, page: number, offset: Int(clamping: number.rawValue) &* store.pageSize)
  }
}
