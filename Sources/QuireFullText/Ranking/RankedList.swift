// The rows of one phrase, with their weighted frequencies and limits of their scores.

internal import QuireDatabase

/// The rows of one phrase that counts for the score, in blocks, of which each has a limit that no score in it is above.
///
/// Blocks are listed without being read: from the headers of a term's blocks, or from rows that were found before. They
/// are read in any order, and kept.
///
/// Invariants:
/// 1. `slots` has one for each block, which says where in `rows` and in `frequencies` what was read of it stands.
/// 2. Frequencies of a block are kept only as long as its rows are.
@safe final class RankedList {
  /// What was read of a block.
  private struct Slot {
    /// Where its rows begin in `rows`, and its frequencies in `frequencies`; nothing was read of what is negative.
    var rows = -1
    var frequencies = -1
    var count = 0
  }

  /// How much the phrase says.
  let rarity: Double
  /// How many rows there are.
  let rowCount: Int
  let entries: [ListedBlock]
  /// The bytes of stored blocks, so that they are not looked up again.
  private let bytes: [UInt8]
  private let postings: TermPostings?
  private let weights: [Double]
  private let slots = RawBuffer<Slot>()
  private let rows = RawBuffer<RowID>()
  private let frequencies = RawBuffer<Double>()
  private let block: PostingBlock?
  private let decoded: DecodedBlock?
  // Unchecked: for one thread, and no closure changes what a call around it reads.
  @exclusivity(unchecked) private var knownCount = 0
  /// The block that `decoded`, or `block`, has the rows of.
  @exclusivity(unchecked) private var current = -1
  /// So many blocks that were read are kept.
  private let keptCount: Int

  // MARK: Making

  /// The rows of a term.
  ///
  /// - Parameters:
  ///   - keptCount: so many blocks that were read are kept.
  ///   - keptByteCount: about so many bytes of blocks that were not read are kept; others are looked up.
  init(
    _ postings: TermPostings, _ rule: RankingRule, _ lengths: LengthReader, keptCount: Int = 256,
    keptByteCount: Int = 1 << 15
  ) throws {
    (self.postings, self.keptCount) = (postings, keptCount)
    rowCount = postings.rowCount
    rarity = rule.rarity(rowCount: postings.rowCount)
    weights = rule.weights
    let listed = try ListedBlocks(postings, rarity, rule, lengths, keptByteCount: keptByteCount)
    (entries, bytes) = (listed.blocks, listed.bytes)
    decoded = DecodedBlock(postings.form)
    let isPlain = postings.added.count == 0 && postings.removed.isEmpty
    block = isPlain ? nil : PostingBlock(postings.form, postings.index)
    makeSlots()
    rows.reserve(min(entries.count, 16) * PostingForm.blockCount)
    frequencies.reserve(min(entries.count, 16) * PostingForm.blockCount)
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
    (postings, weights, bytes, block, decoded, keptCount) = (nil, rule.weights, [], nil, nil, .max)
    rowCount = rows.count
    rarity = rule.rarity(rowCount: count)
    entries = try ListedBlocks(rows, frequencies, rarity, rule, lengths).blocks
    makeSlots()
    self.rows.append(contentsOf: rows)
    self.frequencies.append(contentsOf: frequencies)
    for (index, entry) in entries.enumerated() {
      let start = entry.added.lowerBound
      unsafe slots.base[index] = Slot(rows: start, frequencies: start, count: entry.added.count)
    }
  }

