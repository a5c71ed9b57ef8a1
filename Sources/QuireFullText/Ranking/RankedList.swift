// The rows of one phrase, with their weighted frequencies and limits of their scores.

internal import QuireDatabase

/// The rows of one phrase that counts for the score, in blocks, of which each has a limit that no score in it is above.
///
/// Blocks are listed without being read: from the headers of a term's blocks, or from rows that were found before. They
/// are read in any order, and kept.
final class RankedList {
  /// What is known of a block that was not read.
  struct Entry {
    var firstRow: RowID
    var lastRow: RowID
    var limit: Double
    /// The last row in the key of the stored block; nil if all rows were added.
    var storedLast: RowID?
    /// Where its bytes are in `bytes`; empty if they were not kept.
    var bytes: Range<Int>
    /// Those of the added postings that are in the block.
    var added: Range<Int>
  }

  /// How much the phrase says.
  let rarity: Double
  /// How many rows there are.
  let rowCount: Int
  private(set) var entries: [Entry] = []
  private let postings: TermPostings?
  private let weights: [Double]
  /// The bytes of stored blocks, so that they are not looked up again.
  private var bytes: [UInt8] = []
  private var knownRows: [[RowID]?] = []
  private var knownFrequencies: [[Double]?] = []
  private var knownCount = 0
  private var block: PostingBlock
  private var decoded: DecodedBlock
  /// The block that `decoded`, or `block`, has the rows of.
  private var current = -1
  /// So many blocks that were read are kept.
  private static let keptCount = 256
  /// So many bytes of blocks that were not read are kept.
  private static let keptByteCount = 1 << 22

  // MARK: Making

  /// The rows of a term.
  init(_ postings: TermPostings, _ rule: RankingRule, _ lengths: LengthReader) throws {
    self.postings = postings
    rowCount = postings.rowCount
    rarity = rule.rarity(rowCount: postings.rowCount)
    weights = rule.weights
    block = PostingBlock(postings.form, postings.index)
    decoded = DecodedBlock(postings.form)
    try listBlocks(postings, rule)
    try listAdded(postings, rule, lengths)
    finish()
  }

  /// Rows that were found before.
  ///
  /// - Parameters:
  ///   - frequencies: the weighted frequency of each.
  ///   - count: how many rows the phrase has: it may be more where NEAR leaves some out.
  init(
    _ rows: [RowID], _ frequencies: [Double], rowCount count: Int, _ rule: RankingRule, _ lengths: LengthReader
  ) throws {
    assert(rows.count == frequencies.count && rows.count <= count, "rows and frequencies differ in number")
    (postings, weights) = (nil, rule.weights)
    let form = PostingForm(fieldCount: 1, detail: .rows)
    (block, decoded) = (PostingBlock(form, nil), DecodedBlock(form))
    rowCount = rows.count
    rarity = rule.rarity(rowCount: count)
    var lengths = lengths
    for start in stride(from: 0, to: rows.count, by: PostingForm.blockCount) {
      let range = start..<min(rows.count, start + PostingForm.blockCount)
      var limit = 0.0
      for index in range {
        let norm = rule.norm(length: try lengths.length(of: rows[index]))
        limit = max(limit, rule.limit(rarity, frequencies[index], norm: norm))
      }
      entries.append(
        Entry(
          firstRow: rows[range.lowerBound], lastRow: rows[range.upperBound - 1],
          limit: limit, storedLast: nil, bytes: 0..<0, added: range))
      knownRows.append(Array(rows[range]))
      knownFrequencies.append(Array(frequencies[range]))
    }
    finish()
  }

  private func finish() {
    if knownRows.isEmpty {
      knownRows = Array(repeating: nil, count: entries.count)
      knownFrequencies = Array(repeating: nil, count: entries.count)
    }
    assert(zip(entries, entries.dropFirst()).allSatisfy { $0.lastRow < $1.firstRow }, "blocks overlap")
  }

  private func listBlocks(_ postings: TermPostings, _ rule: RankingRule) throws {
    guard postings.hasBlocks, let index = postings.index else { return }
    let (lower, upper) = TermKeys.range(ofTerm: postings.term)
    try index.trees.blocks.forEach(from: lower, upTo: upper) { key, value in
      guard let last = TermKeys.lastRow(key, ofBlockOf: postings.term) else { return true }
      guard let header = BlockHeader(value, lastRow: last), entries.last.map({ $0.lastRow < header.firstRow }) ?? true
      else { throw index.trees.damagedBlock(key, "a block breaks the format") }
      let start = bytes.count
      if start < Self.keptByteCount { unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }
      entries.append(
        Entry(
          firstRow: header.firstRow, lastRow: last, limit: rule.limit(rarity, header.limits), storedLast: last,
          bytes: start..<bytes.count, added: 0..<0))
      return true
    }
  }

