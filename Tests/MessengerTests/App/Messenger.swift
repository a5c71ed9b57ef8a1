// The messenger: its database, the connection that writes, and what it looks up.

import Foundation
import QuireTesting
import Testing
import YapCompat

/// A version of the app.
enum Release: String, Sendable {
  case first
  case second
}

/// One life of the app, from its start to its end.
final class Messenger: Sendable {
  let database: YapDatabase
  /// For everything that is written, in the background.
  let background: YapDatabaseConnection

  /// Opens the database and registers what it is read and shown by.
  init(
    at url: URL, order: InboxOrder = .latest, rule: UnreadRule = .all, release: Release = .first,
    onError: @escaping @Sendable (any Error) -> Void = { Issue.record("\($0)") }
  ) throws {
    var options = YapDatabaseOptions()
    options.pragmaSynchronous = .off
    database = try YapDatabase(url: url, options: options, onError: onError)
    // Whatever collection a thread makes for its messages.
    switch release {
    case .first: database.registerDefaultCodableSerialization(Message.self, metadata: MessageState.self)
    case .second: database.registerDefaultCodableSerialization(LaterMessage.self, metadata: MessageState.self)
    }
    database.registerCodableSerialization(
      ChatThread.self, metadata: ThreadState.self, forCollection: Collections.threads)
    database.registerCodableSerialization(Attachment.self, forCollection: Collections.attachments)
    database.registerCodableSerialization(Contact.self, forCollection: Collections.contacts)
    database.setDefaultObjectPolicy(.share)
    database.setDefaultMetadataPolicy(.share)
    database.setObjectPolicy(.containment, forCollection: Collections.contacts)
    for (name, view) in [
      (Extensions.graph, YapDatabaseRelationship(versionTag: "1")), (Extensions.inbox, Views.inbox(order)),
      (Extensions.messages, Views.messages(release)), (Extensions.unread, Views.unread(rule)),
      (Extensions.contacts, Views.contacts()),
    ] as [(String, YapDatabaseExtension)] {
      #expect(database.register(view, withName: name))
    }
    background = database.newConnection()
    background.name = "background"
  }

  /// Contacts whose names begin with some letters, by the view that sorts them.
  func contacts(named prefix: String, _ transaction: YapDatabaseReadTransaction) -> [Contact] {
    guard let view = transaction.ext(Extensions.contacts) as? YapDatabaseViewTransaction,
      let group = prefix.first.map({ String($0) })
    else { return [] }
    let find = YapDatabaseViewFind.withObjectBlock { _, _, object in
      guard let name = (object as? Contact)?.name else { return .orderedSame }
      return name.hasPrefix(prefix) ? .orderedSame : name.compare(prefix, options: .literal)
    }
    guard let range = view.findRange(inGroup: group, using: find) else { return [] }
    return range.compactMap { view.object(at: UInt($0), inGroup: group) as? Contact }
  }

  /// Keys that begin with some letters, in their order.
  func keys(
    beginningWith prefix: String, inCollection collection: String, _ transaction: YapDatabaseReadTransaction
  ) -> [String] {
    var found: [String] = []
    transaction.enumerateKeysAndObjects(
      inCollection: collection, using: { key, _, _ in found.append(key) }, withFilter: { $0.hasPrefix(prefix) })
    return found
  }
}
