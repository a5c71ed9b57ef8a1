// Attachments: files beside the database that live as long as their messages.

import Foundation
import Quire

extension ChatStore {
  /// Stores a file and a message about it.
  ///
  /// The file is on the disk before the message that names it. If that fails, it is removed; if the process ends in
  /// between, the next opening removes it.
  func post(
    file content: Data, named name: String, type: String, by author: String, in roomID: String
  ) async throws -> String {
    let file = files.appendingPathComponent(UUID().uuidString)
    do {
      try content.write(to: file)
      let handle = try FileHandle(forWritingTo: file)
      try handle.synchronize()
      try handle.close()
      let attachment = Attachment(name: name, type: type, byteCount: content.count, path: file.path)
      return try await post(name, by: author, in: roomID, attachment: attachment)
    } catch {
      try? FileManager.default.removeItem(at: file)
      throw error
    }
  }

  /// Removes files to which no message leads: those of messages that were never stored.
  func removeForgottenFiles() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: files.path)
    let forgotten = try await database.read { tx in
      let graph = try tx.relationship(Relationship<Message>.belongings)
      return names.filter { name in
        graph.count(named: "file", toFile: files.appendingPathComponent(name).path) == 0
      }
    }
    for name in forgotten { try FileManager.default.removeItem(at: files.appendingPathComponent(name)) }
  }
}
