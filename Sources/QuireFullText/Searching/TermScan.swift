// Walking through the postings of one term, block by block, in the order of rows.

internal import QuireDatabase

/// A place among the postings of a term, moved forwards: within a block by steps that double, and over blocks by the
/// search of the tree, as their keys have their last rows.
///
/// Invariants:
/// 1. `index` is that of a row of the block, or their number.
/// 2. No row is asked for that is below one that was asked for before.
final class TermScan {
  let postings: TermPostings
  let block: PostingBlock
  // Unchecked, here and below: for one thread, and no closure changes what a call around it reads.
  @exclusivity(unchecked) private var uncheckedIndex = 0
  /// Walks through the blocks; nil before the first one, and if there are none.
  @exclusivity(unchecked) private var cursor: ExtensionCursor<[UInt8]>?
  /// The last row of the block that the cursor is on; nil if it is on none of the term's.
  @exclusivity(unchecked) private var storedLast: RowID?
  @exclusivity(unchecked) private var hasStarted = false
  /// The first of the added postings that is not below what was asked for, and of the void ones.
  @exclusivity(unchecked) private var (addedIndex, removedIndex) = (0, 0)

  init(_ postings: TermPostings) {
    self.postings = postings
    block = PostingBlock(postings.form, postings.index)
  }

  /// How many rows have the term.
  var rowCount: Int { postings.rowCount }
  /// Where the row at hand is in the block.
  var index: Int { @inline(__always) get { unsafe uncheckedIndex } }

  // MARK: Moving

  /// Goes to the first row at or above `row`; false if there is none.
  func seek(_ row: RowID) throws -> Bool {
    if let last = block.lastRow, last >= row {
      unsafe uncheckedIndex = block.firstIndex(atOrAbove: row, from: uncheckedIndex)
      return true
    }
    guard try takeBlock(row) else {
      unsafe uncheckedIndex = block.count
      return false
    }
    unsafe uncheckedIndex = block.firstIndex(atOrAbove: row, from: 0)
    return true
  }

  /// Takes the first block with a row at or above `row`; false if there is none.
  private func takeBlock(_ row: RowID) throws -> Bool {
    var row = row
    while true {
      let last = try seekStored(row)
      unsafe addedIndex = postings.added.rowIDs.firstIndex(atOrAbove: row, from: addedIndex)
      guard let last else { return takeAdded(below: nil) }
      if unsafe postings.added.count == addedIndex, postings.removed.isEmpty {
        try takeStored()
        return true
      }
      // What was added behind the block does not ask where it begins.
      let isAddedBefore = unsafe addedIndex < postings.added.count && postings.added.rowIDs[addedIndex] <= last
      if try isAddedBefore && takeAdded(below: firstStoredRow()) { return true }
      try takeStored()
      try change(upTo: last)
      if let found = block.lastRow, found >= row { return true }
      guard let next = last.next else { return false }
      row = next
    }
  }

  /// Takes the next added postings below a row, or all that are left; false if there are none.
  private func takeAdded(below end: RowID?) -> Bool {
    let rows = postings.added.rowIDs
    var count = 0
    let start = unsafe addedIndex
    while count < PostingForm.blockCount, start + count < rows.count, end.map({ rows[start + count] < $0 }) ?? true {
      count += 1
    }
    if count > 0 { block.take(postings.added, start..<start + count) }
    return count > 0
  }

  /// Takes out of the block what is void, and puts in what was added.
  private func change(upTo last: RowID) throws {
    guard block.count > 0 else { return }
    unsafe removedIndex = postings.removed.firstIndex(atOrAbove: block.row(0), from: removedIndex)
    let removed = unsafe removedIndex..<postings.removed.lastIndex(atOrBelow: last, from: removedIndex)
    let added = unsafe addedIndex..<postings.added.rowIDs.lastIndex(atOrBelow: last, from: addedIndex)
    if removed.isEmpty && added.isEmpty { return }
    try block.change(without: postings.removed[removed], postings.added, added)
  }

  // MARK: Stored blocks

