// All postings that are stored, in order.

internal import QuireDatabase

/// Walks through all postings that count, by terms and rows, and checks on its way that the trees are what they should
/// be: heads, limits, the order of keys, and that what "recent" has fits the blocks.
///
/// Takes the memory of one block, and of what "recent" has of one term.
final class StoredPostings {
  private let trees: FullTextTrees
  private let form: PostingForm
  private let lengths: RowLengths
  private let decoded: DecodedBlock
  private let blocks: ExtensionCursor<[UInt8]>
  private let recent: ExtensionCursor<[UInt8]>
  private var isOnBlock: Bool
  private var isOnRecent: Bool
  /// What "recent" has of the term, and how far it was given.
  private var changes: RecentPostings
  private var place = TermChanges.Place()
  // The term that is walked through.
  private var head: HeadCodec?
  private var blockCount = 0
  private var postingCount = 0
  private var lastRow: RowID?
  private var block = PostingList()
  /// The number of blocks so far whose positions stand apart.
  private(set) var apartCount = 0

  /// The term of the postings that were given last.
  private(set) var term: [UInt8]?
  /// The postings that were given last.
  private(set) var list = PostingList()

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    form = trees.layout.form
    lengths = RowLengths(trees)
    changes = RecentPostings(form)
    decoded = DecodedBlock(form)
    blocks = try trees.blocks.cursor()
    recent = try trees.recent.cursor()
    isOnBlock = try blocks.seekFirst()
    isOnRecent = try recent.seekFirst()
  }

  /// Goes on to the next postings, at least one, all of one term; false if there are no more.
  ///
  /// - Throws: `FullTextError.damaged`.
  func next() throws -> Bool {
    list.removeAll()
    while list.count == 0 {
      if let term, try isOnBlock(of: term) {
        try giveBlock(of: term)
      } else if term != nil, place.added < changes.added.count {
        try giveRest()
      } else {
        if let term { try endTerm(term) }
        guard try beginTerm() else { return false }
      }
    }
    return true
  }

  // MARK: Terms

  private func beginTerm() throws -> Bool {
    let before = term
    let blockTerm = try isOnBlock ? blocks.withEntry { key, _ in try term(ofBlock: key) } : nil
    let recentTerm = try isOnRecent ? recent.withEntry { key, _ in try term(ofRecent: key) } : nil
    guard let next = [blockTerm, recentTerm].compactMap({ $0 }).min(by: { $0.lexicographicallyPrecedes($1) }) else {
      term = nil
      return false
    }
    if let before, !before.lexicographicallyPrecedes(next) {
      throw trees.damaged(FullTextTrees.blocksName, next + [0], "terms are out of order")
    }
    term = next
    (blockCount, postingCount, lastRow, head) = (0, 0, nil, nil)
    try readRecent(of: next)
    if isOnBlock { try readHead(of: next) }
    return true
  }

  private func term(ofBlock key: RawSpan) throws -> [UInt8] {
    guard let parsed = TermKeys.parseBlock(key) else {
      throw trees.damaged(FullTextTrees.blocksName, key.copied, "the key is none of a block")
    }
    return Array(key.copied.prefix(parsed.termByteCount))
  }

  private func term(ofRecent key: RawSpan) throws -> [UInt8] {
    guard let parsed = TermKeys.parseRecent(key) else {
      throw trees.damaged(FullTextTrees.recentName, key.copied, "the key is none of a posting")
    }
    return Array(key.copied.prefix(parsed.termByteCount))
  }

  private func readRecent(of term: [UInt8]) throws {
    changes = RecentPostings(form)
    place = TermChanges.Place()
    while isOnRecent {
      let isOfTerm = try recent.withEntry { key, value in
        guard try self.term(ofRecent: key) == term, let parsed = TermKeys.parseRecent(key) else { return false }
        let last = parsed.isAdded ? nil : changes.removed.last
        guard last.map({ $0 < parsed.row }) ?? true, changes.take(parsed, value) else {
          throw trees.damaged(
            FullTextTrees.recentName, key.copied,
            parsed.isAdded ? "the posting breaks the format" : "what is void is noted wrongly")
        }
        return true
      }
      guard isOfTerm == true else { return }
      isOnRecent = try recent.next()
    }
  }

  private func readHead(of term: [UInt8]) throws {
    let found = try blocks.withEntry { key, value -> HeadCodec? in
      guard key.byteCount == term.count + 9, key.begins(with: TermKeys.head(term)) else { return nil }
      guard let head = HeadCodec(value) else {
        throw trees.damaged(FullTextTrees.blocksName, key.copied, "the head breaks the format")
      }
      return head
    }
    guard let found, let found else { return }
    head = found
    isOnBlock = try blocks.next()
  }

  private func endTerm(_ term: [UInt8]) throws {
    if place.removed < changes.removed.count {
      throw trees.damaged(
        FullTextTrees.recentName, TermKeys.removed(term, changes.removed[place.removed]),
        "a posting is void that the blocks do not have")
    }
    let key = TermKeys.head(term)
    if let head {
      guard blockCount > 1 else {
        throw trees.damaged(FullTextTrees.blocksName, key, "a term of fewer blocks than two has a head")
      }
      guard head.count == postingCount else {
        throw trees.damaged(
          FullTextTrees.blocksName, key, "the head counts \(head.count) postings, and the blocks have \(postingCount)")
      }
    } else if blockCount > 1 {
      throw trees.damaged(FullTextTrees.blocksName, key, "\(blockCount) blocks have no head")
    }
  }

  // MARK: Postings

  private func isOnBlock(of term: [UInt8]) throws -> Bool {
    guard isOnBlock else { return false }
    return try blocks.withEntry { key, _ in try self.term(ofBlock: key) == term } ?? false
  }

  /// Gives what counts of the block that the cursor is on, and what was added up to its last row.
  private func giveBlock(of term: [UInt8]) throws {
    block.removeAll()
    try blocks.withEntry { key, value in try decode(key, value) }
    guard let first = block.rowIDs.first, let last = block.rowIDs.last, lastRow.map({ $0 < first }) ?? true else {
      throw trees.damaged(FullTextTrees.blocksName, TermKeys.range(ofTerm: term).lower, "blocks are out of order")
    }
    let limits = decoded.isLarge ? decoded.limits : .any
    for index in 0..<block.count {
      let row = block.rowIDs[index]
      giveAdded(below: row)
      let isAdded = place.added < changes.added.count && changes.added.rowIDs[place.added] == row
      if place.removed < changes.removed.count, changes.removed[place.removed] <= row {
        guard changes.removed[place.removed] == row else { break }
        place.removed += 1
        continue
      }
      if isAdded {
        throw trees.damaged(FullTextTrees.recentName, TermKeys.added(term, row), "the blocks have the posting, too")
      }
      let pair = LimitPair(frequency: block.totalFrequency(index), length: try lengths.length(of: row))
      guard limits.dominates(pair), head?.limits.dominates(pair) ?? true else {
        throw trees.damaged(FullTextTrees.blocksName, TermKeys.block(term, last), "\(row) is beyond the limits")
      }
      list.append(block, at: index)
    }
    if place.removed < changes.removed.count, changes.removed[place.removed] <= last {
      throw trees.damaged(
        FullTextTrees.recentName, TermKeys.removed(term, changes.removed[place.removed]),
        "a posting is void that the blocks do not have")
    }
    giveAdded(below: RowID(ordered: last.ordered &+ 1))
    (lastRow, blockCount, postingCount) = (last, blockCount + 1, postingCount + block.count)
    isOnBlock = try blocks.next()
  }

  private func decode(_ key: RawSpan, _ value: RawSpan) throws {
    guard let lastRow = TermKeys.parseBlock(key)?.lastRow else {
      throw trees.damaged(FullTextTrees.blocksName, key.copied, "a head is not the first of its term")
    }
    guard decoded.decodeRows(value, lastRow: lastRow) else {
      throw trees.damaged(FullTextTrees.blocksName, key.copied, "the block breaks the format")
    }
    var isWell: Bool?
    if decoded.arePositionsApart {
      apartCount += 1
      isWell = try trees.positions.withValue(for: key.copied) { decoded.appendAll(value, apart: $0, to: &block) }
    } else {
      isWell = decoded.appendAll(value, apart: nil, to: &block)
    }
    guard let isWell else {
      throw trees.damaged(FullTextTrees.positionsName, key.copied, "the positions of the block are missing")
    }
    guard isWell else { throw trees.damaged(FullTextTrees.blocksName, key.copied, "the block breaks the format") }
  }

  private func giveAdded(below row: RowID) {
    while place.added < changes.added.count, changes.added.rowIDs[place.added] < row {
      list.append(changes.added, at: place.added)
      place.added += 1
    }
  }

  private func giveRest() throws {
    while place.added < changes.added.count {
      list.append(changes.added, at: place.added)
      place.added += 1
    }
  }
}
