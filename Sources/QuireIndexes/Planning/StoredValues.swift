// Values of rows where they are stored: of most, the fields tell them that are asked for.

internal import QuireDatabase

/// One field of stored rows. What fields do not tell is asked of the decoded rows.
struct StoredValues<Object: Sendable, Metadata: Sendable, Value: SortKey> {
  private let reader: FieldReader<Object, Metadata>
  private let field: Int?
  private let path: KeyPath<Object, Value>

  init(_ rows: ReadableRows<Object, Metadata>, _ path: KeyPath<Object, Value>) {
    reader = FieldReader(rows)
    field = reader.add(path)
    self.path = path
  }

  /// The values of all rows in the order of their numbers, or of some in the order given.
  func all(_ rowIDs: [RowID]?) throws -> [Value] {
    var values: [Value] = []
    // Not of every type a value comes back from its bytes.
    var comesBack = true
    func take(_: RowID, _ fields: StoredFields) throws -> Bool {
      var value: Value?
      if comesBack {
        let isTold = fields.hasValue(field) { bytes in
          value = Value.fromSortBytes(unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) })
          return true
        }
        comesBack = isTold == nil || value != nil
      }
      values.append(try value ?? reader.object()[keyPath: path])
      return true
    }
    if let rowIDs {
      values.reserveCapacity(rowIDs.count)
      try reader.forEachRow(withIDs: rowIDs, take)
    } else {
      try reader.forEachRow(take)
    }
    return values
  }
}

/// An order of stored rows by fields of their objects, or by others, for which each row is decoded.
struct StoredOrder<Object: Sendable, Metadata: Sendable> {
  private let rows: ReadableRows<Object, Metadata>
  private let order: [KeyColumn]
  private let reader: FieldReader<Object, Metadata>
  /// What the reader calls the columns; nil if rows do not tell all of them.
  private let fields: [Int]?

  init(_ rows: ReadableRows<Object, Metadata>, _ order: [KeyColumn]) {
    (self.rows, self.order) = (rows, order)
    let reader = FieldReader(rows)
    self.reader = reader
    let found = order.compactMap { reader.add($0.column.id) }
    fields = found.count == order.count ? found : nil
  }

  /// Calls `body` with some rows, in the order given, and the bytes by which they stand in the order.
  func forEachKey(_ rowIDs: [RowID], _ body: (RowID, [UInt8]) -> Void) throws {
    guard let fields else {
      for start in stride(from: 0, to: rowIDs.count, by: RowFinder.batchCount) {
        for row in try rows.rows(withIDs: rowIDs[start..<min(rowIDs.count, start + RowFinder.batchCount)]) {
          body(row.rowID, try OrderKey.bytes(order) { try $0.value(of: row.object, row.metadata) })
        }
      }
      return
    }
    try reader.forEachRow(withIDs: rowIDs) { rowID, stored in
      if let key = key(stored, fields) {
        body(rowID, key)
      } else {
        let object = try reader.object()
        body(rowID, try OrderKey.bytes(order) { try $0.value(of: object, Metadata?.none) })
      }
      return true
    }
  }

  /// The bytes of the fields of the row that is lent; nil if they are not told.
  private func key(_ stored: StoredFields, _ fields: [Int]) -> [UInt8]? {
    var key: [UInt8] = []
    for (column, field) in zip(order, fields) {
      let isTold = stored.hasValue(field) { bytes in
        unsafe bytes.withUnsafeBytes { bytes in
          if column.isDescending { unsafe key.append(contentsOf: bytes.lazy.map { ~$0 }) } else { unsafe key += bytes }
        }
        return true
      }
      if isTold == nil { return nil }
    }
    return key
  }
}
