// Making the record of a row, and the keys of its entries.

internal import QuireDatabase

extension IndexFields {
  /// The record of a row, with fields at the places of `map`.
  func record<Object: Sendable, Metadata: Sendable>(
    _ object: Object, _ metadata: Metadata?, _ map: IndexMap
  ) throws -> RowRecord {
    var record = RowRecord()
    for (place, field) in map.placedFields {
      switch fields[field] {
      case .isHeld(let index):
        record.append(at: place, try filters[index].isTrue(object, metadata) ? [[]] : [])
      case .column(let column) where column.id.kind == .value:
        let source = column.source(of: Object.self, Metadata.self)
        try record.append(at: place) { try source.append(object, metadata, &$0) { _ in } }
      case .column(let column): record.append(at: place, try column.values(of: object, metadata))
      }
    }
    return record
  }
}

extension IndexList {
  /// The keys of a row in an index, in order and each once; none if its condition leaves the row out, or if the record
  /// does not know one of its columns.
  ///
  /// - Throws: `damaged` if the record has several values of a column that is one.
  func keys(of record: RecordView, in number: Int, _ map: IndexMap, _ rowID: RowID) throws -> [[UInt8]] {
    guard indexes[number].hasEntries else { return [] }
    if let parts = map.keyParts[number] {
      var keys: [[UInt8]] = []
      try withKey(of: record, in: number, parts, rowID) { key in
        keys.append(unsafe key.withUnsafeBytes { unsafe [UInt8]($0) })
      }
      return keys
    }
    if let held = fields.held[number] {
      guard let place = map.places[held], record.hasValue(at: place) else { return [] }
    }
    let columns = indexes[number].columns
    var keys: [[UInt8]] = [[]]
    for (field, column) in zip(fields.columns[number], columns) {
      guard let place = map.places[field] else { return [] }
      if column.column.id.kind == .value {
        var isFirst = true
        let count = unsafe record.forEachValue(at: place) { value in
          guard isFirst else { return }
          isFirst = false
          for index in keys.indices { unsafe column.appendKeyBytes(value, to: &keys[index]) }
        }
        guard (count ?? 1) == 1 else {
          throw severalValues(in: number, rowID, count ?? 0)
        }
      } else {
        let before = keys
        keys = []
        unsafe record.forEachValue(at: place) { value in
          for var key in before {
            unsafe column.appendKeyBytes(value, to: &key)
            keys.append(key)
          }
        }
      }
      guard record.knows(place) else { return [] }
    }
    let suffix = rowID.orderedBytes
    assert(keys.allSatisfy { $0.count <= IndexKey.mostByteCount - suffix.count }, "a key is longer than keys are")
    if keys.count == 1 { return [keys[0] + suffix] }
    // Elements that are the same as far as keys have them are one entry.
    return keys.distinctInOrder().map { $0 + suffix }
  }

  /// Calls `body` with the key of a row in an index of which each row that it holds has one entry; does not if the
  /// index does not hold the row, or if the record does not know one of the columns. Allocates nothing.
  ///
  /// - Parameter parts: what the map says of the index.
  /// - Throws: `damaged` if the record has another number of values of one; and what `body` throws.
  func withKey(
    of record: RecordView, in number: Int, _ parts: borrowing IndexMap.KeyParts, _ rowID: RowID,
    _ body: (RawSpan) throws -> Void
  ) throws {
    if let held = parts.heldPlace, !record.hasValue(at: held) { return }
    try unsafe withUnsafeTemporaryAllocation(byteCount: IndexKey.mostByteCount, alignment: 8) { room in
      var count = 0
      for index in parts.columns.indices {
        let column = parts.columns[index]
        guard let (first, valueCount) = unsafe record.firstValue(at: column.place) else { return }
        guard let value = unsafe first, valueCount == 1 else { throw severalValues(in: number, rowID, valueCount) }
        unsafe IndexKey.write(value, isDescending: column.isDescending, to: room, at: &count)
      }
      assert(count <= IndexKey.mostByteCount - IndexKey.rowIDByteCount, "a key has no room for the row's number")
      unsafe room.storeBytes(of: rowID.orderedWord, toByteOffset: count, as: UInt64.self)
      let key = unsafe UnsafeRawBufferPointer(rebasing: room[..<(count + IndexKey.rowIDByteCount)])
      try unsafe body(key.bytes)
    }
  }

  private func severalValues(in number: Int, _ rowID: RowID, _ count: Int) -> IndexError {
    .damaged(index: indexes[number].name, detail: "\(rowID) has \(count) values of one column")
  }

  /// Whether one of the values is none or not a number, which a unique index lets through.
  func isExempt(_ record: RecordView, in number: Int, _ map: IndexMap) -> Bool {
    zip(fields.columns[number], indexes[number].exempt).contains { field, exempt in
      guard !exempt.isEmpty, let place = map.places[field] else { return false }
      return record.values(at: place).contains { exempt.contains($0) }
    }
  }

  /// Whether two records have the same of all that the entries of an index are made of.
  func isSame(_ one: RecordView, as other: RecordView, in number: Int, _ map: IndexMap) -> Bool {
    (fields.columns[number] + (fields.held[number].map { [$0] } ?? [])).allSatisfy { field in
      map.places[field].map { one.isSame(as: other, at: $0) } ?? true
    }
  }
}
