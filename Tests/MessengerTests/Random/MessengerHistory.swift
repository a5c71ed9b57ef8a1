// One random life of the messenger beside a model.

import Foundation
import QuireTesting
import Testing
import YapCompat

struct HistoryError: Error, CustomStringConvertible { let description: String }

@MainActor final class MessengerHistory {
  private var random: SeededRandom
  private let folder: TestFolder
  private(set) var model = MessengerModel()
  private(set) var messenger: Messenger
  private(set) var ui: MessengerUI
  private(set) var steps = 0
  /// How often what has happened, to see that all of it does.
  private(set) var counts: [String: Int] = [:]
  private var fileNumber = 0
  private var url: URL { folder.url.appendingPathComponent("messenger.quire") }
  private var files: URL { folder.url.appendingPathComponent("attachments", isDirectory: true) }

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    folder = try TestFolder()
    let url = folder.url.appendingPathComponent("messenger.quire")
    (messenger, ui) = try Self.start(url, MessengerModel())
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    follow()
  }

  private static func start(_ url: URL, _ model: MessengerModel) throws -> (Messenger, MessengerUI) {
    let messenger = try Messenger(at: url, order: model.order, rule: model.rule)
    return (messenger, try MessengerUI(messenger))
  }

  /// Both screens are looked at after each notification.
  private func follow() {
    ui.didFollow = { [weak self] notifications in
      guard let self else { return }
      counts["notification", default: 0] += 1
      if notifications.count > 1 { counts["several commits", default: 0] += 1 }
      try expectFresh(ui.inbox, "the inbox")
      if let thread = ui.thread { try expectFresh(thread, "the thread") }
    }
  }

  // MARK: Steps

  func run(_ count: Int) async throws {
    for _ in 0..<count {
      steps += 1
      try await act()
      if let failure = ui.failure { throw failure }
      try checkScreens()
      if random.oneIn(8) { try openThread() }
      if steps % 50 == 0 { try checkRows() }
      if random.oneIn(150) { try restart() }
    }
    try restart()
    try checkRows()
    ui.close()
    try messenger.database.close()
  }

  /// One to three transactions, of which the screens may learn at once.
  private func act() async throws {
    var actions: [Action] = []
    for _ in 0..<1 + random.below(3) {
      let action = makeAction()
      model.apply(action)
      actions.append(action)
    }
    let (background, way) = (messenger.background, random.below(8))
    switch way {
    case 0...2:
      // Nothing is told before all have committed.
      for action in actions { try background.readWrite { action.perform($0) } }
      await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    case 3...6:
      // Each is told before the next one begins.
      for action in actions {
        await withCheckedContinuation { continuation in
          background.asyncReadWrite({ action.perform($0) }, completionBlock: { continuation.resume() })
        }
      }
    default:
      // The main queue is told while the connection goes on, as in an app.
      counts["race", default: 0] += 1
      await withCheckedContinuation { continuation in
        for action in actions { background.asyncReadWrite { action.perform($0) } }
        // The notifications of all were sent to the main queue before this is.
        background.flushTransactions(withCompletionQueue: .main) { continuation.resume() }
      }
    }
  }

  private func openThread() throws {
    guard let id = model.threads.keys.sorted().randomElement(using: &random), !random.oneIn(10) else {
      return try ui.open(nil)
    }
    switch random.below(3) {
    case 0: try ui.open(id)
    case 1:
      try ui.open(
        id, range: .fixedRange(withLength: UInt(1 + random.below(20)), offset: UInt(random.below(3)), from: .end))
    default:
      let range = YapDatabaseViewRangeOptions.flexibleRange(
        withLength: UInt(1 + random.below(20)), offset: 0, from: .end)
      range.maxLength = 25
      range.growOptions = .onBothSides
      try ui.open(id, range: range)
    }
  }

  private func restart() throws {
    let (id, reloads) = (ui.openThread, ui.inbox.counts["reload"] ?? 0)
    for (what, count) in ui.inbox.counts { counts["inbox \(what)", default: 0] += count }
    if reloads > 0 { throw HistoryError(description: "the inbox was made anew \(reloads) times") }
    ui.close()
    try messenger.database.close()
    (messenger, ui) = try Self.start(url, model)
    follow()
    counts["restart", default: 0] += 1
    if let id { try ui.open(id) }
    let names = try FileManager.default.contentsOfDirectory(atPath: files.path)
    if Set(names) != model.attachments {
      throw HistoryError(description: "files \(names.sorted()) instead of \(model.attachments.sorted())")
    }
    try checkScreens()
  }

  // MARK: Actions

  private func makeAction() -> Action {
    guard let id = model.threads.keys.sorted().randomElement(using: &random), !random.oneIn(12) else {
      // A thread that was deleted may come again, with the collection that it had.
      let fresh = (0..<14).map { "t\($0)" }.filter { model.threads[$0] == nil }
      guard let id = fresh.randomElement(using: &random) else { return .deleteThread("t\(random.below(14))") }
      return count("make", .make(thread: id, title: "title \(random.below(9))"))
    }
    let keys = model.threads[id]?.messages.keys.sorted() ?? []
    func some() -> [String] { (0..<1 + random.below(4)).map { _ in keys.randomElement(using: &random) ?? "none" } }
    switch random.below(40) {
    case 0...13: return count("deliver", .deliver(thread: id, makeEnvelopes(id)))
    case 14...17: return count("edit", .edit(thread: id, key: some()[0], text: "edited \(steps)"))
    case 18...21: return count("mark", .markRead(thread: id, some()))
    case 22...23: return count("mark all", .markAllRead(thread: id))
    case 24...26: return count("delete", .delete(thread: id, some()))
    case 27: return random.oneIn(3) ? count("clear", .clear(thread: id)) : .markRead(thread: id, some())
    case 28: return random.oneIn(2) ? count("delete thread", .deleteThread(id)) : .markRead(thread: id, some())
    case 29...30: return count("rename", .rename(thread: id, title: "title \(random.below(9))"))
    case 31...32: return count("pin", .pin(thread: id, isPinned: random.oneIn(2)))
    case 33...34: return count("draft", .keepDraft(thread: id, random.oneIn(2) ? nil : "draft \(steps)"))
    case 35: return count("mute", .mute(thread: id, isMuted: random.oneIn(2)))
    case 36:
      return random.oneIn(3) ? count("sort", .sort(random.oneIn(2) ? .latest : .title)) : .markAllRead(thread: id)
    case 37:
      return random.oneIn(3) ? count("count", .count(random.oneIn(2) ? .all : .ofOthers)) : .markAllRead(thread: id)
    default:
      return count("taken back", .takenBack(random.oneIn(2) ? .deleteThread(id) : .clear(thread: id)))
    }
  }

  private func count(_ what: String, _ action: Action) -> Action {
    counts[what, default: 0] += 1
    return action
  }

  /// Some new messages, and some that come again with something else in them.
  private func makeEnvelopes(_ id: String) -> [Envelope] {
    // Each key once: an attachment of a message that is overwritten before its commit was never one of the message.
    Set((0..<1 + random.below(5)).map { _ in random.below(60) }).sorted().map { makeEnvelope(id, "m\($0)") }
  }

  private func makeEnvelope(_ id: String, _ key: String) -> Envelope {
    var (attachmentID, attachment): (String?, Attachment?) = (nil, nil)
    switch random.below(8) {
    case 0:
      fileNumber += 1
      let name = "file\(fileNumber)"
      let file = files.appendingPathComponent(name)
      _ = FileManager.default.createFile(atPath: file.path, contents: Data("file".utf8))
      (attachmentID, attachment) = (name, Attachment(url: file))
    case 1:
      // Forwarded.
      attachmentID = model.attachments.sorted().randomElement(using: &random)
    default: break
    }
    let message = Message(
      threadID: id, authorID: ["me", "anna", "ben"][random.below(3)], text: "text \(steps)",
      date: Date(timeIntervalSinceReferenceDate: Double(random.below(400))), attachmentID: attachmentID)
    return Envelope(key: key, message: message, isRead: random.oneIn(3), attachment: attachment)
  }
}
