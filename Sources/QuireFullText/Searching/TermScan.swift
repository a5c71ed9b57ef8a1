// Walking through the postings of one term, block by block, in the order of rows.

internal import QuireDatabase

/// A place among the postings of a term, moved forwards: within a block by steps that double, and over blocks by the
/// search of the tree, as their keys have their last rows.
///
/// Invariants:
/// 1. `index` is that of a row of the block, or their number.
/// 2. No row is asked for that is below one that was asked for before.
struct TermScan {
  let postings: TermPostings
  private var block: PostingBlock
  private var index = 0
  /// Walks through the blocks; nil before the first one, and if there are none.
  private var cursor: ExtensionCursor<[UInt8]>?
  /// The last row of the block that the cursor is on; nil if it is on none of the term's.
  private var storedLast: RowID?
  private var hasStarted = false
  /// The first of the added postings that is not below what was asked for, and of the void ones.
  private var (addedIndex, removedIndex) = (0, 0)

  init(_ postings: TermPostings) {
    self.postings = postings
    block = PostingBlock(postings.form, postings.index)
  }

  /// How many rows have the term.
  var rowCount: Int { postings.rowCount }
  /// The last row of the block at hand.
  var lastRow: RowID { block.rows[block.rows.count - 1] }

  // MARK: Moving

  /// Goes to the first row at or above `row`; false if there is none.
  mutating func seek(_ row: RowID) throws -> Bool {
    if let last = block.rows.last, last >= row {
      index = block.rows.firstIndex(atOrAbove: row, from: index)
      return true
    }
    guard try takeBlock(row) else {
      index = block.rows.count
      return false
    }
    index = block.rows.firstIndex(atOrAbove: row, from: 0)
    return true
  }

  /// Goes to a row; false if it does not have the term.
  mutating func find(_ row: RowID) throws -> Bool { try seek(row) && block.rows[index] == row }

  /// Takes the first block with a row at or above `row`; false if there is none.
  private mutating func takeBlock(_ row: RowID) throws -> Bool {
    var row = row
    while true {
      let last = try seekStored(row)
      addedIndex = postings.added.rowIDs.firstIndex(atOrAbove: row, from: addedIndex)
      guard let last else { return takeAdded(below: nil) }
      if postings.added.count == addedIndex, postings.removed.isEmpty {
        try takeStored()
        return true
      }
      if try takeAdded(below: firstStoredRow()) { return true }
      try takeStored()
      try change(upTo: last)
      if let found = block.rows.last, found >= row { return true }
      guard let next = last.next else { return false }
      row = next
    }
  }

  /// Takes the next added postings below a row, or all that are left; false if there are none.
  private mutating func takeAdded(below end: RowID?) -> Bool {
    let rows = postings.added.rowIDs
    var count = 0
    while count < PostingForm.blockCount, addedIndex + count < rows.count,
      end.map({ rows[addedIndex + count] < $0 }) ?? true
    {
      count += 1
    }
    if count > 0 { block.take(postings.added, addedIndex..<addedIndex + count) }
    return count > 0
  }

  /// Takes out of the block what is void, and puts in what was added.
  private mutating func change(upTo last: RowID) throws {
    guard let first = block.rows.first else { return }
    removedIndex = postings.removed.firstIndex(atOrAbove: first, from: removedIndex)
    let removedEnd = postings.removed.lastIndex(atOrBelow: last, from: removedIndex)
    let addedEnd = postings.added.rowIDs.lastIndex(atOrBelow: last, from: addedIndex)
    guard removedIndex < removedEnd || addedIndex < addedEnd else { return }
    try block.change(without: postings.removed[removedIndex..<removedEnd], postings.added, addedIndex..<addedEnd)
  }

  // MARK: Stored blocks

  /// Goes to the first block that ends at or above `row`, and returns its last row; nil if there is none.
  private mutating func seekStored(_ row: RowID) throws -> RowID? {
    guard postings.hasBlocks, let index = postings.index else { return nil }
    if hasStarted {
      guard let storedLast else { return nil }
      if storedLast >= row { return storedLast }
    }
    if let cursor, hasStarted {
      // Most often it is the next one.
      storedLast = try cursor.next() ? try readLast(cursor) : nil
      guard let storedLast, storedLast < row else { return storedLast }
      return try seekStored(row, cursor)
    }
    let cursor = try index.trees.blocks.cursor()
    self.cursor = cursor
    hasStarted = true
    return try seekStored(row, cursor)
  }

