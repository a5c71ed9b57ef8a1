// Putting postings into the trees, and folding recent ones into the blocks.

internal import QuireDatabase

extension FullTextUpkeep {
  /// How many entries are taken out of "recent" at a time.
  private static let sliceCount = 1 << 12

  /// Puts what was gathered into "recent", or into the blocks where much of one term has come together.
  func storePostings(_ waiting: GatheredPostings) throws {
    var written = 0
    try waiting.forEachTerm { term, changes in
      if state == .ready, try isFolded(term, changes) {
        try fold([UInt8](term), waiting, changes)
      } else {
        for change in changes { written += try storeRecent(change, waiting) }
      }
    }
    recentlyWritten += written
  }

  /// Whether all that there is of a term is folded, now that these changes of it have come.
  private func isFolded(_ term: ArraySlice<UInt8>, _ changes: ArraySlice<GatheredPostings.Change>) throws -> Bool {
    let pace = layout.pace
    if changes.count >= pace.foldedCount { return true }
    let isCounted = changes.contains { $0.valueCount >= 0 && pace.isChosen($0.prefix, Int($0.byteCount), $0.row) }
    guard isCounted else { return false }
    let range = TermKeys.range(ofTerm: term)
    return try trees.recent.count(from: range.lower, upTo: range.upper) >= pace.recentTermCount
  }

  /// Puts one change into "recent"; returns how many entries have come.
  private func storeRecent(_ change: GatheredPostings.Change, _ waiting: GatheredPostings) throws -> Int {
    var written = 0
    var wasAdded = false
    if change.goes {
      let key = waiting.withRecentKey(change, isAdded: true) { $0.copied }
      if change.valueCount < 0 {
        wasAdded = try trees.recent.remove(key)
      } else {
        wasAdded = try trees.recent.withValue(for: key) { _ in true } ?? false
      }
      if !wasAdded {
        let key = waiting.withRecentKey(change, isAdded: false) { $0.copied }
        try trees.recent.put([], for: key)
        written += 1
      }
    }
    if change.valueCount >= 0 {
      try waiting.withRecentKey(change, isAdded: true) { key in
        try waiting.withValue(change) { value in try trees.recent.put(value, for: key) }
      }
      if !wasAdded { written += 1 }
    }
    return written
  }

  // MARK: Folding

  /// Folds what "recent" has of a term, and what has happened to it since, into its blocks.
  private func fold(
    _ term: [UInt8], _ waiting: GatheredPostings, _ changes: ArraySlice<GatheredPostings.Change>
  ) throws {
    let range = TermKeys.range(ofTerm: term)
    var slice = RecentSlice(trees)
    try trees.recent.forEach(from: range.lower, upTo: range.upper) { key, value in
      try slice.add(key, value)
      return true
    }
    var all = TermChanges()
    try slice.forEachTerm { found, recent in
      guard found == term[...] else { throw slice.outOfOrder(found) }
      all = recent
    }
    try removeRecent(slice, from: range.lower, upTo: range.upper)
    all.apply(changes, of: waiting)
    try folder.fold(all, into: term)
  }

  // MARK: Pace

  /// Brings the trees up to date, and folds some terms if "recent" has become too large.
  func settle() throws {
    try flush()
    guard state == .ready, recentlyWritten > 0 else { return }
    let written = recentlyWritten
    recentlyWritten = 0
    let (pace, count) = (layout.pace, try trees.recent.count)
    guard count >= pace.leastRecentCount else { return }
    let excess = count - pace.recentCount(totalLength: try trees.totalLength)
    _ = try merge(count: pace.foldedCount(excess: excess, written: written))
  }

  /// Folds the next terms that "recent" has something of, until `count` entries are folded or none are left; returns
  /// how many were.
  func merge(count: Int) throws -> Int {
    guard state == .ready, count > 0 else { return 0 }
    var hand = try trees.hand
    var folded = 0
    var hasTurned = false
    while folded < count {
      let slice = try takeSlice(behind: hand, count: min(count - folded, Self.sliceCount))
      guard slice.count > 0 else {
        if hasTurned || hand.isEmpty { break }
        (hand, hasTurned) = ([], true)
        continue
      }
      try slice.forEachTerm { term, changes in
        hand = Array(term)
        try folder.fold(changes, into: hand)
      }
      folded += slice.count
    }
    if folded > 0 { try trees.setHand(hand) }
    return folded
  }

  /// Takes the entries of the next terms out of "recent", `count` of them or, to the end of a term, more.
  private func takeSlice(behind term: [UInt8], count: Int) throws -> RecentSlice {
    var slice = RecentSlice(trees)
    let lower = term.isEmpty ? [] : term + [1]
    try trees.recent.forEach(from: lower, upTo: nil, limit: count) { key, value in
      if slice.count >= count, try !slice.isOfLastTerm(key) { return false }
      try slice.add(key, value)
      return true
    }
    try removeRecent(slice, from: lower, upTo: slice.lastKey + [0])
    return slice
  }

  /// Removes the entries of a slice from "recent", which are all between the bounds.
  private func removeRecent(_ slice: RecentSlice, from lower: [UInt8], upTo upper: [UInt8]) throws {
    switch slice.count {
    case 0: return
    case 1: try trees.recent.remove(slice.lastKey)
    default: try trees.recent.remove(from: lower, upTo: upper)
    }
  }
}
