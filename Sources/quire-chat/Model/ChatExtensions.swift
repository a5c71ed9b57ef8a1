// What follows the rows of the chat in the same transactions: the list of rooms, what belongs to what, and the words.

import Foundation
import Quire

extension AutoView where Object == Room, Metadata == NoMetadata {
  /// All rooms, the one with the newest message first.
  static var inbox: Self {
    AutoView(
      "inbox", over: .rooms, version: "1", group: { _ in Self.rooms }, sortKey: { Descending($0.lastMessageDate) })
  }

  /// The only group of the inbox.
  static var rooms: String { "rooms" }
}

extension FullText where Object == Message, Metadata == NoMetadata {
  /// The words of messages; those of the text count more than the name of who wrote it.
  static var words: Self {
    FullText("messages.words", over: .messages, version: "1", tokenizer: .words.stemmed(.english)) {
      SearchField("text", \.text, weight: 4)
      SearchField("author", \.author)
    }
  }
}

extension Relationship where Object == Message {
  /// A message goes with its room, and its attachment with the message. A message to a room that is not there is
  /// refused.
  static var belongings: Self {
    var relationship = Relationship("belongings", over: .messages) { message in
      var edges = [
        Edge("room", to: .rooms, key: message.roomID, rules: .deleteSourceIfDestinationDeleted)
      ]
      if let attachment = message.attachment {
        edges.append(Edge("file", toFile: attachment.path, rules: .deleteDestinationIfSourceDeleted))
      }
      return edges
    }
    relationship.missingEnds = .refuse
    return relationship
  }
}
