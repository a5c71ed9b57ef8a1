// Files of SQLite's, made for a test.

import CSQLite3
import Foundation
import QuireTesting
import Testing

enum SQLiteName {
  /// A name as a statement has it, by bytes.
  static func quoted(_ name: String) -> String {
    String(decoding: [0x22] + name.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] } + [0x22], as: UTF8.self)
  }
}

/// A file of SQLite's that statements have made, in a folder of its own.
struct SampleFile {
  let folder: TestFolder
  let path: String

  /// - Parameter copiesOpen: whether the file is kept as it is while it is open: with a write-ahead log.
  init(_ folder: TestFolder, _ statements: [String], copiesOpen: Bool = false) throws {
    self.folder = folder
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("source"), withIntermediateDirectories: true)
    let made = folder.url.appendingPathComponent("made.sqlite").path
    path = folder.url.appendingPathComponent("source/a b?.sqlite").path
    var handle: OpaquePointer?
    try #require(sqlite3_open(made, &handle) == SQLITE_OK)
    defer { sqlite3_close(handle) }
    for statement in statements {
      let status = sqlite3_exec(handle, statement, nil, nil, nil)
      try #require(status == SQLITE_OK, "\(statement): \(String(cString: sqlite3_errmsg(handle)))")
    }
    for ending in ["", "-wal"] where ending.isEmpty || copiesOpen {
      try FileManager.default.copyItem(atPath: made + ending, toPath: path + ending)
    }
  }

  /// The names in the folder of the source, with all bytes.
  func state() throws -> [String: Data] {
    let source = folder.url.appendingPathComponent("source")
    var state: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: source.path) {
      state[name] = try Data(contentsOf: source.appendingPathComponent(name))
    }
    return state
  }
}
