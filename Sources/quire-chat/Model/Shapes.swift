// What the page gets as JSON, and what goes wrong.

import Foundation
import Quire

struct RoomSummary: Codable, Sendable {
  let id: String
  let title: String
  let lastMessageDate: Date
  var unreadCount = 0

  init(_ id: String, _ room: Room) {
    self.id = id
    title = room.title
    lastMessageDate = room.lastMessageDate
  }
}

struct ShownMessage: Codable, Sendable {
  let key: String
  let author: String
  let text: String
  let date: Date
  var attachment: ShownAttachment?

  init(_ key: String, _ message: Message) {
    self.key = key
    author = message.author
    text = message.text
    date = message.date
    attachment = message.attachment.map { ShownAttachment(name: $0.name, type: $0.type, byteCount: $0.byteCount) }
  }
}

struct ShownAttachment: Codable, Sendable {
  let name: String
  let type: String
  let byteCount: Int
}

struct FoundMessage: Codable, Sendable {
  /// A piece of text, and whether it is one of the words that were searched for.
  struct Part: Codable, Sendable, Equatable {
    let text: String
    let isHit: Bool
  }

  let key: String
  let roomID: String
  let author: String
  let parts: [Part]

  /// A snippet cut where hits begin and end. The page makes elements of these, so that no text is taken for markup.
  static func parts(of snippet: Snippet) -> [Part] {
    var parts: [Part] = []
    var place = snippet.text.startIndex
    func add(upTo end: String.Index, isHit: Bool) {
      if place < end { parts.append(Part(text: String(snippet.text[place..<end]), isHit: isHit)) }
      place = end
    }
    for hit in snippet.hits {
      add(upTo: hit.lowerBound, isHit: false)
      add(upTo: hit.upperBound, isHit: true)
    }
    add(upTo: snippet.text.endIndex, isHit: false)
    return parts
  }
}

/// News for pages that are open.
enum ChatEvent: Codable, Sendable {
  /// Messages of these rooms have come, changed or gone.
  case messages(roomIDs: [String])
  /// Rooms have come, changed or gone, or everything has.
  case rooms
  /// How far long work has got; `total` is 0 as long as it is not known.
  case progress(work: String, done: Int, total: Int, isOver: Bool, problem: String?)
}

enum ChatError: Error, CustomStringConvertible {
  case noRoom(String)
  case badTitle(String)
  case badRequest(String)
  case busy(String)

  var description: String {
    switch self {
    case .noRoom(let id): "There is no room “\(id)”. Make it first."
    case .badTitle(let title):
      "“\(title)” is no title for a room: it needs a letter or digit of ASCII, and at most 200 bytes."
    case .badRequest(let problem): problem
    case .busy(let work): "\(work) is under way already. Wait until it is over."
    }
  }
}
