// Rows of one collection where they are stored, in the order of their numbers or as they are asked for.

internal import QuireStorage

extension RowLoan {
  /// So many rows are looked up before a walk is asked whether it goes on.
  private static let batchCount = 256

  /// Whether most rows of the database are the collection's, so that walking through all of them, a leaf at a time,
  /// costs less than looking up its own.
  func isMostOfDatabase() throws -> Bool {
    let transaction = opened.transaction
    return try 2 * opened.rowCount() >= transaction.count(of: transaction.trees.rows)
  }

  /// Calls `body` with the numbers and bytes of all rows of the database that are in collection `id`, or of those
  /// above a number, in the order of the numbers, until it returns false. Compiled into the one who walks, so that a
  /// row costs one call.
  @inline(__always)
  func walkThroughRows(
    of id: CollectionID, above bound: RowID?, _ body: (RowID, UnsafeRawBufferPointer, RowFrame) throws -> Bool
  ) throws {
    let transaction = opened.transaction
    var cursor = try transaction.cursor(transaction.trees.rows)
    if let bound {
      guard bound.rawValue < .max else { return }
      _ = try cursor.seek(bound.rawValue + 1)
      guard cursor.isOnEntry else { return }
    }
    transaction.lentCount &+= 1
    defer { transaction.lentCount &-= 1 }
    try cursor.forEachNumber { number, value in
      try unsafe value.withUnsafeBytes { row in
        if row.count >= RowView.headerByteCount, unsafe CollectionID(frameOf: row) != id { return true }
        guard let rowID = RowID(stored: number) else { throw RowView.damaged() }
        return try unsafe body(rowID, row, Self.frame(row))
      }
    }
  }

  /// Calls `body` with those of some rows that are in the collection, in the order given, until it returns false.
  func lookUpRows(
    _ rowIDs: [RowID], _ body: (RowID, UnsafeRawBufferPointer, RowFrame) throws -> Bool
  ) throws {
    let transaction = opened.transaction
    guard let id = opened.id else { return opened.noteRead(nil, []) }
    var start = 0
    var goesOn = true
    while goesOn, start < rowIDs.count {
      let first = start
      start = min(rowIDs.count, first + Self.batchCount)
      try transaction.withValues(
        count: start - first, in: transaction.trees.rows, { rowIDs[first + $0].rawValue }
      ) { index, value in
        guard goesOn else { return }
        guard let value else {
          transaction.recorder?.noteAllRows()
          return
        }
        try unsafe value.withUnsafeBytes { row in
          let frame = try unsafe Self.frame(row)
          guard frame.collection == id else { return }
          if transaction.recorder != nil {
            let key = try unsafe String(storedUTF8: RowView(row).key)
            guard let key else { throw RowView.damaged() }
            opened.noteRead(key, halves)
          }
          goesOn = try unsafe body(rowIDs[first + index], row, frame)
        }
      }
    }
  }

  /// Where the parts of a row are, all of which are in it.
  @inline(__always) private static func frame(_ row: UnsafeRawBufferPointer) throws -> RowFrame {
    guard let frame = unsafe RowFrame(row), frame.objectOffset <= row.count else { throw RowView.damaged() }
    return frame
  }
}

extension CollectionID {
  /// The collection in the header of a row.
  @inline(__always) fileprivate init(frameOf row: UnsafeRawBufferPointer) {
    self.init(UInt32(littleEndian: unsafe row.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
  }
}
