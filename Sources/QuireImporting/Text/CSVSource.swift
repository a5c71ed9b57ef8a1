// Comma-separated values: a collection of records by the names in the first line.

import QuireDatabase

/// The rows of a text of comma-separated values, as records.
///
/// The first line names the fields. The key is a column, or several, joined as those of a primary key are; without one
/// it is the number of the record, in the form that `Int.rowKey` has. A field that is empty and stands in no quotes is
/// none, as in what PostgreSQL's `COPY` writes.
package final class CSVSource: RowSource {
  /// How a text is read.
  package struct Form: Sendable {
    /// What stands between two fields.
    package var separator = UInt8(ascii: ",")
    /// The columns that the key is made of; the number of the record if there are none.
    package var key: [String] = []
    /// The columns that are no texts, and their types.
    package var types: [(column: String, type: FieldType)] = []
    /// The most bytes of a record.
    package var longestRecord = 64 << 20

    /// Commas, and texts alone.
    package init() {}
  }

  /// The columns that a map leaves out.
  package let leftOut: [LeftOut]
  /// How many texts became values of other types.
  package private(set) var coercions: [String: Int] = [:]
  private let file: TextFile
  private var reader: CSVReader
  private let plan: TablePlan
  private var count = 0

  /// The text at `path`, or that of standard input where it is `-`, for rows of a collection.
  ///
  /// - Parameter map: what columns become, as of a table that is called as the collection is.
  /// - Throws: ``ImportError`` for what cannot be read, and for a first line that names no fields, names one twice, or
  ///   lacks one that the form or the map names.
  package init(
    _ path: String, collection: String, form: Form = Form(), map: ImportMap = ImportMap()
  ) throws {
    let file = try TextFile(path)
    self.file = file
    reader = CSVReader(separator: form.separator, limit: form.longestRecord) { count in try file.read(count) }
    let names = try Self.names(try reader.next(endsAtLimit: true), file.name)
    // Of one column a line without anything on it is a row whose field is none.
    reader.passesOverEmptyLines = names.count > 1
    (reader.fieldLimit, reader.fieldLimitReason) = (names.count, "and the first line names \(names.count)")
    var places: [ByteString: Int] = [:]
    for (index, name) in names.enumerated() { places[ByteString(name)] = index }
    func place(_ name: String) throws(ImportError) -> Int {
      if let place = places[ByteString(name)] { return place }
      let some = names.prefix(Self.shownNameCount).joined(separator: ", ")
      throw ImportError("\(file.name) has no column “\(name)”: its first line names \(some).")
    }
    var plan = TablePlan(name: collection, collection: collection, columns: [], keyColumns: [])
    plan.columns = names.map { TablePlan.Column(name: $0, field: $0, rule: .stored) }
    plan.keyColumns = try form.key.map { name throws(ImportError) in try place(name) }
    for (name, type) in form.types { plan.columns[try place(name)].rule = .type(type) }
    try map.check(known: [collection], in: "--collection")
    if let changes = map.table(collection) {
      guard changes.key.isEmpty || form.key.isEmpty else {
        throw ImportError("--key and the map both say what the key of “\(collection)” is: leave one of them out.")
      }
      try plan.follow(changes)
    }
    self.plan = plan
    leftOut = map.leftOut(collection)
  }

  /// How many names of columns a message shows.
  private static let shownNameCount = 50

  private static let remedy = "If the text is of UTF-16, make it UTF-8 first: `iconv -f UTF-16LE -t UTF-8`."

  private static func names(_ header: CSVReader.Record?, _ file: String) throws(ImportError) -> [String] {
    switch header {
    case nil: throw ImportError("\(file) is empty: its first line is to name the fields.")
    case .bad(let reason): throw ImportError("The first line of \(file), which is to name the fields: \(reason)")
    case .fields(let fields):
      var names: [String] = []
      var taken: Set<ByteString> = []
      for field in fields {
        guard let name = String(validating: field.bytes, as: UTF8.self), !name.isEmpty else {
          throw ImportError(
            "In the first line of \(file) the name of field \(names.count + 1) is empty, or no UTF-8. \(remedy)")
        }
        guard !field.bytes.contains(0) else {
          throw ImportError("In the first line of \(file) the name of field \(names.count + 1) has a NUL. \(remedy)")
        }
        guard taken.insert(ByteString(name)).inserted else {
          throw ImportError("The first line of \(file) names “\(name)” twice.")
        }
        names.append(name)
      }
      return names
    }
  }

  package func next() throws -> SourceItem? {
    guard !plan.isLeftOut, let record = try reader.next() else { return nil }
    count += 1
    switch record {
    case .bad(let reason): return bad(reason)
    case .fields(let fields):
      do throws(BadField) { return try row(fields) } catch { return bad(error.reason) }
    }
  }

  package func checkUnchanged() throws { try file.checkUnchanged() }

  private func bad(_ reason: String) -> SourceItem {
    .bad(BadRow(table: plan.name, row: "on line \(reader.recordLine)", reason: reason))
  }

  private func row(_ fields: [CSVReader.Field]) throws(BadField) -> SourceItem {
    guard fields.count == plan.columns.count else {
      throw BadField(reason: "It has \(fields.count) fields, and the first line names \(plan.columns.count).")
    }
    var texts: [String] = []
    var values: [RowValue.Field] = []
    for (field, column) in zip(fields, plan.columns) {
      guard let text = String(validating: field.bytes, as: UTF8.self) else {
        throw BadField(reason: "The text in “\(column.name)” is no UTF-8.")
      }
      guard !field.bytes.contains(0) else {
        throw BadField(reason: "The text in “\(column.name)” has a NUL. \(Self.remedy)")
      }
      texts.append(text)
      guard let name = column.field, !text.isEmpty || field.isQuoted else { continue }
      var value = RowValue.text(text)
      if try column.rule.apply(to: &value, of: column.name) { coercions[column.rule.what, default: 0] += 1 }
      values.append(RowValue.Field(name, value))
    }
    for column in plan.keyColumns where texts[column].isEmpty {
      throw BadField(reason: "“\(plan.columns[column].name)”, of which its key is made, is empty.")
    }
    let key = plan.keyColumns.isEmpty ? count.rowKey : SourceRow.key(joining: plan.keyColumns.map { texts[$0] })
    let byteCount = fields.reduce(0) { $0 + $1.bytes.count + 1 }
    let row = SourceRow(collection: plan.collection, key: key, content: .record(.record(values)), byteCount: byteCount)
    return .row(row, table: plan.name, place: "on line \(reader.recordLine)")
  }
}
