// What the chat keeps: rooms, their messages, and how far each person has read.

import Foundation
import Quire

/// A room, under an identifier made of its title.
struct Room: Codable, Sendable {
  var title: String
  var lastMessageDate: Date
}

/// A message, under its room's identifier, a slash and its number, so that the keys of a room are a range in the order
/// in which the messages came.
struct Message: Codable, Sendable {
  var roomID: String
  var author: String
  var text: String
  var date: Date
  var attachment: Attachment?
}

/// A file that came with a message.
struct Attachment: Codable, Sendable {
  var name: String
  var type: String
  var byteCount: Int
  /// Where it is stored.
  var path: String
}

/// The last message of a room that somebody has read, under the room's identifier, a slash and the name.
struct ReadMark: Codable, Sendable {
  var lastReadKey: String
}

extension RowCollection where Object == Room, Metadata == NoMetadata {
  static var rooms: Self { .init("rooms") }
}

extension RowCollection where Object == Message, Metadata == NoMetadata {
  static var messages: Self { .init("messages") }
}

extension RowCollection where Object == ReadMark, Metadata == NoMetadata {
  static var readMarks: Self { .init("readMarks") }
}

/// Keys of messages.
enum MessageKey {
  /// The key of the `number`-th message of a room. Ten digits, so that the order of bytes is that of numbers.
  static func make(_ roomID: String, _ number: Int) -> String {
    let digits = String(number)
    return prefix(roomID) + String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }

  static func prefix(_ roomID: String) -> String { roomID + "/" }

  /// The first key behind all messages of a room: a zero comes behind the slash.
  static func end(_ roomID: String) -> String { roomID + "0" }

  static func number(_ key: String) -> Int { key.split(separator: "/").last.flatMap { Int($0) } ?? 0 }
}
