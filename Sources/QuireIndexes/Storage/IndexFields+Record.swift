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
    if let held = fields.held[number] {
      guard let place = map.places[held], record.hasValue(at: place) else { return [] }
    }
    let columns = indexes[number].columns
    if columns.allSatisfy({ $0.column.id.kind == .value }) {
      return try oneKey(of: record, in: number, map, rowID).map { [$0] } ?? []
    }
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
    var distinct: [[UInt8]] = []
    for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) where distinct.last != key { distinct.append(key) }
    assert(zip(distinct, distinct.dropFirst()).allSatisfy { $0.precedes($1) }, "a row has one key twice")
    return distinct.map { $0 + suffix }
  }

  /// The key of a row in an index whose columns have one value each; nil if the record does not know one of them.
  ///
  /// - Throws: `damaged` if the record has another number of values of one.
  private func oneKey(of record: RecordView, in number: Int, _ map: IndexMap, _ rowID: RowID) throws -> [UInt8]? {
    var key: [UInt8] = []
    key.reserveCapacity(48)
    for (field, column) in zip(fields.columns[number], indexes[number].columns) {
      guard let place = map.places[field], let (first, count) = unsafe record.firstValue(at: place) else { return nil }
      guard let value = unsafe first, count == 1 else { throw severalValues(in: number, rowID, count) }
      unsafe column.appendKeyBytes(value, to: &key)
    }
    key += rowID.orderedBytes
    assert(key.count <= IndexKey.mostByteCount, "a key is longer than keys are")
    return key
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
