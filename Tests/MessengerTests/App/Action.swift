// What a user does, and what comes from the network: one write transaction each.

import Foundation
import YapCompat

/// A message on its way into the database.
struct Envelope: Sendable {
  let key: String
  let message: Message
  let isRead: Bool
  /// A file that comes with it.
  var attachment: Attachment?
}

enum Action: Sendable {
  case make(thread: String, title: String)
  case rename(thread: String, title: String)
  case pin(thread: String, isPinned: Bool)
  case keepDraft(thread: String, String?)
  case mute(thread: String, isMuted: Bool)
  case deliver(thread: String, [Envelope])
  case edit(thread: String, key: String, text: String)
  case markRead(thread: String, [String])
  case markAllRead(thread: String)
  case delete(thread: String, [String])
  case clear(thread: String)
  case deleteThread(String)
  case sort(InboxOrder)
  case count(UnreadRule)
  indirect case takenBack(Action)

  func perform(_ transaction: YapDatabaseReadWriteTransaction) {
    switch self {
    case .make(let id, let title):
      transaction.setObject(ChatThread(title: title), forKey: id, inCollection: Collections.threads)
    case .rename(let id, let title): Self.change(id, transaction) { $0.title = title }
    case .pin(let id, let isPinned): Self.change(id, transaction) { $0.isPinned = isPinned }
    case .keepDraft(let id, let draft): Self.changeState(id, transaction) { $0.draft = draft }
    case .mute(let id, let isMuted): Self.changeState(id, transaction) { $0.isMuted = isMuted }
    case .deliver(let id, let envelopes):
      for envelope in envelopes { Self.store(envelope, id, transaction) }
      Self.noteLastMessage(id, transaction)
    case .edit(let id, let key, let text):
      let collection = Collections.messages(of: id)
      guard let message = transaction.object(forKey: key, inCollection: collection) as? Message else { return }
      transaction.replace(message.with(text: text), forKey: key, inCollection: collection)
    case .markRead(let id, let keys): Self.markRead(keys, id, transaction)
    case .markAllRead(let id):
      var keys: [String] = []
      (transaction.ext(Extensions.unread) as? YapDatabaseViewTransaction)?.enumerateKeys(inGroup: id) {
        _, key, _, _ in keys.append(key)
      }
      Self.markRead(keys, id, transaction)
    case .delete(let id, let keys):
      transaction.removeObjects(forKeys: keys, inCollection: Collections.messages(of: id))
      Self.noteLastMessage(id, transaction)
    case .clear(let id):
      transaction.removeAllObjects(inCollection: Collections.messages(of: id))
      Self.noteLastMessage(id, transaction)
    case .deleteThread(let id): transaction.removeObject(forKey: id, inCollection: Collections.threads)
    case .sort(let order):
      (transaction.ext(Extensions.inbox) as? YapDatabaseAutoViewTransaction)?
        .setSorting(order.sorting, versionTag: order.rawValue)
    case .count(let rule):
      (transaction.ext(Extensions.unread) as? YapDatabaseFilteredViewTransaction)?
        .setFiltering(rule.filtering, versionTag: rule.rawValue)
      // Each row of the inbox shows how many there are.
      for id in transaction.allKeys(inCollection: Collections.threads) {
        transaction.touchObject(forKey: id, inCollection: Collections.threads)
      }
    case .takenBack(let action):
      action.perform(transaction)
      transaction.rollback()
    }
  }

  private static func change(
    _ id: String, _ transaction: YapDatabaseReadWriteTransaction, _ body: (inout ChatThread) -> Void
  ) {
    guard var thread = transaction.object(forKey: id, inCollection: Collections.threads) as? ChatThread else { return }
    body(&thread)
    transaction.replace(thread, forKey: id, inCollection: Collections.threads)
  }

  private static func changeState(
    _ id: String, _ transaction: YapDatabaseReadWriteTransaction, _ body: (inout ThreadState) -> Void
  ) {
    var state = transaction.metadata(forKey: id, inCollection: Collections.threads) as? ThreadState ?? ThreadState()
    body(&state)
    transaction.replaceMetadata(state, forKey: id, inCollection: Collections.threads)
  }

  private static func store(_ envelope: Envelope, _ id: String, _ transaction: YapDatabaseReadWriteTransaction) {
    if let attachment = envelope.attachment, let attachmentID = envelope.message.attachmentID {
      transaction.setObject(attachment, forKey: attachmentID, inCollection: Collections.attachments)
    }
    transaction.setObject(
      envelope.message, forKey: envelope.key, inCollection: Collections.messages(of: id),
      withMetadata: MessageState(isRead: envelope.isRead))
  }

  private static func markRead(_ keys: [String], _ id: String, _ transaction: YapDatabaseReadWriteTransaction) {
    for key in keys {
      transaction.replaceMetadata(
        MessageState(isRead: true), forKey: key, inCollection: Collections.messages(of: id))
    }
    transaction.touchObject(forKey: id, inCollection: Collections.threads)
  }

  /// The thread is shown where its latest message belongs, and with the number of its unread ones.
  private static func noteLastMessage(_ id: String, _ transaction: YapDatabaseReadWriteTransaction) {
    let view = transaction.ext(Extensions.messages) as? YapDatabaseViewTransaction
    let last = view?.lastObject(inGroup: id) as? Message
    change(id, transaction) { $0.lastMessageDate = last?.date }
  }
}
