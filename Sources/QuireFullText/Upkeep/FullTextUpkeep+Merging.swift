// Putting postings into the trees, and folding recent ones into the blocks.

internal import QuireDatabase

/// How much is folded into the blocks, and when.
enum MergingPace {
  /// From so many changes of one term on, they are folded into its blocks at once.
  static let foldedCount = 8
  /// About so many entries a term has in "recent" at the most: of each so many postings that come, one has all of the
  /// term folded.
  static let recentTermCount: UInt64 = 64
  /// So many entries "recent" may have before all terms are folded in turn.
  static let leastRecentCount = 8192
  static let mostRecentCount = 65_536
  /// Beyond that, each entry that comes has so many folded.
  static let owedCount = 2
  /// At most so many entries of a term are folded at a time.
  static let stepCount = 4096

  /// How many entries "recent" may have beside rows of this length in all.
  static func recentCount(totalLength: UInt64) -> Int {
    // One for each hundred tokens: about one of fifty postings.
    max(leastRecentCount, min(mostRecentCount, Int(clamping: totalLength / 100)))
  }

  /// Whether a posting that comes has its term folded: one of so many of the term, and another one for each term.
  @inline(__always) static func isChosen(_ prefix: UInt64, _ byteCount: Int, _ row: RowID) -> Bool {
    var mixed = (prefix &+ UInt64(byteCount) &+ UInt64(bitPattern: row.rawValue) &* 0xd6e8_feb8_6659_fd93)
    mixed = (mixed ^ mixed >> 32) &* 0x9e37_79b9_7f4a_7c15
    return mixed >> 48 % recentTermCount == 0
  }
}

extension FullTextUpkeep {
  /// Puts what was gathered into "recent", or into the blocks where much of one term has come together.
  func storePostings(_ waiting: GatheredPostings) throws {
    var key: [UInt8] = []
    var written = 0
    try waiting.forEachTerm { term, changes in
      let isFolded =
        changes.count >= MergingPace.foldedCount
        || changes.contains {
          $0.valueCount >= 0 && MergingPace.isChosen($0.prefix, Int($0.byteCount), $0.row)
        }
      if isFolded, state == .ready {
        try fold([UInt8](term), waiting, changes)
      } else {
        for change in changes { written += try storeRecent(change, term, waiting, &key) }
      }
    }
    recentlyWritten += written
  }

