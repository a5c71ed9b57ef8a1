// What the messenger stores.

import Foundation
import Quire
import YapCompat

/// The names of the collections. Each thread has one of its own for its messages, made by its first message.
enum Collections {
  static let threads = "threads"
  static let contacts = "contacts"
  static let attachments = "attachments"

  static func messages(of threadID: String) -> String { "messages/\(threadID)" }
}

struct ChatThread: Codable, Sendable, Equatable {
  var title: String
  var isPinned = false
  var lastMessageDate: Date?
}

/// The metadata of a thread.
struct ThreadState: Codable, Sendable, Equatable {
  var draft: String?
  var isMuted = false
}

/// A class, as most models of such apps are: it is stored anew as a whole and never changed in place.
final class Message: Codable, Sendable, YapDatabaseRelationshipNode {
  let threadID: String
  let authorID: String
  let text: String
  let date: Date
  let attachmentID: String?

  init(threadID: String, authorID: String, text: String, date: Date, attachmentID: String? = nil) {
    self.threadID = threadID
    self.authorID = authorID
    self.text = text
    self.date = date
    self.attachmentID = attachmentID
  }

  func with(text: String) -> Message {
    Message(threadID: threadID, authorID: authorID, text: text, date: date, attachmentID: attachmentID)
  }

  /// A message goes with its thread, and the last one that shows an attachment takes that along.
  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    var edges = [
      YapDatabaseRelationshipEdge(
        name: "thread", destinationKey: threadID, collection: Collections.threads,
        nodeDeleteRules: .deleteSourceIfDestinationDeleted)
    ]
    if let attachmentID {
      edges.append(
        YapDatabaseRelationshipEdge(
          name: "attachment", destinationKey: attachmentID, collection: Collections.attachments,
          nodeDeleteRules: .deleteDestinationIfAllSourcesDeleted))
    }
    return edges
  }
}

/// The messages of the second release of the app, which knows when a message was edited, and what others think of it.
final class LaterMessage: Codable, Sendable, YapDatabaseRelationshipNode {
  let threadID: String
  let authorID: String
  let text: String
  let date: Date
  let attachmentID: String?
  let editDate: Date?
  let reactions: Defaulted<[String]>

  init(_ old: LaterMessage, text: String, editDate: Date, reactions: [String]) {
    (threadID, authorID, date, attachmentID) = (old.threadID, old.authorID, old.date, old.attachmentID)
    (self.text, self.editDate) = (text, editDate)
    self.reactions = Defaulted(wrappedValue: reactions)
  }

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    Message(threadID: threadID, authorID: authorID, text: text, date: date, attachmentID: attachmentID)
      .yapDatabaseRelationshipEdges()
  }
}

/// The metadata of a message.
struct MessageState: Codable, Sendable, Equatable { var isRead: Bool }

/// A file that a message shows.
struct Attachment: Codable, Sendable, Equatable, YapDatabaseRelationshipNode {
  var url: URL

  /// The file goes with the row.
  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    [
      YapDatabaseRelationshipEdge(
        name: "file", destinationFileURL: url, nodeDeleteRules: .deleteDestinationIfSourceDeleted)
    ]
  }
}

struct Contact: Codable, Sendable, Equatable { var name: String }
