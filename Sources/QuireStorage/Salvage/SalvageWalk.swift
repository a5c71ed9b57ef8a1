// A tree from its root: its leaves in order, and the ranges where the way down is broken.

/// Walks a tree that may be damaged anywhere, with one page for each level, and never recurses.
final class SalvageWalk {
  /// What comes next in the order of the keys.
  enum Step {
    /// A leaf; good until the next step.
    case leaf(PageBytes, isProven: Bool)
    /// A page that cannot be used, with all below it.
    case lost(SalvageGap)
  }

  private struct Visit {
    let page: PageBytes
    /// In pages above, which stay where they are as long as this one.
    let bounds: KeyBounds
    var child = 0
  }

  private let pages: SalvagePages
  private let root: TreeRoot
  private var visits: [Visit] = []
  private var buffers: [PageBytes] = []
  private var hasBegun = false
  /// Pages that a reference of this tree has led to.
  private(set) var reached = PageBits()
  /// Those of them that cannot be used.
  private(set) var failed = PageBits()

  /// - Parameter root: from the file; its level is below `Limits.treeLevels`.
  init(_ pages: SalvagePages, _ root: TreeRoot) {
    self.pages = pages
    self.root = root
  }

  deinit { for buffer in buffers { buffer.base.deallocate() } }

  /// The next leaf or gap; nil behind the last one.
  func next() -> Step? {
    if !hasBegun {
      hasBegun = true
      if root.reference.isNone { return nil }
      if let step = enter(root.reference.rawValue, root.checksum, root.level, UInt64(root.count), KeyBounds()) {
        return step
      }
    }
    while let visit = visits.last {
      guard visit.child < visit.page.count else {
        visits.removeLast()
        continue
      }
      visits[visits.count - 1].child += 1
      let (page, index) = (visit.page, visit.child)
      let step = enter(
        page.references[index], page.checksums[index], page.level - 1, ChildCount.count(page.counts[index]),
        visit.bounds.child(index, of: page))
      if let step { return step }
    }
    return nil
  }

  /// Looks at a page. Nil if it is a branch, whose children come next.
  private func enter(
    _ number: UInt64, _ checksum: UInt64, _ level: Int, _ count: UInt64, _ bounds: KeyBounds
  ) -> Step? {
    do throws(SalvageDefect) {
      guard number < pages.fileLimit else { throw SalvageDefect("the file does not have page \(number)") }
      // Paths that meet would be walked as often as there are paths.
      guard !reached[number] else { throw SalvageDefect("two references lead to page \(number)") }
      reached[number] = true
      let page = buffer(level)
      let isProven = try pages.load(number, checksum: checksum, into: page)
      guard page.level == level else { throw SalvageDefect("page \(number) is of another level") }
      let defect = PageOrder.defect(in: page, of: root, within: bounds, pageSize: pages.pageSize, isTakenApart: true)
      if let defect { throw SalvageDefect("page \(number) is damaged: \(defect)") }
      if level == 0 { return .leaf(page, isProven: isProven) }
      assert(visits.last.map { $0.page.level == level + 1 } ?? true, "a walk leaves a level out")
      visits.append(Visit(page: page, bounds: bounds))
      return nil
    } catch {
      if number < pages.fileLimit { failed[number] = true }
      let gap = SalvageGap(
        lower: bounds.lower.map { SalvageKey.bytes($0, root.keyKind) },
        upper: bounds.upper.map { SalvageKey.bytes($0, root.keyKind) }, page: PageNumber(number), level: level,
        count: Int(exactly: count), isOtherVersion: error.isOtherVersion,
        reason: error.text)
      return .lost(gap)
    }
  }

  private func buffer(_ level: Int) -> PageBytes {
    while buffers.count <= level { buffers.append(pages.makeBuffer()) }
    return buffers[level]
  }
}

/// A range of keys to which the way down a tree is broken.
struct SalvageGap {
  /// The least key that it may have; nil: no bound.
  let lower: [UInt8]?
  /// What its keys are below; nil: no bound.
  let upper: [UInt8]?
  /// The page that cannot be used; nil if not even its place is known.
  let page: PageNumber?
  /// The level of that page: below 0 there is nothing.
  let level: Int
  /// How many entries there were; nil if that is not known.
  let count: Int?
  /// Whether a write of that page has been lost: those of pages below it may have been, too.
  var isOtherVersion = false
  let reason: String

  /// Whether `key` is not yet in the range.
  func isAbove(_ key: [UInt8]) -> Bool { lower.map { SalvageKey.compare(key, $0) < 0 } ?? false }
  /// Whether `key` is behind the range.
  func isBelow(_ key: [UInt8]) -> Bool { upper.map { SalvageKey.compare(key, $0) >= 0 } ?? false }
}
