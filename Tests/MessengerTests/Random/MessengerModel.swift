// What the messenger should hold and show, in dictionaries.

import Foundation

struct MessengerModel {
  struct ModelMessage {
    var message: Message
    var state: MessageState?
  }

  struct ModelThread {
    var thread: ChatThread
    var state: ThreadState?
    var messages: [String: ModelMessage] = [:]

    mutating func noteLastMessage() { thread.lastMessageDate = messages.values.map(\.message.date).max() }
  }

  var threads: [String: ModelThread] = [:]
  var order = InboxOrder.latest
  var rule = UnreadRule.all

  /// The attachments that some message shows.
  var attachments: Set<String> {
    Set(threads.values.flatMap { $0.messages.values.compactMap(\.message.attachmentID) })
  }

  mutating func apply(_ action: Action) {
    switch action {
    case .make(let id, let title): threads[id] = ModelThread(thread: ChatThread(title: title))
    case .rename(let id, let title): threads[id]?.thread.title = title
    case .pin(let id, let isPinned): threads[id]?.thread.isPinned = isPinned
    case .keepDraft(let id, let draft): change(id) { $0.draft = draft }
    case .mute(let id, let isMuted): change(id) { $0.isMuted = isMuted }
    case .deliver(let id, let envelopes):
      for envelope in envelopes {
        threads[id]?.messages[envelope.key] = ModelMessage(
          message: envelope.message, state: MessageState(isRead: envelope.isRead))
      }
      threads[id]?.noteLastMessage()
    case .edit(let id, let key, let text):
      guard let old = threads[id]?.messages[key]?.message else { return }
      threads[id]?.messages[key]?.message = old.with(text: text)
    case .markRead(let id, let keys):
      for key in keys { threads[id]?.messages[key]?.state = MessageState(isRead: true) }
    case .markAllRead(let id): for key in unread(id) { threads[id]?.messages[key]?.state = MessageState(isRead: true) }
    case .delete(let id, let keys):
      for key in keys { threads[id]?.messages[key] = nil }
      threads[id]?.noteLastMessage()
    case .clear(let id):
      threads[id]?.messages = [:]
      threads[id]?.noteLastMessage()
    case .deleteThread(let id): threads[id] = nil
    case .sort(let order): self.order = order
    case .count(let rule): self.rule = rule
    case .takenBack: break
    }
  }

  private mutating func change(_ id: String, _ body: (inout ThreadState) -> Void) {
    var state = threads[id]?.state ?? ThreadState()
    body(&state)
    threads[id]?.state = state
  }

  // MARK: What is shown

  /// The keys of the unread messages of a thread, in their order.
  func unread(_ id: String) -> [String] {
    sorted(id).filter { rule.counts($0.value.message, $0.value.state) }.map(\.key)
  }

  private func sorted(_ id: String) -> [(key: String, value: ModelMessage)] {
    (threads[id]?.messages ?? [:]).sorted { ($0.value.message.date, $0.key) < ($1.value.message.date, $1.key) }
  }

  /// All messages of a thread.
  func cells(of id: String) -> [Cell] {
    sorted(id).map { Cell(key: $0.key, text: MessengerUI.text($0.value.message, $0.value.state)) }
  }

  /// The sections of the inbox.
  func inbox() -> [Section] {
    let rows = threads.sorted { left, right in
      let (first, second) = (left.value.thread, right.value.thread)
      switch order {
      case .title: return first.title + "/" + left.key < second.title + "/" + right.key
      case .latest:
        let dates = [first, second].map { $0.lastMessageDate ?? .distantPast }
        return dates[0] == dates[1] ? left.key < right.key : dates[0] > dates[1]
      }
    }
    return ["pinned", "others"].compactMap { group in
      let cells = rows.filter { $0.value.thread.isPinned == (group == "pinned") }.map { id, row in
        Cell(key: id, text: MessengerUI.text(row.thread, row.state, unread: unread(id).count))
      }
      return cells.isEmpty ? nil : Section(group: group, cells: cells)
    }
  }
}
