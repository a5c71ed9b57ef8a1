// The listings of “Several processes” about outboxes, and what a copy is read by.

import Foundation
import Quire

enum Sharing {
  struct Message: Codable, Sendable, Equatable { var text: String }
}

private typealias Message = Sharing.Message

extension RowCollection where Object == Message, Metadata == NoMetadata {
  static var messages: Self { .init("messages") }
}

extension Sharing {
  static func publish(_ database: Database, to copy: URL) throws {
    let fresh = copy.deletingLastPathComponent().appendingPathComponent(UUID().uuidString)
    try database.backup(to: fresh.path)
    guard rename(fresh.path, copy.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  static func newest(_ copy: URL) throws -> Sharing.Message? {
    let database = try Database(at: copy.path, options: Database.Options(isReadOnly: true))
    return try database.read { tx in try tx[.messages].get("newest") }
  }

  static func leave(_ message: Sharing.Message, _ outboxes: URL) throws {
    let name = UUID().uuidString
    let room = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: room, withIntermediateDirectories: true)
    let outbox = try Database(at: room.appendingPathComponent("outbox").path)
    try outbox.write { tx in try tx[.messages].set(message, for: name) }
    try outbox.backup(to: outboxes.appendingPathComponent(name).path)
    try outbox.close()
    try FileManager.default.removeItem(at: room)
  }

  static func collect(_ outboxes: URL, _ database: Database) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: outboxes.path) where UUID(uuidString: name) != nil {
      let file = outboxes.appendingPathComponent(name)
      let outbox = try Database(at: file.path, options: Database.Options(isReadOnly: true))
      let rows = try outbox.read { tx in Array(tx[.messages].rows) }
      try outbox.close()
      try database.write { tx in for row in rows { try tx[.messages].set(row.object, for: row.key) } }
      try FileManager.default.removeItem(at: file)
    }
  }
}
