// The database of the chat, and everything that is asked of it or changed in it.

import Foundation
import Quire

/// A chat: its database and the folder with the files that came with messages. For any task.
///
/// Each change is one transaction; when a call returns, what it has done is on the disk.
struct ChatStore: Sendable {
  let database: Database
  /// Where attachments are, each under a name of its own.
  let files: URL

  /// Opens the chat in a folder, or makes it, and registers what follows its rows.
  init(at folder: URL) async throws {
    files = folder.appendingPathComponent("files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    database = try await Database.open(
      at: folder.appendingPathComponent("chat.quire").path,
      extensions: [
        AutoView<Room, NoMetadata>.inbox, FullText<Message, NoMetadata>.words, Relationship<Message>.belongings,
      ])
    try await removeForgottenFiles()
  }

  /// The room of a title, which is made if it is new. The identifier is made of the title's letters and digits.
  func makeRoom(titled title: String) async throws -> RoomSummary {
    let id = try Self.identifier(of: title)
    let room = Room(title: title, lastMessageDate: Date())
    return try await database.write { tx in
      if let known = try tx[.rooms].get(id) { return RoomSummary(id, known) }
      try tx[.rooms].set(room, for: id)
      return RoomSummary(id, room)
    }
  }

  /// Removes a room; its messages and their files follow by the rules of `Relationship.belongings`.
  func removeRoom(_ id: String) async throws {
    try await database.write { tx in
      try tx[.rooms].remove(id)
      try tx[.readMarks].remove(Array(tx[.readMarks].keys(prefix: MessageKey.prefix(id))))
    }
  }

  /// Rooms as the inbox shows them, newest first, with what `person` has not read.
  func rooms(for person: String) async throws -> [RoomSummary] {
    try await database.read { tx in
      var rooms: [RoomSummary] = []
      for (_, row) in try tx.view(AutoView<Room, NoMetadata>.inbox).rows(in: AutoView.rooms) {
        var summary = RoomSummary(row.key, try row.object)
        // Counting a range of keys reads none of its rows.
        let mark = try tx[.readMarks].get(MessageKey.prefix(row.key) + person)?.lastReadKey
        summary.unreadCount = try tx[.messages].count(
          (mark.map { $0 + "\0" } ?? MessageKey.prefix(row.key))..<MessageKey.end(row.key))
        rooms.append(summary)
      }
      return rooms
    }
  }

  /// Stores a message, and with it that its author has read up to there.
  func post(_ text: String, by author: String, in roomID: String, attachment: Attachment? = nil) async throws -> String
  {
    let message = Message(roomID: roomID, author: author, text: text, date: Date(), attachment: attachment)
    return try await database.write { tx in
      let key = try Self.append(message, tx)
      try tx[.readMarks].set(ReadMark(lastReadKey: key), for: MessageKey.prefix(roomID) + author)
      return key
    }
  }

  /// Puts a message behind the others of its room.
  static func append(_ message: Message, _ tx: WriteTransaction) throws -> String {
    guard var room = try tx[.rooms].get(message.roomID) else { throw ChatError.noRoom(message.roomID) }
    let last = tx[.messages].keys(prefix: MessageKey.prefix(message.roomID)).reversed().first
    let key = MessageKey.make(message.roomID, (last.map(MessageKey.number) ?? 0) + 1)
    try tx[.messages].set(message, for: key)
    room.lastMessageDate = max(room.lastMessageDate, message.date)
    try tx[.rooms].set(room, for: message.roomID)
    return key
  }

  /// Up to `limit` messages in front of a key, or the newest ones, oldest first. O(log n) and what is shown, however
  /// far back that is.
  func messages(in roomID: String, before key: String?, limit: Int) async throws -> [ShownMessage] {
    try await database.read { tx in
      guard try tx[.rooms].contains(roomID) else { throw ChatError.noRoom(roomID) }
      let rows = tx[.messages].rows(from: MessageKey.prefix(roomID), upTo: key ?? MessageKey.end(roomID))
      return rows.reversed().prefix(max(0, min(limit, 500))).map { ShownMessage($0.key, $0.object) }.reversed()
    }
  }

  func message(_ key: String) async throws -> Message? {
    try await database.read { tx in try tx[.messages].get(key) }
  }

  func removeMessage(_ key: String) async throws {
    try await database.write { tx in try tx[.messages].remove(key) }
  }

  /// Notes that somebody has read a room up to a message; never takes that back.
  func markRead(_ roomID: String, by person: String, upTo key: String) async throws {
    try await database.write { tx in
      let mark = MessageKey.prefix(roomID) + person
      if let known = try tx[.readMarks].get(mark), known.lastReadKey >= key { return }
      guard try tx[.rooms].contains(roomID) else { throw ChatError.noRoom(roomID) }
      try tx[.readMarks].set(ReadMark(lastReadKey: key), for: mark)
    }
  }

  /// The best messages for what somebody is typing, each with a piece of its text.
  func search(typing text: String, limit: Int = 20) async throws -> [FoundMessage] {
    try await database.read { tx in
      try tx[.messages].search(typing: text).ranked().limit(limit).hits.map { hit in
        FoundMessage(
          key: hit.key, roomID: hit.object.roomID, author: hit.object.author,
          parts: FoundMessage.parts(of: try hit.snippet(of: "text")))
      }
    }
  }

  /// The identifier that a title makes: its ASCII letters and digits in lower case, with hyphens between words.
  private static func identifier(of title: String) throws -> String {
    let words = title.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    guard !words.isEmpty, title.utf8.count <= 200 else { throw ChatError.badTitle(title) }
    return words.joined(separator: "-")
  }
}
