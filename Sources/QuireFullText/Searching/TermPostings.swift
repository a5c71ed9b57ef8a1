// What is stored of one term: how many rows have it, and what has changed beside its blocks.

internal import QuireDatabase

/// The trees of a full text, held once by all that search in them.
final class TermIndex {
  let trees: FullTextTrees
  let form: PostingForm

  init(_ trees: FullTextTrees) { (self.trees, form) = (trees, trees.layout.form) }
}

/// The postings of one term in one transaction: those in its blocks without those that are void, and those that were
/// added since.
final class TermPostings {
  let term: [UInt8]
  let form: PostingForm
  /// What the blocks are from; nil if all postings are added ones.
  let index: TermIndex?
  /// The postings that were added.
  let added: PostingList
  /// The rows whose postings in the blocks are void, in ascending order.
  let removed: [RowID]
  /// How many rows have the term.
  let rowCount: Int
  /// Whether there is a block.
  let hasBlocks: Bool

  /// The postings of a term. O(log n) and what was changed beside its blocks.
  init(_ term: [UInt8], _ index: TermIndex) throws {
    self.term = term
    self.index = index
    form = index.form
    let (lower, upper) = TermKeys.range(ofTerm: term)
    let blockCount = try index.trees.rowCountInBlocks(from: lower, upTo: upper)
    (added, removed) = try index.trees.changes(from: lower, upTo: upper)
    hasBlocks = blockCount > 0
    rowCount = blockCount - removed.count + added.count
    guard rowCount >= 0 else {
      throw index.trees.damaged(FullTextTrees.recentName, TermKeys.head(term), "more postings are void than there are")
    }
  }

  /// Postings that stand in memory alone.
  init(_ list: PostingList, _ form: PostingForm) {
    (term, index, added, removed, self.form) = ([], nil, list, [], form)
    rowCount = list.count
    hasBlocks = false
  }

  /// The error for a block that breaks the format, or is missing.
  ///
  /// - Parameter lastRow: that of its key.
  func damagedBlock(_ lastRow: RowID?) -> FullTextError {
    guard let index else { return Self.damagedInMemory }
    let key = lastRow.map { TermKeys.block(term, $0) } ?? TermKeys.head(term)
    return index.trees.damaged(FullTextTrees.blocksName, key, "a block breaks the format")
  }

  /// The error for postings that no tree has.
  static let damagedInMemory = FullTextError.damaged(
    fullText: "", tree: FullTextTrees.blocksName, key: nil, detail: "postings in memory break the format")
}

extension FullTextTrees {
  /// How many rows have a term. O(log n).
  func rowCount(of term: [UInt8]) throws -> Int {
    let (lower, upper) = TermKeys.range(ofTerm: term)
    let count = try rowCountInBlocks(from: lower, upTo: upper)
    // All that this depends on are the entries of the term, whatever else there is.
    let changes = try recent.reading(from: lower, upTo: upper) {
      guard try recent.count > 0 else { return (added: 0, removed: 0) }
      let (first, middle) = TermKeys.range(addedTo: term)
      let start = try recent.rank(of: first)
      let between = try recent.rank(of: middle)
      return (between - start, try recent.rank(of: upper) - between)
    }
    guard count >= changes.removed else {
      throw damaged(FullTextTrees.recentName, TermKeys.head(term), "more postings are void than there are")
    }
    return count - changes.removed + changes.added
  }

  /// How many rows the blocks of a term have, void ones among them.
  ///
  /// - Parameters:
  ///   - lower: where the entries of the term begin.
  ///   - upper: where they end.
  fileprivate func rowCountInBlocks(from lower: [UInt8], upTo upper: [UInt8]) throws -> Int {
    var count = 0
    // The first entry is the head, or the only block.
    try blocks.forEach(from: lower, upTo: upper, limit: 1) { key, value in
      guard let parsed = TermKeys.parseBlock(key) else { throw damagedBlock(key, "the key is none") }
      count = try rowCount(ofFirst: value, key, parsed)
      return false
    }
    return count
  }

  /// How many rows the blocks of a term have, by the first entry of the term: its head, or the only block.
  func rowCount(ofFirst value: RawSpan, _ key: RawSpan, _ parsed: BlockKey) throws -> Int {
    if let lastRow = parsed.lastRow {
      guard let header = BlockHeader(value, lastRow: lastRow) else {
        throw damagedBlock(key, "a block breaks the format")
      }
      return header.count
    }
    guard let head = HeadCodec(value) else { throw damagedBlock(key, "a head breaks the format") }
    return head.count
  }

  func damagedBlock(_ key: RawSpan, _ detail: String) -> FullTextError {
    damaged(FullTextTrees.blocksName, unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }, detail)
  }

  /// What was changed beside its blocks of a term whose entries are there.
  fileprivate func changes(
    from lower: [UInt8], upTo upper: [UInt8]
  ) throws -> (added: PostingList, removed: [RowID]) {
    var changes = RecentPostings(layout.form)
    let hasChanges = try recent.reading(from: lower, upTo: upper) { try recent.count > 0 }
    if hasChanges {
      try recent.forEach(from: lower, upTo: upper) { key, value in
        guard let parsed = TermKeys.parseRecent(key), changes.take(parsed, value) else {
          throw damaged(
            FullTextTrees.recentName, unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }, "an entry breaks the format")
        }
        return true
      }
    }
    return (changes.added, changes.removed)
  }
}