  /// Puts one change into "recent"; returns how many entries have come.
  private func storeRecent(
    _ change: GatheredPostings.Change, _ term: ArraySlice<UInt8>, _ waiting: GatheredPostings, _ key: inout [UInt8]
  ) throws -> Int {
    var written = 0
    key.setRecent(term, change.row, isAdded: true)
    var wasAdded = false
    if change.goes {
      if change.valueCount < 0 {
        wasAdded = try trees.recent.remove(key)
      } else {
        wasAdded = try trees.recent.withValue(for: key) { _ in true } ?? false
      }
      if !wasAdded {
        key.setRecent(term, change.row, isAdded: false)
        try trees.recent.put([], for: key)
        key.setRecent(term, change.row, isAdded: true)
        written += 1
      }
    }
    if change.valueCount >= 0 {
      try waiting.withValue(change) { value in try unsafe trees.recent.put(value, for: key.span.bytes) }
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
    _ = try takeRecent(term, limit: .max, &all)
    all.apply(changes) { change, list in
      waiting.withValue(change) { value in
        guard RecentCodec.decode(value, row: change.row, form, to: &list) else {
          preconditionFailure("a posting that was gathered breaks the format")
        }
      }
    }
    try folder.fold(all, into: term)
  }

  /// Takes the entries of a term out of "recent", about `limit` at the most, in the order of rows; returns how many.
  private func takeRecent(_ term: [UInt8], limit: Int, _ changes: inout TermChanges) throws -> Int {
    changes.removeAll()
    let range = TermKeys.range(ofTerm: term)
    var lastAdded: RowID?
    var lastRemoved: RowID?
    var isFull = false
    try trees.recent.forEach(from: range.lower, upTo: TermKeys.range(addedTo: term).upper) { key, value in
      if changes.added.count == limit {
        isFull = true
        return false
      }
      guard let parsed = TermKeys.parseRecent(key), parsed.isAdded else { throw badKey(key) }
      guard RecentCodec.decode(value, row: parsed.row, form, to: &changes.added) else {
        throw trees.damaged(FullTextTrees.recentName, key.copied, "a posting breaks the format")
      }
      lastAdded = parsed.row
      return true
    }
    // With many, those up to one row are taken.
    if !isFull { lastAdded = nil }
    isFull = false
    try trees.recent.forEach(from: TermKeys.range(removedFrom: term).lower, upTo: range.upper) { key, value in
      guard let parsed = TermKeys.parseRecent(key), !parsed.isAdded, value.byteCount == 0 else { throw badKey(key) }
      if let lastAdded, parsed.row > lastAdded { return false }
      if changes.removed.count == limit {
        isFull = true
        return false
      }
      changes.removed.append(parsed.row)
      lastRemoved = parsed.row
      return true
    }
    if isFull, let lastRemoved { changes.cutAdded(behind: lastRemoved) }
    let bound = isFull ? lastRemoved : lastAdded
    if let bound {
      try trees.recent.remove(
        from: TermKeys.range(addedTo: term).lower, upTo: TermKeys.added(term, bound) + [0])
      try trees.recent.remove(
        from: TermKeys.range(removedFrom: term).lower, upTo: TermKeys.removed(term, bound) + [0])
    } else if !changes.isEmpty {
      try trees.recent.remove(from: range.lower, upTo: range.upper)
    }
    return changes.count
  }

  private func badKey(_ key: RawSpan) -> FullTextError {
    trees.damaged(FullTextTrees.recentName, key.copied, "the key is none of a posting that was added or removed")
  }

  // MARK: Pace

  /// Brings the trees up to date, and pays for what was written by folding some terms.
  func settle() throws {
    try flush()
    guard state == .ready, recentlyWritten > 0 else { return }
    let owed = recentlyWritten * MergingPace.owedCount
    recentlyWritten = 0
    guard try trees.recent.count > MergingPace.recentCount(totalLength: trees.totalLength) else { return }
    _ = try merge(count: owed)
  }

  /// Folds the next terms that "recent" has something of, until `count` entries are folded or none are left; returns how
  /// many were.
  func merge(count: Int) throws -> Int {
    guard state == .ready else { return 0 }
    var changes = TermChanges()
    var hand = try trees.hand
    var folded = 0
    var hasTurned = false
    while folded < count {
      guard let term = try recentTerm(behind: hand) else {
        if hasTurned || hand.isEmpty { break }
        (hand, hasTurned) = ([], true)
        continue
      }
      let taken = try takeRecent(term, limit: MergingPace.stepCount, &changes)
      guard taken > 0 else {
        throw trees.damaged(FullTextTrees.recentName, TermKeys.range(ofTerm: term).lower, "the keys are out of order")
      }
      try folder.fold(changes, into: term)
      folded += taken
      // A term with more of them has its next turn at once.
      if taken < MergingPace.stepCount { hand = term }
    }
    if folded > 0 { try trees.setHand(hand) }
    return folded
  }

  /// The first term behind another one that "recent" has something of.
  private func recentTerm(behind term: [UInt8]) throws -> [UInt8]? {
    let cursor = try trees.recent.cursor()
    guard try term.isEmpty ? cursor.seekFirst() : cursor.seek(term + [1]) else { return nil }
    return try cursor.withEntry { key, _ in
      guard let parsed = TermKeys.parseRecent(key) else { throw badKey(key) }
      return Array(key.copied.prefix(parsed.termByteCount))
    }
  }
}

extension [UInt8] {
  /// Puts the key of an entry of "recent" in the place of what is here.
  mutating func setRecent(_ term: ArraySlice<UInt8>, _ row: RowID, isAdded: Bool) {
    removeAll(keepingCapacity: true)
    self += term
    append(0)
    append(isAdded ? 1 : 2)
    appendBigEndian(row.ordered)
  }
}

extension TermChanges {
  /// Forgets what is added behind a row.
  mutating func cutAdded(behind row: RowID) {
    guard let last = added.rowIDs.last, last > row else { return }
    var rest = PostingList()
    for index in 0..<added.lowerBound(of: row) { rest.append(added, at: index) }
    let next = added.lowerBound(of: row)
    if next < added.count, added.rowIDs[next] == row { rest.append(added, at: next) }
    added = rest
  }
}
