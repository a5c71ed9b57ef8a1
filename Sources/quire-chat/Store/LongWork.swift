// What takes longer than a request: importing messages, and a copy of the database while it is in use.

import Foundation
import Quire

/// One line of an import.
struct ImportedMessage: Codable, Sendable {
  let room: String
  let author: String
  let text: String
}

extension ChatStore {
  /// Stores the messages of a JSON text of one message per line, 500 in a transaction, so that others may write in
  /// between. A line that is no message ends it with an error that names the line; what came before it stays.
  ///
  /// - Parameter progress: gets how many lines there are and how many are done; what it throws ends the import.
  func importMessages(_ lines: Data, progress: @Sendable (_ done: Int, _ total: Int) throws -> Void) async throws {
    let lines = lines.split(separator: UInt8(ascii: "\n"))
    var done = 0
    while done < lines.count {
      let batch = try lines[done..<min(done + 500, lines.count)].enumerated().map { place, line in
        do { return try JSONDecoder().decode(ImportedMessage.self, from: line) } catch {
          throw ChatError.badRequest("Line \(done + place + 1) is no message: \(error)")
        }
      }
      var ids: [String: String] = [:]
      for title in Set(batch.map(\.room)) { ids[title] = try await makeRoom(titled: title).id }
      let date = Date()
      try await database.write { [ids] tx in
        for message in batch {
          guard let id = ids[message.room] else { continue }
          _ = try Self.append(
            Message(roomID: id, author: message.author, text: message.text, date: date, attachment: nil), tx)
        }
      }
      done += batch.count
      try progress(done, lines.count)
    }
  }

  /// Copies the database beside itself, while everybody goes on; returns the name of the copy.
  func backUp(progress: @escaping @Sendable (_ done: Int, _ total: Int) throws -> Void) async throws -> String {
    let stamp = Int(Date().timeIntervalSince1970 * 1000)
    let copy = files.deletingLastPathComponent().appendingPathComponent("backup-\(stamp).quire")
    try await database.backup(to: copy.path) { step in
      try progress(step.done, step.total)
    }
    return copy.lastPathComponent
  }
}
