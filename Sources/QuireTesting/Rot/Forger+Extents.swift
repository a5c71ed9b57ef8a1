// Forged references to extents.

import QuireStorage

/// A way in which a reference can be wrong.
package enum ExtentForgery: CaseIterable, Sendable {
  case hugeLength
  case negativeLength
  case noLength
  case lengthThatFitsInline
  case longerThanTheFile
  case metaPage
  case behindTheEnd
  case hugePage
  case anothersPages
  case halfOfAnothersPages
  case futureBirth
  case checksum
  case shortReference
  case parentsDenyIt
}

extension Forger {
  /// Where the references to extents stand, as offsets in the file, in all leaves that the catalog leads to.
  package func extentPlaces() -> [Int] {
    var found: [Int] = []
    var left = [(page: Int(meta.catalog.number.rawValue), isCatalog: true)]
    var seen: Set<Int> = []
    while let (page, isCatalog) = left.popLast() {
      guard page >= 2, page < pageCount, seen.insert(page).inserted else { continue }
      for index in 0..<count(page) {
        if kind(page) == PageKind.branch.rawValue {
          left.append((Int(truncatingIfNeeded: word(referencesOffset(page) + 8 * index)), isCatalog))
          continue
        }
        let cell = cellOffset(page, index)
        let value = valueOffset(page, cell)
        if isCatalog {
          left.append((Int(truncatingIfNeeded: word(value + 2)), false))
        } else if !isUniform(page), half(cell + 2) & 0x8000 != 0 {
          found.append(value)
        }
      }
    }
    return found.sorted()
  }

  /// Makes the reference at `place` wrong.
  package mutating func forge(_ forgery: ExtentForgery, _ place: Int, other: Int) {
    switch forgery {
    case .hugeLength: put(1 << 60, at: place)
    case .negativeLength: put(.max - 5, at: place)
    case .noLength: put(0, at: place)
    case .lengthThatFitsInline: put(20, at: place)
    case .longerThanTheFile: put(UInt64(bytes.count), at: place)
    case .metaPage: put(1, at: place + 8)
    case .behindTheEnd: put(UInt64(pageCount), at: place + 8)
    case .hugePage: put(1 << 40, at: place + 8)
    case .anothersPages: for offset in [0, 8, 16, 24] { put(word(other + offset), at: place + offset) }
    case .halfOfAnothersPages: put(word(other + 8) + 1, at: place + 8)
    case .futureBirth: put(1 << 50, at: place + 16)
    case .checksum: put(word(place + 24) ^ 1, at: place + 24)
    case .shortReference: putReferenceLength(31, at: place)
    case .parentsDenyIt: denyExtents()
    }
  }

  /// Changes one thing about one reference; returns what.
  package mutating func mutateExtent(_ random: inout SeededRandom) -> String {
    let places = extentPlaces()
    guard !places.isEmpty else { return "nothing" }
    let place = places[random.below(places.count)]
    if random.oneIn(3) {
      let offset = 8 * random.below(4)
      put(random.oneIn(2) ? random.next() : UInt64(random.below(3 * pageCount)), at: place + offset)
      return "the extent at \(place): field \(offset)"
    }
    let forgery = ExtentForgery.allCases[random.below(ExtentForgery.allCases.count)]
    forge(forgery, place, other: places[random.below(places.count)])
    return "the extent at \(place): \(forgery)"
  }

  /// Sets the length that the cell around `place` gives its value.
  private mutating func putReferenceLength(_ count: Int, at place: Int) {
    let page = place / pageSize
    for index in 0..<self.count(page) {
      let cell = cellOffset(page, index)
      if valueOffset(page, cell) == place { putHalf(count | 0x8000, at: cell + 2) }
    }
  }

  /// Takes the flag that there are extents out of every branch and every catalog entry.
  private mutating func denyExtents() {
    for page in 2..<pageCount {
      if kind(page) == PageKind.branch.rawValue {
        let counts = referencesOffset(page) + 16 * count(page)
        for index in 0..<count(page) { put(word(counts + 8 * index) & ~(1 << 63), at: counts + 8 * index) }
      } else if kind(page) == PageKind.leaf.rawValue, treeID(page) == 0 {
        for index in 0..<count(page) {
          let cell = cellOffset(page, index)
          let count = valueOffset(page, cell) + 18
          put(word(count) & ~(1 << 63), at: count)
        }
      }
    }
  }
}
