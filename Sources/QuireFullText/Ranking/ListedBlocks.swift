// The blocks of a phrase's rows with limits of their scores, before they are read.

internal import QuireDatabase

/// What is known of a block that was not read.
struct ListedBlock {
  var firstRow: RowID
  var lastRow: RowID
  /// No score in the block is above.
  var limit: Double
  /// The last row in the key of the stored block; nil if all rows were added.
  var storedLast: RowID?
  /// Where its bytes are among those that were kept; empty if they were not.
  var bytes: Range<Int>
  /// Those of the added postings that are in the block.
  var added: Range<Int>
}

/// The blocks of a phrase, from the headers of a term's blocks, or of rows that were found before.
///
/// Invariant: blocks ascend, and have no rows in common.
struct ListedBlocks {
  private(set) var blocks: [ListedBlock] = []
  /// The bytes of stored blocks, so that they are not looked up again.
  private(set) var bytes: [UInt8] = []
  private let rule: RankingRule
  private let rarity: Double
  private var lengths: LengthReader

  /// The rows of a term.
  ///
  /// - Parameter keptByteCount: about so many bytes of blocks are kept at the most.
  init(
    _ postings: TermPostings, _ rarity: Double, _ rule: RankingRule, _ lengths: LengthReader, keptByteCount: Int
  ) throws {
    (self.rule, self.rarity, self.lengths) = (rule, rarity, lengths)
    try listStored(postings, keptByteCount)
    try listAdded(postings)
    checkOrder()
  }

  /// Rows that were found before, with the weighted frequency of each.
  init(
    _ rows: [RowID], _ frequencies: [Double], _ rarity: Double, _ rule: RankingRule, _ lengths: LengthReader
  ) throws {
    (self.rule, self.rarity, self.lengths) = (rule, rarity, lengths)
    for start in stride(from: 0, to: rows.count, by: PostingForm.blockCount) {
      let range = start..<min(rows.count, start + PostingForm.blockCount)
      var greatest = 0.0
      for index in range { greatest = max(greatest, try limit(of: rows[index], frequencies[index])) }
      append(rows, range, greatest)
    }
    checkOrder()
  }

  private func checkOrder() {
    assert(zip(blocks, blocks.dropFirst()).allSatisfy { $0.lastRow < $1.firstRow }, "blocks overlap")
  }

  private mutating func limit(of row: RowID, _ frequency: Double) throws -> Double {
    rule.limit(rarity, frequency, norm: rule.norm(length: try lengths.length(of: row)))
  }

  /// Appends a block of rows that are in no stored one.
  private mutating func append(_ rows: [RowID], _ range: Range<Int>, _ limit: Double) {
    blocks.append(
      ListedBlock(
        firstRow: rows[range.lowerBound], lastRow: rows[range.upperBound - 1], limit: limit, storedLast: nil,
        bytes: 0..<0, added: range))
  }

  private mutating func listStored(_ postings: TermPostings, _ keptByteCount: Int) throws {
    guard postings.hasBlocks, let index = postings.index else { return }
    let blockCount = postings.rowCount / PostingForm.blockCount + 2
    blocks.reserveCapacity(blockCount)
    let (lower, upper) = TermKeys.range(ofTerm: postings.term)
    try index.trees.blocks.forEach(from: lower, upTo: upper) { key, value in
      guard let last = TermKeys.lastRow(key, ofBlockOf: postings.term) else { return true }
      guard let header = BlockHeader(value, lastRow: last), blocks.last.map({ $0.lastRow < header.firstRow }) ?? true
      else { throw index.trees.damagedBlock(key, "a block breaks the format") }
      let start = bytes.count
      if start < keptByteCount { unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }
      blocks.append(
        ListedBlock(
          firstRow: header.firstRow, lastRow: last, limit: rule.limit(rarity, header.limits), storedLast: last,
          bytes: start..<bytes.count, added: 0..<0))
      return true
    }
  }

  /// Puts the added postings into the blocks in whose rows they lie, and into blocks of their own behind them.
  private mutating func listAdded(_ postings: TermPostings) throws {
    let added = postings.added
    guard added.count > 0 else { return }
    let block = PostingBlock(postings.form, nil)
    block.take(added, 0..<added.count)
    func frequency(_ index: Int) -> Double { block.frequency(index, rule.weights, postings.form.allFields) }
    var next = 0
    for index in blocks.indices where next < added.count {
      let start = next
      while next < added.count, added.rowIDs[next] <= blocks[index].lastRow {
        blocks[index].limit = max(blocks[index].limit, try limit(of: added.rowIDs[next], frequency(next)))
        next += 1
      }
      blocks[index].added = start..<next
      if start < next { blocks[index].firstRow = min(blocks[index].firstRow, added.rowIDs[start]) }
    }
    while next < added.count {
      let range = next..<min(added.count, next + PostingForm.blockCount)
      var greatest = 0.0
      for index in range { greatest = max(greatest, try limit(of: added.rowIDs[index], frequency(index))) }
      append(added.rowIDs, range, greatest)
      next = range.upperBound
    }
  }
}
