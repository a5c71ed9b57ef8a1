// What a source gives: rows, and rows that do not fit.

package import QuireDatabase

/// A row of a source, as it is to be stored.
package struct SourceRow: Sendable {
  /// The collection that it goes to.
  package var collection: String
  /// Its key.
  package var key: String
  /// What is stored.
  package var content: Content
  /// How many bytes the source had of it, about.
  package var byteCount: Int

  /// What is stored of a row.
  package enum Content: Sendable {
    /// A record in the binary form, by names of fields.
    case record(RowValue)
    /// Two values in the binary form.
    case values(object: RowValue, metadata: RowValue?)
    /// Bytes that the app knows how to read, as they are.
    case bytes(object: [UInt8], metadata: [UInt8]?)
  }
}

extension SourceRow {
  /// The key of several parts: joined by `|`, with a backslash in front of a `|` or a backslash in them.
  static func key(joining parts: [String]) -> String {
    if parts.count == 1 { return parts[0] }
    return parts.map { inserting("\\", before: "\\|", in: $0) }.joined(separator: "|")
  }

  /// A text with a character of ASCII's in front of each of others. By bytes: what is combined with one of them does
  /// not hide it.
  static func inserting(_ character: Unicode.Scalar, before others: String, in text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if others.utf8.contains(byte) { bytes.append(UInt8(ascii: character)) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A row that was not stored.
package struct BadRow: Error, Hashable, Sendable, CustomStringConvertible {
  /// The table that has it.
  package let table: String
  /// Which row of it.
  package let row: String
  /// Why it does not fit.
  package let reason: String
  /// What the source has there, if that is a line.
  package let content: RowValue.Field?

  init(table: String, row: String, reason: String, content: RowValue.Field? = nil) {
    (self.table, self.row, self.reason, self.content) = (table, row, reason, content)
  }

  /// Where it is and why it does not fit, in a line.
  package var description: String { "table “\(table)”, row \(row): \(reason)" }

  /// All of it as JSON.
  package var json: String {
    var fields = [
      RowValue.Field("table", .text(table)), RowValue.Field("row", .text(row)), RowValue.Field("reason", .text(reason)),
    ]
    if let content { fields.append(content) }
    return RowValue.record(fields).json
  }
}

/// A field that does not fit, and with it the row that has it.
struct BadField: Error {
  let reason: String
}

/// One step through a source.
package enum SourceItem: Sendable {
  /// A row, with the table and the place that it came from.
  case row(SourceRow, table: String, place: String)
  /// A row that cannot be stored.
  case bad(BadRow)
}

/// Rows from somewhere else, for the thread that made it.
package protocol RowSource: AnyObject {
  /// The next row; nil behind the last one.
  ///
  /// - Throws: ``ImportError`` for what ends the import.
  func next() throws -> SourceItem?
  /// What is not carried over, each with the reason. Complete once all rows were read.
  var leftOut: [LeftOut] { get }
  /// How many values were made something else than their storage class says, by what was made of them.
  var coercions: [String: Int] { get }
  /// Looks whether the source is still as it was at the beginning.
  ///
  /// - Throws: ``ImportError`` if somebody has changed it.
  func checkUnchanged() throws
}

/// Something of a source that is not carried over.
package struct LeftOut: Hashable, Sendable {
  /// What it is.
  package let name: String
  /// Why it stays behind.
  package let reason: String
}

extension LeftOut {
  /// A column that is computed whenever it is read.
  init(computed column: String, of table: String) {
    self.init(name: "\(table).\(column)", reason: "it is computed from other columns")
  }
}
