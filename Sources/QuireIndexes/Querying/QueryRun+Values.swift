// Values that are read from indexes, and not from rows.

internal import QuireDatabase

extension QueryRun {
  /// The values of a column of rows, in the order given; nil if records do not tell them, or if they do not come back
  /// from their bytes.
  func indexedValues<Value: SortKey>(of column: Column, _ rowIDs: [RowID]) throws -> [Value]? {
    guard let view, case .best = choice, let place = view.place(of: column.id) else { return nil }
    var values: [Value] = []
    values.reserveCapacity(rowIDs.count)
    try view.trees.records.withValues(for: rowIDs) { index, bytes in
      try view.withRecord(rowIDs[index], bytes) { record in
        if let value = record.values(at: place).first.flatMap({ Value.fromSortBytes($0) }) { values.append(value) }
      }
    }
    return values.count == rowIDs.count ? values : nil
  }

  /// Whether records tell the values of a column.
  func tells(_ column: Column) -> Bool {
    guard let view, case .best = choice else { return false }
    return view.place(of: column.id) != nil
  }

  /// Whether all rows of the collection are found, in the order of their numbers.
  var isWholeCollection: Bool {
    guard terms.limit == nil, terms.offset == 0, terms.order.isEmpty, case .all = terms.condition else { return false }
    return true
  }

  /// The different values of a column in all rows, with the number of rows of each: by skipping in an index that begins
  /// with the column from one value to the next. Nil if there is none, or if values do not come back from their bytes.
  func groups<Value: SortKey>(of column: Column) throws -> [(value: Value, count: Int)]? {
    guard let view, case .best = choice else { return nil }
    let index = view.list.indexes.indices.first { number in
      let own = view.list.indexes[number]
      // A list further behind would give a row several entries, or none.
      return own.hasEntries && view.map.isReady[number] && own.holdsAll && own.columns[0].column.id == column.id
        && own.columns.allSatisfy { $0.column.id.kind == .value }
    }
    guard let index else { return nil }
    let tree = try view.trees.tree(index)
    let first = view.list.indexes[index].columns[0]
    var groups: [(value: Value, count: Int)] = []
    var lower: [UInt8]? = []
    while let from = lower {
      let cursor = try tree.cursor()
      guard try cursor.seek(from), let key = cursor.key else { break }
      guard let rowID = IndexKey.rowID(key) else { throw view.trees.shortKey(in: index) }
      let found = try view.trees.records.withValue(for: rowID) { bytes in
        try view.withRecord(rowID, bytes) { view.value(column.id, $0) }
      }
      // A value that was cut need not be alone with its beginning.
      guard let bytes = found, bytes.count < IndexKey.columnByteCount, let value = Value.fromSortBytes(bytes) else {
        return nil
      }
      let prefix = first.keyBytes(bytes)
      // Else the walk might never end.
      guard key.starts(with: prefix) else { throw view.trees.otherKey(rowID, in: index) }
      lower = prefix.endOfPrefix
      groups.append((value, try tree.count(from: prefix, upTo: lower)))
    }
    return first.isDescending ? groups.reversed() : groups
  }
}
