// The records and lengths of rows, sorted while a full text is built.

internal import QuireDatabase

/// Takes the records of rows, which come in ascending order, and makes the entries of "rows" and "lengths" of them.
final class RowRecords {
  let rows: ExtensionSorter<RowID>
  let lengths: ExtensionSorter<[UInt8]>
  /// The lengths of all rows together.
  private(set) var totalLength: UInt64 = 0
  private var chunk = LengthChunk()
  private var number: UInt64?
  /// The lengths that are stored: those of the first chunk may be.
  private let stored: RowLengths?

  /// - Parameter stored: the lengths of the rows below; nil if there are none.
  init(rows: ExtensionSorter<RowID>, lengths: ExtensionSorter<[UInt8]>, above stored: RowLengths?) {
    (self.rows, self.lengths, self.stored) = (rows, lengths, stored)
  }

  func add(_ record: TextRecord, of row: RowID) throws {
    let next = LengthChunk.number(of: row)
    if number != next {
      if number == nil, let stored { chunk = try stored.chunk(next) } else { try end() }
      number = next
    }
    chunk[LengthChunk.place(of: row)] = UInt16(clamping: record.length)
    totalLength += record.length
    try rows.append(row, record.bytes)
  }

  /// Ends the chunk at hand.
  func end() throws {
    guard let number else { return }
    try lengths.append(LengthChunk.key(number), chunk.bytes)
    (chunk, self.number) = (LengthChunk(), nil)
  }
}

extension FullTextTrees {
  /// Brings in what has happened to rows while the full text was built: "changed" has the records that they have now.
  func applyChangedRecords() throws {
    // A change ends a walk: some rows at a time.
    let stepCount = 1 << 11
    var next: RowID? = RowID(.min)
    while let first = next {
      var changes: [(row: RowID, record: TextRecord?)] = []
      next = nil
      try changed.forEach(from: first) { row, bytes in
        if changes.count == stepCount {
          next = row
          return false
        }
        let record = bytes.byteCount == 0 ? nil : try self.record(bytes, of: row, inTree: Self.changedName)
        changes.append((row, record))
        return true
      }
      try apply(changes)
    }
    try changed.removeAll()
  }

  private func apply(_ changes: [(row: RowID, record: TextRecord?)]) throws {
    var total = try totalLength
    let known = RowLengths(self)
    var chunks: [UInt64: LengthChunk] = [:]
    for (row, record) in changes {
      let number = LengthChunk.number(of: row)
      var chunk = try chunks[number] ?? known.chunk(number)
      chunk[LengthChunk.place(of: row)] = UInt16(clamping: record?.length ?? 0)
      chunks[number] = chunk
      // The total is of the same rows as the records: it is none below.
      total = total &- (try self.record(of: row)?.length ?? 0) &+ (record?.length ?? 0)
      if let record { try rows.put(record.bytes, for: row) } else { try rows.remove(row) }
    }
    for (number, chunk) in chunks.sorted(by: { $0.key < $1.key }) {
      let bytes = chunk.bytes
      if bytes.isEmpty {
        try lengths.remove(LengthChunk.key(number))
      } else {
        try lengths.put(bytes, for: LengthChunk.key(number))
      }
    }
    try setTotalLength(total)
  }
}