  /// Puts the added postings into the blocks in whose rows they lie, and into blocks of their own behind them.
  private func listAdded(_ postings: TermPostings, _ rule: RankingRule, _ lengths: LengthReader) throws {
    let added = postings.added
    guard added.count > 0 else { return }
    var block = PostingBlock(postings.form, nil)
    block.take(added, 0..<added.count)
    var lengths = lengths
    func limit(_ index: Int) throws -> Double {
      let frequency = block.frequency(index, rule.weights, postings.form.allFields)
      return rule.limit(rarity, frequency, norm: rule.norm(length: try lengths.length(of: added.rowIDs[index])))
    }
    var next = 0
    for index in entries.indices where next < added.count {
      let start = next
      while next < added.count, added.rowIDs[next] <= entries[index].lastRow {
        entries[index].limit = max(entries[index].limit, try limit(next))
        next += 1
      }
      entries[index].added = start..<next
      if start < next { entries[index].firstRow = min(entries[index].firstRow, added.rowIDs[start]) }
    }
    while next < added.count {
      let range = next..<min(added.count, next + PostingForm.blockCount)
      let greatest = try range.reduce(0) { max($0, try limit($1)) }
      entries.append(
        Entry(
          firstRow: added.rowIDs[range.lowerBound], lastRow: added.rowIDs[range.upperBound - 1], limit: greatest,
          storedLast: nil, bytes: 0..<0, added: range))
      next = range.upperBound
    }
  }

  // MARK: Reading

  /// The first block that ends at or above `row`, from `start` on; the number of blocks if there is none.
  func firstEntry(endingAtOrAbove row: RowID, from start: Int = 0) -> Int {
    var (low, high) = (start, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].lastRow < row { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The rows of a block.
  func rows(at index: Int) throws -> [RowID] {
    if let rows = knownRows[index] { return rows }
    if knownCount >= Self.keptCount { forget() }
    try read(index)
    let rows = isPlain(entries[index]) ? Array(decoded.rowIDs[..<decoded.count]) : block.rows
    knownRows[index] = rows
    knownCount += 1
    return rows
  }

  /// The weighted frequencies of the rows of a block.
  func frequencies(at index: Int) throws -> [Double] {
    if let frequencies = knownFrequencies[index] { return frequencies }
    if current != index { try read(index) }
    var frequencies: [Double] = []
    if isPlain(entries[index]) {
      try withBytes(of: entries[index]) { value in
        guard decoded.decodeFrequencies(value) else { throw damaged(entries[index]) }
      }
      decoded.appendFrequencies(weights, to: &frequencies)
    } else {
      try block.appendFrequencies(weights, to: &frequencies)
    }
    knownFrequencies[index] = frequencies
    return frequencies
  }

  private func forget() {
    // Of rows that were found before there is nothing to read again.
    guard postings != nil else { return }
    for place in knownRows.indices { (knownRows[place], knownFrequencies[place]) = (nil, nil) }
    knownCount = 0
  }

  /// Whether a block is as it is stored.
  private func isPlain(_ entry: Entry) -> Bool {
    entry.storedLast != nil && entry.added.isEmpty && postings?.removed.isEmpty ?? false
  }

  private func read(_ index: Int) throws {
    guard let postings else { return }
    current = index
    let entry = entries[index]
    guard isPlain(entry), let last = entry.storedLast else { return try take(entry, postings) }
    try withBytes(of: entry) { value in
      guard decoded.decodeRows(value, lastRow: last) else { throw damaged(entry) }
    }
  }

  /// Calls `body` with the bytes of a stored block.
  private func withBytes(of entry: Entry, _ body: (RawSpan) throws -> Void) throws {
    guard entry.bytes.isEmpty else {
      return try unsafe bytes.withUnsafeBytes { bytes in
        try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[entry.bytes]).bytes)
      }
    }
    guard let last = entry.storedLast, let postings, let index = postings.index else { return }
    let isThere: Void? = try index.trees.blocks.withValue(for: TermKeys.block(postings.term, last), body)
    if isThere == nil { throw damaged(entry) }
  }

  private func damaged(_ entry: Entry) -> FullTextError {
    postings?.damagedBlock(entry.storedLast) ?? TermPostings.damagedInMemory
  }

  /// Takes a block with what was changed of it.
  private func take(_ entry: Entry, _ postings: TermPostings) throws {
    guard let last = entry.storedLast else {
      return block.take(postings.added, entry.added)
    }
    let key = TermKeys.block(postings.term, last)
    try withBytes(of: entry) { value in try block.take(value, key: unsafe key.span.bytes, lastRow: last) }
    guard !postings.removed.isEmpty || !entry.added.isEmpty, let first = block.rows.first else { return }
    let start = postings.removed.firstIndex(atOrAbove: first, from: 0)
    let end = postings.removed.lastIndex(atOrBelow: last, from: start)
    if start < end || !entry.added.isEmpty {
      try block.change(without: postings.removed[start..<end], postings.added, entry.added)
    }
  }
}
