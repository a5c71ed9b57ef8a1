// What a data file consists of, as a forger sees it: pages by what leads to them.

import QuireStorage

extension Forger {
  /// Where a word that counts entries stands.
  package struct CountPlace {
    /// The offset in the file.
    package let offset: Int
    /// Whether it is of the tree of trees.
    package let isCatalog: Bool
    /// The level of what is counted; -1 for what is below a root, counted in the catalog.
    package let level: Int
  }

  /// The pages of trees that the newest meta page leads to.
  package func treePages() -> [Int] { walkTrees().pages }

  /// The words that count entries: of children in branches, and of trees in the catalog.
  package func countPlaces() -> [CountPlace] { walkTrees().counts }

  private func walkTrees() -> (pages: [Int], counts: [CountPlace]) {
    var found: (pages: [Int], counts: [CountPlace]) = ([], [])
    var left = [(page: Int(meta.catalog.number.rawValue), isCatalog: true)]
    var seen: Set<Int> = []
    while let (page, isCatalog) = left.popLast() {
      guard page >= 2, page < pageCount, seen.insert(page).inserted else { continue }
      found.pages.append(page)
      for index in 0..<count(page) {
        if kind(page) == PageKind.branch.rawValue {
          let level = Int(bytes[base(page) + PageLayout.levelOffset]) - 1
          let offset = referencesOffset(page) + 8 * (2 * count(page) + index)
          found.counts.append(CountPlace(offset: offset, isCatalog: isCatalog, level: level))
          left.append((Int(truncatingIfNeeded: word(referencesOffset(page) + 8 * index)), isCatalog))
        } else if isCatalog {
          let value = valueOffset(page, cellOffset(page, index))
          found.counts.append(CountPlace(offset: value + 18, isCatalog: false, level: -1))
          left.append((Int(truncatingIfNeeded: word(value + 2)), false))
        }
      }
    }
    return found
  }
}