  private mutating func seekStored(_ row: RowID, _ cursor: ExtensionCursor<[UInt8]>) throws -> RowID? {
    // The head has the place of the first number there is, which no row has.
    let key = TermKeys.block(postings.term, RowID(ordered: max(1, row.ordered)))
    storedLast = try cursor.seek(key) ? try readLast(cursor) : nil
    return storedLast
  }

  /// The last row of the block that the cursor is on; nil if it is one of another term.
  private func readLast(_ cursor: ExtensionCursor<[UInt8]>) throws -> RowID? {
    try cursor.withEntry { key, _ in TermKeys.lastRow(key, ofBlockOf: postings.term) } ?? nil
  }

  private func firstStoredRow() throws -> RowID? {
    let first = try cursor?.withEntry { key, value -> RowID? in
      guard let storedLast, let header = BlockHeader(value, lastRow: storedLast) else {
        throw postings.damagedBlock(storedLast)
      }
      return header.firstRow
    }
    return first ?? nil
  }

  private mutating func takeStored() throws {
    guard let storedLast else { return }
    _ = try cursor?.withEntry { key, value in try block.take(value, key: key, lastRow: storedLast) }
  }

  // MARK: What rows have

  /// The fields of the row at hand.
  mutating func mask() throws -> FieldMask {
    try block.readFrequencies()
    return block.mask(index)
  }

  /// Puts the positions of the row at hand in a field that its mask has in the place of those of `positions`.
  mutating func copyPositions(field: Int, to positions: inout [UInt32]) throws {
    try block.copyPositions(index, field, to: &positions)
  }

  /// Keeps those of some positions, which ascend, that are followed by one of the row at hand `offset` behind, in a
  /// field that its mask has.
  mutating func keep(_ starts: inout [UInt32], followedAt offset: UInt32, field: Int) throws {
    try block.keep(&starts, followedAt: offset, index, field)
  }

  // MARK: Many rows

  /// Calls `body` with one block after the other, from the first one on.
  mutating func forEachBlock(_ body: (inout PostingBlock) throws -> Void) throws {
    var pulse = SearchPulse()
    var first = RowID(.min)
    while try seek(first) {
      try pulse.beat(block.rows.count)
      try body(&block)
      guard let next = lastRow.next else { return }
      first = next
    }
  }

  /// Appends the rows of the block from that at hand on; of them only those with one of some fields.
  mutating func appendRows(to batch: inout [RowID], fields: FieldMask?) throws {
    guard let fields else {
      batch.append(contentsOf: block.rows[index...])
      return
    }
    try block.readFrequencies()
    for place in index..<block.rows.count where block.mask(place) & fields != 0 { batch.append(block.rows[place]) }
  }

  /// Keeps those rows of `batch` that have the term; of them only those with it in one of some fields.
  mutating func keep(_ batch: inout [RowID], fields: FieldMask?) throws {
    var (kept, next) = (0, 0)
    while next < batch.count, try seek(batch[next]) {
      if fields != nil { try block.readFrequencies() }
      let last = lastRow
      while next < batch.count, batch[next] <= last {
        let row = batch[next]
        index = block.rows.firstIndex(atOrAbove: row, from: index)
        if block.rows[index] == row, fields.map({ block.mask(index) & $0 != 0 }) ?? true {
          batch[kept] = row
          kept += 1
        }
        next += 1
      }
    }
    batch.removeSubrange(kept...)
  }
}

extension [RowID] {
  /// The index behind the last row at or below `row`, from `start` on.
  func lastIndex(atOrBelow row: RowID, from start: Int) -> Int {
    guard let next = row.next else { return count }
    return firstIndex(atOrAbove: next, from: start)
  }
}

extension TermKeys {
  /// The last row of a block, by its key; nil if it is none of a term's.
  @inline(__always)
  static func lastRow(_ key: RawSpan, ofBlockOf term: [UInt8]) -> RowID? {
    guard key.byteCount == term.count + 9 else { return nil }
    return unsafe key.withUnsafeBytes { key in
      guard unsafe key[term.count] == 0, unsafe key.prefix(term.count).elementsEqual(term) else { return nil }
      let row = unsafe UInt64(bigEndian: key.loadUnaligned(fromByteOffset: term.count + 1, as: UInt64.self))
      return row == 0 ? nil : RowID(ordered: row)
    }
  }
}
