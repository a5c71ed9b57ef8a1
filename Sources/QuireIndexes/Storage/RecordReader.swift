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
    guard let column = fields.fields[field].column, column.id.half == .object,
      let path = column.id.path as? PartialKeyPath<Object>
    else { return nil }
    let isList = column.id.kind == .elements
    return reader.add(path, each: isList).map { RecordPart(place: place, field: $0, isList: isList) }
  }

  /// Calls `body` with the numbers and records of the rows of a step of building.
  func forEachRecord(in rows: UnbuiltRows, _ body: (RowID, RowRecord) throws -> Void) throws {
    var record = RowRecord()
    try reader.forEachRow(in: rows) { rowID, stored in
      try make(&record, stored)
      try body(rowID, record)
    }
  }

  /// Calls `body` with the numbers and records of some rows, in the order given, and without those that are gone.
  ///
  /// - Parameter body: may change nothing.
  func forEachRecord(withIDs rowIDs: [RowID], _ body: (RowID, RowRecord) throws -> Void) throws {
    var record = RowRecord()
    try reader.forEachRow(withIDs: rowIDs) { rowID, stored in
      try make(&record, stored)
      try body(rowID, record)
      return true
    }
  }

  /// Makes the record of the row that the reader has come to.
  private func make(_ record: inout RowRecord, _ stored: StoredFields) throws {
    record.removeAll()
    if !parts.isEmpty, record.append(parts, of: stored) {
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

/// What a record has at a place, as a field that is read of the stored row.
struct RecordPart {
  let place: Int
  /// What the reader of fields calls it.
  let field: Int
  /// Whether the values are the elements of a list or set.
  let isList: Bool
}

extension RowRecord {
  /// Appends the values of all parts; false if fields do not tell one of them, and the record is of no use.
  fileprivate mutating func append(_ parts: [RecordPart], of stored: StoredFields) -> Bool {
    for part in parts {
      if part.isList {
        guard appendElements(part, of: stored) else { return false }
      } else {
        let isTold = stored.hasValue(part.field) { value in
          append(at: part.place, value)
          return true
        }
        guard isTold != nil else { return false }
      }
    }
    return true
  }

  private mutating func appendElements(_ part: RecordPart, of stored: StoredFields) -> Bool {
    var values: [[UInt8]] = []
    let isTold = stored.hasValue(part.field) { value in
      values.append(unsafe value.withUnsafeBytes { unsafe [UInt8]($0) })
      return false
    }
    guard isTold != nil else { return false }
    append(at: part.place, values.distinctInOrder())
    return true
  }
}
