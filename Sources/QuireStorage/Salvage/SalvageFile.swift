// The trees of a data file that may be damaged: by their roots, and where these lead nowhere by looking at all pages.

/// A data file, read in the state of one meta page or of none.
final class SalvageFile {
  let pages: SalvagePages
  let liveness: SalvageLiveness
  /// What an entry is worth to which the way from a root of the newest state is whole.
  let standing: SalvageStanding
  private var foundLeaves: SalvageScan?
  /// Whether a place has been met whose last write is lost: then counts that agree are no proof that all was found.
  private(set) var hasLostWrites = false

  init(_ pages: SalvagePages, _ liveness: SalvageLiveness, standing: SalvageStanding) {
    self.pages = pages
    self.liveness = liveness
    self.standing = standing
  }

  /// All leaves of the file. The first call reads every page.
  var scan: SalvageScan {
    if let foundLeaves { return foundLeaves }
    let scan = SalvageScan(pages)
    foundLeaves = scan
    return scan
  }

  /// What became of a lost range.
  struct Outcome {
    let gap: SalvageGap
    /// How many of its entries were found after all.
    var currentCount = 0
    /// Whether pages in use may be older than they should be.
    var mayLackWrites = false
    /// How many entries that may be old were taken in their stead.
    var staleCount = 0

    /// Whether all that the range had was found.
    var isComplete: Bool { !mayLackWrites && gap.count == currentCount }
    /// How many of its entries are lost, if that is known.
    var lostCount: Int? { gap.count.map { max(0, $0 - currentCount) } }
  }

  /// Goes through the entries of a tree, in the order of the keys.
  ///
  /// - Parameters:
  ///   - root: the tree's root, or, with `isRootKnown` false, its id and kind of keys alone.
  ///   - isStale: whether the root may be an old one.
  ///   - believesFreeMap: whether a leaf that nothing leads to is of the newest state if its place is in use.
  ///   - includesStale: whether entries are taken that may be old.
  ///   - body: called with page, index and worth of an entry, and whether an older version may follow; returns whether
  ///     this one could be used.
  ///   - note: called behind each lost range.
  func forEachEntry(
    of root: TreeRoot, isRootKnown: Bool, isStale: Bool = false, believesFreeMap: Bool = true, includesStale: Bool,
    _ body: (PageBytes, Int, SalvageStanding, Bool) throws -> Bool, lost note: (Outcome) throws -> Void
  ) throws {
    var fill: SalvageFill?
    func take(_ gap: SalvageGap, _ walk: SalvageWalk?) throws {
      if gap.isOtherVersion { hasLostWrites = true }
      var gap = gap
      if !believesFreeMap { gap.isOtherVersion = true }
      var outcome = Outcome(gap: gap, mayLackWrites: hasLostWrites || !believesFreeMap)
      // Below a lost leaf nothing of the newest state is left.
      if includesStale || gap.level > 0 || liveness.free == nil {
        let filling = fill ?? makeFill(root, includesStale: includesStale)
        fill = filling
        try filling.fill(gap, besides: walk) { found in
          let own: SalvageStanding = !found.isProven ? .unverified : found.isCurrent ? .current : .mayBeOld
          guard try body(found.page, found.index, own, true) else { return false }
          if found.isCurrent { outcome.currentCount += 1 } else { outcome.staleCount += 1 }
          return true
        }
      }
      try note(outcome)
    }
    guard isRootKnown else {
      let reason = "what leads to \(root.id) is lost"
      return try take(
        SalvageGap(lower: nil, upper: nil, page: nil, level: Limits.treeLevels, count: nil, reason: reason), nil)
    }
    let walk = SalvageWalk(pages, root)
    let proven: SalvageStanding = isStale && standing == .current ? .mayBeOld : standing
    while let step = walk.next() {
      switch step {
      case .leaf(let page, let isProven):
        for index in 0..<page.count { _ = try body(page, index, isProven ? proven : .unverified, false) }
      case .lost(let gap): try take(gap, walk)
      }
    }
  }

  private func makeFill(_ root: TreeRoot, includesStale: Bool) -> SalvageFill {
    let leaves = SalvageLeaves(scan.leaves(of: root.id, root.keyKind), liveness, root.keyKind, pages)
    return SalvageFill(pages, root, leaves, includesStale: includesStale)
  }
}
