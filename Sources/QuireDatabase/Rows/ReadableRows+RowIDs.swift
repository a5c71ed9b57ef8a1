// Rows by their numbers, and what code that is given a collection's rows finds around them.

internal import QuireStorage

extension RowReading {
  /// The transaction that the rows are read in, as a reading one: also in a write transaction, whose changes it shows.
  public var readTransaction: ReadTransaction { ReadTransaction(state: handle.transaction) }

  /// The same rows, for reading alone. Costs nothing.
  public var readable: ReadableRows<Object, Metadata> { ReadableRows(handle: handle) }

  /// The name of the collection. Cheaper than that of its description.
  public var collectionName: String { handle.opened.name }

  /// The description of the collection.
  public var collection: RowCollection<Object, Metadata> {
    handle.collection
  }

  /// The row of a number; nil if there is none in this collection. Touches one page per level of the row tree.
  @inlinable public func row(withID rowID: RowID) throws(DatabaseError) -> Row<Object, Metadata>? {
    guard let found = try handle.rows.row(withID: rowID) else { return nil }
    return Row(taking: found)
  }

  /// The rows of these numbers that are in this collection, in the order of the numbers as given. Looked up side by
  /// side. Touches one page per level of the row tree for each, and no key index.
  @inlinable
  public func rows(withIDs rowIDs: some Sequence<RowID>) throws(DatabaseError) -> [Row<Object, Metadata>] {
    let found = try handle.rows.rows(withIDs: Array(rowIDs))
    var rows: [Row<Object, Metadata>] = []
    rows.reserveCapacity(found.rowCount)
    while let row = found.next() { rows.append(Row(taking: row)) }
    return rows
  }

  /// The objects of the rows of these numbers that are in this collection, in the order of the numbers as given. Cost
  /// as `rows(withIDs:)`.
  public func objects(withIDs rowIDs: some Sequence<RowID>) throws(DatabaseError) -> [Object] {
    let rowIDs = Array(rowIDs)
    // The memory of all empty arrays is one, and not to be written to. Also of none the transaction says if it is over.
    if rowIDs.isEmpty {
      try handle.opened.check()
      return []
    }
    var failure: (any Error)?
    // In one piece: code that does not know `Object` by name would ask what an array of it is with each append.
    let objects = unsafe [Object](unsafeUninitializedCapacity: rowIDs.count) { room, count in
      var found = 0
      do {
        try forEachObject(withIDs: rowIDs) { _, object in
          unsafe room.initializeElement(at: found, to: object)
          found += 1
        }
      } catch { failure = error }
      count = found
    }
    if let failure { throw handle.failure(failure, nil) }
    return objects
  }

  /// Calls `body` with the objects of the rows of these numbers that are in this collection, in the order of the
  /// numbers as given, each decoded when its turn comes and kept nowhere. Cost as `rows(withIDs:)`.
  ///
  /// - Parameters:
  ///   - rowIDs: of this collection; those of rows that are not there are left out.
  ///   - body: may read, and change nothing.
  /// - Throws: also what `body` throws.
  public func forEachObject(withIDs rowIDs: [RowID], _ body: (RowID, Object) throws -> Void) throws {
    let handle = handle
    var failure: (any Error)?
    func handOver(_ rowID: RowID, _ object: Object) throws {
      do { try body(rowID, object) } catch {
        failure = error
        throw error
      }
    }
    do {
      try handle.opened.forEachRow(withIDs: rowIDs, .object) { rowID, key, row in
        if handle.isCached, let object = handle.objectCached(rowID) { return try handOver(rowID, object) }
        try unsafe handle.opened.withObject(of: row, key, handle.protections) { bytes, context in
          try handOver(rowID, try unsafe handle.decode(bytes, context, key))
        }
      }
    } catch {
      // What the closure threw is no error of the row's.
      throw failure ?? error
    }
  }

  /// The keys of the rows of these numbers that are in this collection, in the order of the numbers as given. Decodes
  /// nothing. Cost as `rows(withIDs:)`.
  public func keys(withIDs rowIDs: some Sequence<RowID>) throws(DatabaseError) -> [String] {
    var keys: [String] = []
    try handle.opened.forEachRow(withIDs: Array(rowIDs), []) { _, key, _ in keys.append(key) }
    return keys
  }

  /// The numbers of all rows, in the order of their keys' bytes. Touches no object.
  public var rowIDs: [RowID] {
    get throws(DatabaseError) { try handle.opened.rowIDs(.all) }
  }
}

extension OpenedCollection {
  /// Calls `body` with the row of a number and its key; does nothing if there is none in this collection.
  func withRow(
    withID rowID: RowID, _ halves: RowHalves, _ body: (String, RowView) throws -> Void
  ) throws(DatabaseError) {
    try check()
    guard let id else { return noteRead(nil, []) }
    do {
      let isThere: Void? = try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          let row = try unsafe RowView(bytes)
          guard row.collection == id else { return }
          guard let key = unsafe String(storedUTF8: row.key) else { throw RowView.damaged() }
          noteRead(key, halves)
          try body(key, row)
        }
      }
      if isThere == nil { transaction.recorder?.noteAllRows() }
    } catch {
      throw failure(error, nil)
    }
  }

  /// Calls `body` with the rows of these numbers that are in this collection, in their order.
  func forEachRow(
    withIDs rowIDs: [RowID], _ halves: RowHalves, _ body: (RowID, String, RowView) throws -> Void
  ) throws(DatabaseError) {
    let transaction = transaction
    try check()
    guard let id else { return noteRead(nil, []) }
    do {
      try transaction.withValues(count: rowIDs.count, in: transaction.trees.rows, { rowIDs[$0].rawValue }) {
        index, bytes in
        guard let bytes else {
          transaction.recorder?.noteAllRows()
          return
        }
        try unsafe bytes.withUnsafeBytes { bytes in
          let row = try unsafe RowView(bytes)
          guard row.collection == id else { return }
          guard let key = unsafe String(storedUTF8: row.key) else { throw RowView.damaged() }
          noteRead(key, halves)
          try body(rowIDs[index], key, row)
        }
      }
    } catch {
      throw failure(error, nil)
    }
  }

  /// The numbers of the rows in a range of keys, in the order of these or against it.
  func rowIDs(
    _ range: RowScan.Range, isReversed: Bool = false, offset: Int = 0, limit: Int = .max
  ) throws(DatabaseError) -> [RowID] {
    try check()
    var scan = RowScan(self, range)
    (scan.halves, scan.isReversed, scan.offset) = ([], isReversed, max(0, offset))
    guard let bounds = scan.bounds else {
      noteRead(nil, [])
      return []
    }
    do {
      let cursor = try IndexCursor(scan, bounds)
      var rowIDs: [RowID] = []
      if transaction.recorder == nil {
        while rowIDs.count < limit, let rowID = try cursor.nextRowID() { rowIDs.append(rowID) }
      } else {
        while rowIDs.count < limit, let entry = try cursor.next() { rowIDs.append(entry.rowID) }
      }
      return rowIDs
    } catch {
      throw failure(error, nil)
    }
  }
}