  /// Goes to the first block that ends at or above `row`, and returns its last row; nil if there is none.
  private func seekStored(_ row: RowID) throws -> RowID? {
    guard postings.hasBlocks, let index = postings.index else { return nil }
    if unsafe hasStarted {
      guard let storedLast = unsafe storedLast else { return nil }
      if storedLast >= row { return storedLast }
    }
    if let cursor = unsafe cursor, unsafe hasStarted {
      // Most often it is the next one.
      unsafe storedLast = try cursor.next() ? try readLast(cursor) : nil
      guard let storedLast = unsafe storedLast, storedLast < row else { return unsafe storedLast }
      return try seekStored(row, cursor)
    }
    let cursor = try index.trees.blocks.cursor()
    unsafe (self.cursor, hasStarted) = (cursor, true)
    return try seekStored(row, cursor)
  }

  private func seekStored(_ row: RowID, _ cursor: ExtensionCursor<[UInt8]>) throws -> RowID? {
    // The head has the place of the first number there is, which no row has.
    let key = TermKeys.block(postings.term, RowID(ordered: max(1, row.ordered)))
    unsafe storedLast = try cursor.seek(key) ? try readLast(cursor) : nil
    return unsafe storedLast
  }

  /// The last row of the block that the cursor is on; nil if it is one of another term.
  private func readLast(_ cursor: ExtensionCursor<[UInt8]>) throws -> RowID? {
    var last: RowID?
    _ = try cursor.lendEntry { key, _ in last = TermKeys.lastRow(key, ofBlockOf: postings.term) }
    return last
  }

  private func firstStoredRow() throws -> RowID? {
    var first: RowID?
    _ = try unsafe cursor?.lendEntry { _, value in
      guard let storedLast = unsafe storedLast, let header = BlockHeader(value, lastRow: storedLast) else {
        throw unsafe postings.damagedBlock(storedLast)
      }
      first = header.firstRow
    }
    return first
  }

  private func takeStored() throws {
    guard let storedLast = unsafe storedLast else { return }
    _ = try unsafe cursor?.lendEntry { key, value in try block.take(value, key: key, lastRow: storedLast) }
  }

  // MARK: What rows have

  /// The fields of the row at hand.
  func mask() throws -> FieldMask {
    try block.readFrequencies()
    return block.mask(index)
  }

  // MARK: Many rows

  /// Calls `body` with one block after the other, from the first one on.
  func forEachBlock(_ body: (PostingBlock) throws -> Void) throws {
    var pulse = SearchPulse()
    var first = RowID(.min)
    while try seek(first) {
      try pulse.beat(block.count)
      try body(block)
      guard let next = block.lastRow?.next else { return }
      first = next
    }
  }

  /// Appends the rows of the block from that at hand on; of them only those with one of some fields.
  func appendRows(to batch: inout [RowID], fields: FieldMask?) throws {
    guard let fields else {
      unsafe batch.append(contentsOf: block.rows[index...])
      return
    }
    try block.readFrequencies()
    for place in index..<block.count where block.mask(place) & fields != 0 { batch.append(block.row(place)) }
  }

  /// Keeps those rows of `batch` that have the term; of them only those with it in one of some fields.
  func keep(_ batch: inout [RowID], fields: FieldMask?) throws {
    let end = batch.count
    let kept = try unsafe batch.withUnsafeMutableBufferPointer { batch in
      var (kept, next) = (0, 0)
      while next < end, try unsafe seek(batch[next]) {
        if fields != nil { try block.readFrequencies() }
        let (rows, last) = unsafe (block.rows, block.row(block.count - 1))
        var place = index
        while next < end {
          let row = unsafe batch[next]
          if row > last { break }
          place = unsafe rows.firstIndex(atOrAbove: row, from: place)
          if unsafe rows[place] == row, fields.map({ block.mask(place) & $0 != 0 }) ?? true {
            unsafe batch[kept] = row
            kept += 1
          }
          next += 1
        }
        unsafe uncheckedIndex = place
      }
      return kept
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
