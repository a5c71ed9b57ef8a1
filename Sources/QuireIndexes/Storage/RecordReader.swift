// Making the records of many stored rows: of fields that are read where they lie, as far as those tell.

internal import QuireDatabase

/// Makes the records of rows without decoding more of them than the columns need.
///
/// For the thread and the life of the transaction of its rows.
final class RecordReader<Object: Sendable, Metadata: Sendable> {
  private let reader: FieldReader<Object, Metadata>
  private let fields: IndexFields
  private let map: IndexMap
  /// What a record has, in order: its place, and what the reader calls the field. Empty if fields do not tell all.
  private var parts: [RecordPart] = []

  /// - Parameter map: where records have the fields.
  init(_ rows: ReadableRows<Object, Metadata>, _ fields: IndexFields, _ map: IndexMap) {
    reader = FieldReader(rows, halves: fields.needsMetadata ? [.object, .metadata] : .object)
    (self.fields, self.map) = (fields, map)
    let found = map.placedFields.compactMap { place, field in part(of: field, at: place) }
    if found.count == map.placedFields.count { parts = found }
  }

  private func part(of field: Int, at place: Int) -> RecordPart? {
    switch fields.fields[field] {
    case .column(let column):
      let isList = column.id.kind == .elements
      return reader.add(column.id, each: isList).map {
        RecordPart(place: place, value: isList ? .elements($0) : .value($0))
      }
    case .isHeld(let index):
      return RecordPart(place: place, value: .isHeld(FieldTest(fields.filters[index]) { reader.add($0, each: $1) }))
    }
  }

  /// Calls `body` with the numbers and records of the rows of a step of building.
  func forEachRecord(in rows: UnbuiltRows, _ body: (RowID, RowRecord) throws -> Void) throws {
    var record = RowRecord()
    try reader.forEachRow(in: rows) { rowID, stored in
      try make(&record, rowID, stored)
      try body(rowID, record)
    }
  }

  /// Calls `body` with the numbers and records of some rows, in the order given, and without those that are gone.
  ///
  /// - Parameter body: may change nothing.
  func forEachRecord(withIDs rowIDs: [RowID], _ body: (RowID, RowRecord) throws -> Void) throws {
    var record = RowRecord()
    try reader.forEachRow(withIDs: rowIDs) { rowID, stored in
      try make(&record, rowID, stored)
      try body(rowID, record)
      return true
    }
  }

  /// Makes the record of the row that the reader has come to.
  private func make(_ record: inout RowRecord, _ rowID: RowID, _ stored: StoredFields) throws {
    record.removeAll()
    if !parts.isEmpty, record.append(parts, of: rowID, stored) {
      assert(record.withView { $0.knowsAll(parts.map(\.place)) }, "a record that was made of fields lacks some")
      return
    }
    if fields.needsMetadata {
      let row = try reader.row()
      record = try fields.record(row.object, row.metadata, map)
    } else {
      record = try fields.record(reader.object(), Metadata?.none, map)
    }
  }
}

/// What a record has at a place, as it is read of the stored row.
private struct RecordPart {
  /// Where it comes from, with what the reader calls the field.
  enum Value {
    case value(Int)
    /// The elements of a list or set.
    case elements(Int)
    /// Whether the condition of an index lets the row through.
    case isHeld(FieldTest)
  }

  let place: Int
  let value: Value
}

extension RowRecord {
  /// Appends the values of all parts; false if fields do not tell one of them, and the record is of no use.
  fileprivate mutating func append(_ parts: [RecordPart], of rowID: RowID, _ stored: StoredFields) -> Bool {
    for part in parts {
      switch part.value {
      case .value(let field):
        let isTold = stored.hasValue(field) { value in
          append(at: part.place, value)
          return true
        }
        if isTold == nil { return false }
      case .elements(let field):
        guard let values = stored.elements(field) else { return false }
        append(at: part.place, values)
      case .isHeld(let test):
        guard let isHeld = test.isTrue(rowID, stored) else { return false }
        append(at: part.place, isHeld ? [[]] : [])
      }
    }
    return true
  }
}

extension StoredFields {
  /// The sort bytes of a field's elements in order, each once; nil if only the object tells them.
  fileprivate func elements(_ field: Int) -> [[UInt8]]? {
    var values: [[UInt8]] = []
    let isTold = hasValue(field) { value in
      values.append(unsafe value.withUnsafeBytes { unsafe [UInt8]($0) })
      return false
    }
    return isTold == nil ? nil : values.distinctInOrder()
  }
}
