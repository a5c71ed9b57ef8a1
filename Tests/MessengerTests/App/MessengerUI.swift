// The screens of the messenger: one connection in a long-lived read, an inbox, and the thread that is open.

import Foundation
import Testing
import YapCompat

@MainActor final class MessengerUI {
  let connection: YapDatabaseConnection
  private(set) var inbox: Screen
  private(set) var thread: Screen?
  private(set) var openThread: String?
  private var observer: (any NSObjectProtocol)?
  /// Called after each notification with what it said.
  var didFollow: (([Notification]) throws -> Void)?
  private(set) var failure: (any Error)?
  private(set) var notificationCount = 0

  init(_ messenger: Messenger) throws {
    connection = messenger.database.newConnection()
    connection.name = "UI"
    try connection.beginLongLivedReadTransaction()
    let mappings = YapDatabaseViewMappings(groups: ["pinned", "others"], view: Extensions.inbox)
    mappings.setIsDynamicSectionForAllGroups(true)
    inbox = try Screen(connection, mappings, Self.drawThread)
    observer = NotificationCenter.default.addObserver(
      forName: .YapDatabaseModified, object: messenger.database, queue: nil
    ) { [weak self] _ in MainActor.assumeIsolated { self?.databaseModified() } }
  }

  /// Lets go of the database, so that it can be closed.
  func close() {
    if let observer { NotificationCenter.default.removeObserver(observer) }
    observer = nil
    connection.endLongLivedReadTransaction()
  }

  /// Shows a thread: all of it, newest last, or a range at its end that grows with what comes.
  func open(_ id: String?, range: YapDatabaseViewRangeOptions? = nil) throws {
    (openThread, thread) = (id, nil)
    guard let id else { return }
    let mappings = YapDatabaseViewMappings(groups: [id], view: Extensions.messages)
    mappings.setRangeOptions(range, forGroup: id)
    thread = try Screen(connection, mappings, Self.drawMessage)
  }

  private func databaseModified() {
    guard observer != nil, failure == nil else { return }
    do {
      notificationCount += 1
      let notifications = try connection.beginLongLivedReadTransaction()
      // An earlier notification has jumped over this commit as well.
      if notifications.isEmpty { return }
      try inbox.follow(notifications)
      try thread?.follow(notifications)
      try didFollow?(notifications)
    } catch { failure = error }
  }

  // MARK: Cells

  nonisolated static func text(_ thread: ChatThread, _ state: ThreadState?, unread: Int) -> String {
    "\(thread.title) \(thread.lastMessageDate?.timeIntervalSinceReferenceDate ?? -1) \(unread) "
      + "\(state?.draft ?? "no draft") \(state?.isMuted ?? false)"
  }

  nonisolated static func text(_ message: Message, _ state: MessageState?) -> String {
    "\(message.authorID): \(message.text) \(state?.isRead ?? false)"
  }

  nonisolated static func drawThread(
    _ transaction: YapDatabaseReadTransaction, _ key: String, _ object: Any, _ metadata: Any?
  ) -> String {
    guard let thread = object as? ChatThread else { return "\(object)" }
    let unread = (transaction.ext(Extensions.unread) as? YapDatabaseViewTransaction)?.numberOfItems(inGroup: key)
    return text(thread, metadata as? ThreadState, unread: Int(unread ?? 0))
  }

  nonisolated static func drawMessage(
    _: YapDatabaseReadTransaction, _ key: String, _ object: Any, _ metadata: Any?
  ) -> String {
    (object as? Message).map { text($0, metadata as? MessageState) } ?? "\(object)"
  }
}
