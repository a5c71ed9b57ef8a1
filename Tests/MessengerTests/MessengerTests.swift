// What a user of the messenger sees, one story at a time.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("A messenger on YapCompat") @MainActor struct MessengerTests {
  private let folder: TestFolder
  private var url: URL { folder.url.appendingPathComponent("messenger.quire") }

  init() throws { folder = try TestFolder() }

  private func perform(_ messenger: Messenger, _ actions: Action...) async {
    let background = messenger.background
    await withCheckedContinuation { continuation in
      for action in actions { background.asyncReadWrite { action.perform($0) } }
      background.flushTransactions(withCompletionQueue: .main) { continuation.resume() }
    }
  }

  private func envelope(
    _ key: String, _ thread: String, _ second: Int, _ text: String = "hello", author: String = "anna",
    attachment: Attachment? = nil
  ) -> Envelope {
    let message = Message(
      threadID: thread, authorID: author, text: text, date: Date(timeIntervalSinceReferenceDate: Double(second)),
      attachmentID: attachment.map { $0.url.lastPathComponent })
    return Envelope(key: key, message: message, isRead: false, attachment: attachment)
  }

  private func keys(_ screen: Screen?) -> [[String]] { screen?.sections.map { $0.cells.map(\.key) } ?? [] }

  // MARK: Screens

  @Test("Two screens follow one notification, each by its own changes", .timeLimit(.minutes(1)))
  func screens() async throws {
    let messenger = try Messenger(at: url)
    let ui = try MessengerUI(messenger)
    await perform(
      messenger, .make(thread: "t1", title: "Anna"), .make(thread: "t2", title: "Ben"),
      .deliver(thread: "t1", [envelope("a", "t1", 10)]), .deliver(thread: "t2", [envelope("b", "t2", 20)]))
    try #require(ui.failure == nil)
    #expect(keys(ui.inbox) == [["t2", "t1"]])
    try ui.open("t1")
    #expect(keys(ui.thread) == [["a"]])
    let before = ui.notificationCount
    // Late on the network: it stands before the other one, and the thread moves up by nothing.
    await perform(messenger, .deliver(thread: "t1", [envelope("c", "t1", 5), envelope("d", "t1", 30)]))
    #expect(ui.notificationCount == before + 1)
    #expect(keys(ui.thread) == [["c", "a", "d"]] && keys(ui.inbox) == [["t1", "t2"]])
    #expect(ui.thread?.counts == ["insert": 2])
    #expect(ui.inbox.sections[0].cells[0].text == "Anna 30.0 3 no draft false")
    await perform(messenger, .markAllRead(thread: "t1"))
    #expect(ui.thread?.counts == ["insert": 2, "update": 3])
    #expect(ui.inbox.sections[0].cells[0].text == "Anna 30.0 0 no draft false")
    await perform(messenger, .keepDraft(thread: "t2", "I will"), .pin(thread: "t2", isPinned: true))
    #expect(ui.inbox.sections.map(\.group) == ["pinned", "others"] && keys(ui.inbox) == [["t2"], ["t1"]])
    #expect(ui.inbox.sections[0].cells[0].text == "Ben 20.0 1 I will false")
    await perform(messenger, .deleteThread("t1"))
    #expect(keys(ui.inbox) == [["t2"]] && keys(ui.thread) == [[]])
    #expect(ui.failure == nil && ui.inbox.counts["reload"] == nil)
    ui.close()
    try messenger.database.close()
  }

  // MARK: Relationships

  @Test("Messages go with their thread, and files with the last message that shows them") func cascades() async throws {
    let messenger = try Messenger(at: url)
    let shared = Attachment(url: try folder.makeFile("shared.jpg"))
    let own = Attachment(url: try folder.makeFile("own.jpg"))
    await perform(
      messenger, .make(thread: "t1", title: "Anna"), .make(thread: "t2", title: "Ben"),
      .deliver(
        thread: "t1", [envelope("a", "t1", 1, attachment: shared), envelope("b", "t1", 2, attachment: own)]),
      .deliver(thread: "t2", [envelope("c", "t2", 3, attachment: shared)]))
    let exists = { (attachment: Attachment) in FileManager.default.fileExists(atPath: attachment.url.path) }
    try messenger.background.readWrite { Action.deleteThread("t1").perform($0) }
    #expect(exists(shared) && !exists(own))
    try messenger.background.read { transaction in
      #expect(transaction.numberOfKeys(inCollection: Collections.messages(of: "t1")) == 0)
      #expect(transaction.allKeys(inCollection: Collections.attachments) == ["shared.jpg"])
      #expect((transaction.ext(Extensions.unread) as? YapDatabaseViewTransaction)?.allGroups() == ["t2"])
    }
    try messenger.background.readWrite { Action.delete(thread: "t2", ["c"]).perform($0) }
    #expect(!exists(shared))
    try messenger.database.close()
  }

  // MARK: Searching

  @Test("Contacts are found by the beginning of their names, and rows by that of their keys") func search() throws {
    let messenger = try Messenger(at: url)
    #expect(messenger.database.objectPolicy(forCollection: Collections.contacts) == .containment)
    #expect(messenger.database.objectPolicy(forCollection: Collections.messages(of: "t1")) == .share)
    try messenger.background.readWrite { transaction in
      for (number, name) in ["Anna", "Andrea", "Antonia", "Ben", "Änne", "Anton"].enumerated() {
        transaction.setObject(Contact(name: name), forKey: "c\(number)", inCollection: Collections.contacts)
      }
    }
    try messenger.background.read { transaction in
      #expect(messenger.contacts(named: "An", transaction).map(\.name) == ["Andrea", "Anna", "Anton", "Antonia"])
      #expect(messenger.contacts(named: "Anto", transaction).map(\.name) == ["Anton", "Antonia"])
      #expect(messenger.contacts(named: "Ä", transaction).map(\.name) == ["Änne"])
      #expect(messenger.contacts(named: "Bo", transaction).isEmpty)
      let found = messenger.keys(beginningWith: "c", inCollection: Collections.contacts, transaction)
      #expect(found == ["c0", "c1", "c2", "c3", "c4", "c5"])
    }
    try messenger.database.close()
  }

  // MARK: Restarting

  @Test("A new release reads the rows of the old one, and sorts them by a field that those do not have")
  func upgrade() async throws {
    var messenger = try Messenger(at: url)
    await perform(
      messenger, .make(thread: "t1", title: "Anna"),
      .deliver(thread: "t1", [envelope("a", "t1", 1), envelope("b", "t1", 2), envelope("c", "t1", 3)]),
      .markRead(thread: "t1", ["a"]))
    try messenger.database.close()
    messenger = try Messenger(at: url, release: .second)
    #expect(messenger.database.registeredExtension(Extensions.messages) is YapDatabaseAutoView)
    let ui = try MessengerUI(messenger)
    let collection = Collections.messages(of: "t1")
    func order() throws -> [String] {
      try messenger.background.read { transaction in
        let view = try #require(transaction.ext(Extensions.messages) as? YapDatabaseViewTransaction)
        #expect(view.versionTag() == "second")
        return (0..<view.numberOfItems(inGroup: "t1")).compactMap { view.key(at: $0, inGroup: "t1") }
      }
    }
    #expect(try order() == ["a", "b", "c"])
    try messenger.background.readWrite { transaction in
      let old = try #require(transaction.object(forKey: "a", inCollection: collection) as? LaterMessage)
      #expect(old.text == "hello" && old.editDate == nil && old.reactions.wrappedValue == [])
      let edited = LaterMessage(
        old, text: "hello again", editDate: Date(timeIntervalSinceReferenceDate: 9), reactions: ["❤️"])
      transaction.replace(edited, forKey: "a", inCollection: collection)
    }
    #expect(try order() == ["b", "c", "a"])
    try messenger.background.read { transaction in
      let edited = transaction.object(forKey: "a", inCollection: collection) as? LaterMessage
      #expect(edited?.reactions.wrappedValue == ["❤️"] && edited?.text == "hello again")
      #expect(
        transaction.metadata(forKey: "a", inCollection: collection) as? MessageState == MessageState(isRead: true))
      let unread = transaction.ext(Extensions.unread) as? YapDatabaseViewTransaction
      #expect(unread?.numberOfItems(inGroup: "t1") == 0)
    }
    ui.close()
    try messenger.database.close()
  }
}