  private func makeSlots() {
    slots.reserve(entries.count)
    unsafe slots.base.initialize(repeating: Slot(), count: entries.count)
    slots.setCount(entries.count)
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

  /// The rows of a block; good until those of another one are asked for.
  func rows(at index: Int) throws -> UnsafeBufferPointer<RowID> {
    assert(entries.indices.contains(index), "there is no such block")
    if unsafe slots.base[index].rows < 0 { try read(index) }
    let slot = unsafe slots.base[index]
    return unsafe UnsafeBufferPointer(start: rows.base + slot.rows, count: slot.count)
  }

  /// The weighted frequencies of the rows of a block, whose rows were asked for last; good until those of another one
  /// are asked for.
  func frequencies(at index: Int) throws -> UnsafePointer<Double> {
    assert(entries.indices.contains(index), "there is no such block")
    if unsafe slots.base[index].frequencies < 0 { try readFrequencies(index) }
    return unsafe UnsafePointer(frequencies.base + slots.base[index].frequencies)
  }

  private func read(_ index: Int) throws {
    if unsafe knownCount >= keptCount { forget() }
    try take(index)
    let (start, found) = unsafe (rows.count, taken(entries[index]))
    unsafe rows.append(contentsOf: found)
    unsafe slots.base[index] = Slot(rows: start, count: found.count)
    unsafe knownCount += 1
  }

  private func readFrequencies(_ index: Int) throws {
    if unsafe current != index { try take(index) }
    let (start, count, entry) = unsafe (frequencies.count, slots.base[index].count, entries[index])
    guard unsafe taken(entry).count == count else { throw damaged(entry) }
    frequencies.reserve(start + count)
    let target = unsafe frequencies.base + start
    if isPlain(entry), let decoded {
      try withBytes(of: entry) { value in
        guard decoded.decodeFrequencies(value) else { throw damaged(entry) }
      }
      unsafe decoded.writeFrequencies(weights, to: target)
    } else {
      try unsafe block?.writeFrequencies(weights, to: target)
    }
    frequencies.setCount(start + count)
    unsafe slots.base[index].frequencies = start
  }

  private func forget() {
    assert(postings != nil, "rows that were found before are forgotten, and cannot be read again")
    unsafe slots.base.update(repeating: Slot(), count: slots.count)
    rows.removeAll()
    frequencies.removeAll()
    unsafe knownCount = 0
  }

  /// Whether a block is as it is stored.
  private func isPlain(_ entry: ListedBlock) -> Bool {
    entry.storedLast != nil && entry.added.isEmpty && postings?.removed.isEmpty ?? false
  }

  /// The rows of the block that was taken last.
  private func taken(_ entry: ListedBlock) -> UnsafeBufferPointer<RowID> {
    unsafe (isPlain(entry) ? decoded?.rowIDs : block?.rows) ?? UnsafeBufferPointer(start: nil, count: 0)
  }

  /// Reads the rows of a block into `decoded` or `block`.
  private func take(_ index: Int) throws {
    let entry = entries[index]
    guard let postings, let decoded else { throw damaged(entry) }
    unsafe current = index
    guard isPlain(entry), let last = entry.storedLast else { return try take(entry, postings) }
    try withBytes(of: entry) { value in
      guard decoded.decodeRows(value, lastRow: last) else { throw damaged(entry) }
    }
  }

  /// Calls `body` with the bytes of a stored block.
  private func withBytes(of entry: ListedBlock, _ body: (RawSpan) throws -> Void) throws {
    guard entry.bytes.isEmpty else {
      return try unsafe bytes.withUnsafeBytes { bytes in
        try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[entry.bytes]).bytes)
      }
    }
    guard let last = entry.storedLast, let postings, let index = postings.index else { return }
    let isThere: Void? = try index.trees.blocks.withValue(for: TermKeys.block(postings.term, last), body)
    if isThere == nil { throw damaged(entry) }
  }

  private func damaged(_ entry: ListedBlock) -> FullTextError {
    postings?.damagedBlock(entry.storedLast) ?? TermPostings.damagedInMemory
  }

  /// Takes a block with what was changed of it.
  private func take(_ entry: ListedBlock, _ postings: TermPostings) throws {
    guard let block else { throw damaged(entry) }
    guard let last = entry.storedLast else {
      return block.take(postings.added, entry.added)
    }
    let key = TermKeys.block(postings.term, last)
    try withBytes(of: entry) { value in try block.take(value, key: unsafe key.span.bytes, lastRow: last) }
    guard !postings.removed.isEmpty || !entry.added.isEmpty, block.count > 0 else { return }
    let start = postings.removed.firstIndex(atOrAbove: block.row(0), from: 0)
    let end = postings.removed.lastIndex(atOrBelow: last, from: start)
    if start < end || !entry.added.isEmpty {
      try block.change(without: postings.removed[start..<end], postings.added, entry.added)
    }
  }
}
