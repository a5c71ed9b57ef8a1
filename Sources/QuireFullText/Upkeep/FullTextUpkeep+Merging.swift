// Putting postings into the trees, and folding recent ones into the blocks.

internal import QuireDatabase

extension FullTextUpkeep {
  /// How many entries are taken out of "recent" at a time.
  private static let sliceCount = 1 << 12

  /// Puts what was gathered into "recent", or into the blocks where much of one term has come together.
  func storePostings(_ waiting: GatheredPostings) throws {
    var written = 0
    try waiting.forEachTerm { term, changes in
      let pace = layout.pace
      let isFolded =
        changes.count >= pace.foldedCount
        || changes.contains { $0.valueCount >= 0 && pace.isChosen($0.prefix, Int($0.byteCount), $0.row) }
      if isFolded, state == .ready {
        try fold([UInt8](term), waiting, changes)
      } else {
        for change in changes { written += try storeRecent(change, waiting) }
      }
    }
    recentlyWritten += written
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
    var all = TermChanges()
    let range = TermKeys.range(ofTerm: term)
    var slice = RecentSlice(trees)
    try trees.recent.forEach(from: range.lower, upTo: range.upper) { key, value in
      try slice.add(key, value)
      return true
    }
    if let found = slice.terms.first {
      guard found.term == term else { throw slice.outOfOrder(found.term) }
      all = found.changes
      try trees.recent.remove(from: range.lower, upTo: range.upper)
    }
    all.apply(changes) { change, list in
      waiting.withValue(change) { value in
        guard RecentCodec.decode(value, row: change.row, form, to: &list) else {
          preconditionFailure("a posting that was gathered breaks the format")
        }
      }
    }
    try folder.fold(all, into: term)
  }

  // MARK: Pace

  /// Brings the trees up to date, and pays for what was written by folding some terms.
  func settle() throws {
    try flush()
    guard state == .ready, recentlyWritten > 0 else { return }
    let owed = layout.pace.owedCount(recentlyWritten)
    recentlyWritten = 0
    guard try trees.recent.count > layout.pace.recentCount(totalLength: trees.totalLength) else { return }
    _ = try merge(count: owed)
  }

  /// Folds the next terms that "recent" has something of, until `count` entries are folded or none are left; returns how
  /// many were.
  func merge(count: Int) throws -> Int {
    guard state == .ready, count > 0 else { return 0 }
    var hand = try trees.hand
    var folded = 0
    var hasTurned = false
    while folded < count {
      let slice = try takeSlice(behind: hand, count: min(count - folded, Self.sliceCount))
      guard let last = slice.terms.last else {
        if hasTurned || hand.isEmpty { break }
        (hand, hasTurned) = ([], true)
        continue
      }
      for one in slice.terms { try folder.fold(one.changes, into: one.term) }
      folded += slice.count
      hand = last.term
    }
    if folded > 0 { try trees.setHand(hand) }
    return folded
  }

  /// Takes the entries of the next terms out of "recent", `count` of them or, to the end of a term, more.
  private func takeSlice(behind term: [UInt8], count: Int) throws -> RecentSlice {
    var slice = RecentSlice(trees)
    var lastKey: [UInt8] = []
    let lower = term.isEmpty ? [] : term + [1]
    try trees.recent.forEach(from: lower, upTo: nil, limit: count) { key, value in
      if slice.count >= count, try !slice.isOfLastTerm(key) { return false }
      try slice.add(key, value)
      key.copy(to: &lastKey)
      return true
    }
    if slice.count > 0 { try trees.recent.remove(from: lower, upTo: lastKey + [0]) }
    return slice
  }
}

/// Entries of "recent" of some terms, one behind the other.
struct RecentSlice {
  private let trees: FullTextTrees
  private let form: PostingForm
  private(set) var terms: [(term: [UInt8], changes: TermChanges)] = []
  /// The number of entries.
  private(set) var count = 0

  init(_ trees: FullTextTrees) { (self.trees, form) = (trees, trees.layout.form) }

  /// Takes in the next entry.
  ///
  /// - Throws: `FullTextError.damaged`.
  mutating func add(_ key: RawSpan, _ value: RawSpan) throws {
    guard let parsed = TermKeys.parseRecent(key) else { throw badEntry(key) }
    if !isOfLastTerm(key, parsed) {
      let term = Array(key.copied.prefix(parsed.termByteCount))
      if let last = terms.last, !last.term.lexicographicallyPrecedes(term) { throw outOfOrder(term) }
      terms.append((term, TermChanges()))
    }
    let last = terms.count - 1
    if parsed.isAdded {
      guard RecentCodec.decode(value, row: parsed.row, form, to: &terms[last].changes.added) else {
        throw badEntry(key)
      }
    } else {
      guard value.byteCount == 0, terms[last].changes.removed.last.map({ $0 < parsed.row }) ?? true else {
        throw badEntry(key)
      }
      terms[last].changes.removed.append(parsed.row)
    }
    count += 1
  }

  /// Whether a key is one of the term of the entry before.
  func isOfLastTerm(_ key: RawSpan) throws -> Bool {
    guard let parsed = TermKeys.parseRecent(key) else { throw badEntry(key) }
    return isOfLastTerm(key, parsed)
  }

  private func isOfLastTerm(_ key: RawSpan, _ parsed: RecentKey) -> Bool {
    terms.last.map { key.begins(with: $0.term, parsed.termByteCount) } ?? false
  }

  private func badEntry(_ key: RawSpan) -> FullTextError {
    trees.damaged(FullTextTrees.recentName, key.copied, "the entry breaks the format")
  }

  func outOfOrder(_ term: [UInt8]) -> FullTextError {
    trees.damaged(FullTextTrees.recentName, term + [0], "terms are out of order")
  }
}
