// A file of SQLite's, open for reading, and statements over it.

import CSQLite3
import QuireDatabase

/// A file of SQLite's, open for reading. For one thread.
final class SQLiteDatabase {
  let file: SQLiteFile
  /// What cannot be read of the log, and what was not checked.
  private(set) var notes: [LeftOut] = []
  /// What messages call it.
  let path: String
  /// Whether its texts are UTF-16, in either order of bytes, and not UTF-8.
  private(set) var isUTF16 = false
  private let handle: OpaquePointer

  /// - Throws: ``ImportError`` if it is none, or damaged.
  init(_ path: String, besides target: String) throws(ImportError) {
    file = try SQLiteFile(path, besides: target)
    self.path = path
    let escaped = file.openPath.utf8.map { byte in
      let isPlain = byte == 0x2f || byte == 0x2e || byte == 0x2d || (0x30...0x39).contains(byte)
      let isLetter = (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
      let digits = String(byte, radix: 16)
      return isPlain || isLetter ? String(UnicodeScalar(byte)) : "%" + (digits.count == 1 ? "0" : "") + digits
    }
    // A copy may be brought in order by what stands beside it; the source is opened as if nobody could write it.
    let uri = "file:" + escaped.joined() + (file.isCopy ? "?mode=rw" : "?mode=ro&immutable=1")
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | (file.isCopy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY)
    let status = sqlite3_open_v2(uri, &opened, flags, nil)
    guard let opened, status == SQLITE_OK else {
      sqlite3_close_v2(opened)
      throw ImportError("\(path) cannot be opened: \(String(cString: sqlite3_errstr(status))).")
    }
    handle = opened
    // To list tables makes statements over all views, and a view in views may take any time.
    guard quire_sqlite3_refuse_views(opened) == SQLITE_OK else {
      throw ImportError("\(path) cannot be read: SQLite is too old to refuse views. Use 3.30 or a newer one.")
    }
    // Triggers and defaults of the file must not run what they like, and rules may be of functions of the app's.
    for pragma in ["trusted_schema = OFF", "cell_size_check = ON", "ignore_check_constraints = ON"] {
      sqlite3_exec(handle, "PRAGMA \(pragma)", nil, nil, nil)
    }
    notes = file.lost.map { [$0] } ?? []
    try check()
    let encoding = try self.statement("PRAGMA encoding")
    if try encoding.step("encoding") { isUTF16 = encoding.text(0)?.hasPrefix("UTF-16") == true }
  }

  /// Has SQLite look at all pages: reading alone passes over cells that a damaged page does not count.
  ///
  /// It computes columns that no table stores, which reading does not, and these may take any time and memory: bound to
  /// the size of the file.
  private func check() throws(ImportError) {
    let bound = mayCompute ? CheckBound(handle, fileByteCount: file.byteCount) : nil
    defer { bound?.end() }
    var statement: OpaquePointer?
    var status = sqlite3_prepare_v2(handle, "PRAGMA quick_check", -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    if status == SQLITE_OK { status = sqlite3_step(statement) }
    while status == SQLITE_ROW {
      let text =
        sqlite3_column_text(statement, 0).map { String(cString: $0).split(separator: "\n").joined(separator: " ") }
        ?? ""
      // Rows that break a rule of the table can be read like others.
      let isRule = text == "ok" || text.contains(" value in ") || text.hasPrefix("CHECK constraint failed in ")
      if !isRule { throw ImportError("\(path) is damaged: \(text). \(Self.remedy)") }
      status = sqlite3_step(statement)
    }
    if status == SQLITE_DONE { return }
    // Functions and orders of texts that only the app has, and columns that are computed beyond the bound.
    let isBound = bound != nil && (status == SQLITE_INTERRUPT || status == SQLITE_TOOBIG)
    guard status == SQLITE_ERROR || isBound else { throw failure("quick_check") }
    let told = String(cString: sqlite3_errmsg(handle))
    let what = isBound ? "to compute columns takes too long or too much memory" : told
    let reason = "SQLite cannot look at all pages: \(what)"
    notes.append(LeftOut(name: "the check for damage", reason: reason))
  }

  /// Whether a table has columns that are computed whenever they are read, as far as SQLite tells.
  private var mayCompute: Bool {
    do throws(ImportError) {
      for table in try tables() where table.type == "table" {
        if try columns(of: table.name).contains(where: \.isComputed) { return true }
      }
      return false
    } catch {
      return true
    }
  }

  private static let remedy = "Save what can be read by the command `.recover` of `sqlite3`, and import that."

  deinit { sqlite3_close_v2(handle) }

  func statement(_ text: String) throws(ImportError) -> SQLiteStatement {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure(text) }
    return SQLiteStatement(statement, self)
  }

  /// What the last call has met with.
  func failure(_ place: String) -> ImportError {
    let message = String(cString: sqlite3_errmsg(handle))
    return ImportError("\(path) cannot be read at “\(place)”: \(message). \(Self.remedy)")
  }

  /// A name as a statement has it.
  static func quoted(_ name: String) -> String {
    "\"" + SourceRow.inserting("\"", before: "\"", in: name) + "\""
  }
}

/// A statement that is being read.
final class SQLiteStatement {
  private let handle: OpaquePointer
  private let database: SQLiteDatabase

  fileprivate init(_ handle: OpaquePointer, _ database: SQLiteDatabase) {
    (self.handle, self.database) = (handle, database)
  }

  deinit { sqlite3_finalize(handle) }

  /// Goes on to the next row. Returns whether there is one.
  func step(_ place: String) throws(ImportError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.failure(place)
    }
  }

  func integer(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

  /// What the texts of the file are to be, for messages.
  var encoding: String { database.isUTF16 ? "UTF-16" : "UTF-8" }

  /// The text of a column, of any storage class; nil if it is none in the file's encoding. A NUL is a character like
  /// others.
  func text(_ column: Int) -> String? { text(Int32(column)) }

  private func text(_ column: Int32) -> String? {
    // SQLite makes other characters of what is no UTF-16 where it is to give UTF-8.
    if database.isUTF16 { return text16(column) }
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    return String(validating: bytes, as: UTF8.self)
  }

  private func text16(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text16(handle, column) else { return "" }
    let byteCount = Int(sqlite3_column_bytes16(handle, column))
    guard byteCount % 2 == 0 else { return nil }
    let units = stride(from: 0, to: byteCount, by: 2).map { start.loadUnaligned(fromByteOffset: $0, as: UInt16.self) }
    return String(validating: units, as: UTF16.self)
  }

  /// The bytes of a column.
  func bytes(_ column: Int) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, Int32(column)) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
  }

  /// The value of a column by its storage class; nil if it is a text that is none in the file's encoding.
  func value(_ column: Int) -> RowValue? {
    switch sqlite3_column_type(handle, Int32(column)) {
    case SQLITE_INTEGER: .integer(Int128(integer(column)))
    case SQLITE_FLOAT: .double(sqlite3_column_double(handle, Int32(column)))
    case SQLITE_TEXT: text(Int32(column)).map { .text($0) }
    case SQLITE_BLOB: .bytes(bytes(column))
    default: .null
    }
  }
}
