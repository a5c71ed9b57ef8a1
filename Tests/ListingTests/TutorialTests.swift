// What the listings of the tutorials and the recipes do.

import Foundation
import Quire
import QuireTesting
import Synchronization
import Testing

@Suite("Listings of tutorials and recipes") struct TutorialTests {
  private func note(_ title: String, _ text: String, in folder: String, _ seconds: Double) -> Note {
    Note(title: title, text: text, folderID: folder, changeDate: Date(timeIntervalSince1970: seconds))
  }

  @Test("Notes are searched, undone, and go with their folder and their picture") func notes() async throws {
    let folder = try TestFolder()
    let store = try await NoteStore(at: folder.path)
    let home = try await store.makeFolder("Home", id: "home")
    var shopping = note("Shopping", "Buy two loaves of bread", in: home, 1)
    shopping.picture = try folder.makeFile("bread.png").path
    let id = try await store.save(shopping)
    _ = try await store.save(note("Ideas", "Trains that leave at night", in: home, 2))

    #expect(try await store.search(typing: "leav").map(\.piece) == ["Trains that [leave] at night"])
    let deleted = try #require(try await store.delete(id))
    #expect(try await store.search(typing: "bread").isEmpty)
    try await store.undo(deleted)
    #expect(try await store.search(typing: "bread").map(\.id) == [id])

    try await store.deleteFolder(home)
    #expect(try await store.db.read { tx in tx[.notes].count } == 0)
    try await store.undo(deleted)
    #expect(try await store.db.read { tx in tx[.notes].count } == 0)
    await store.db.drain()
    try store.db.close()
  }

  @Test("The folder on the screen follows what is saved and pinned") @MainActor func folderModel() async throws {
    let folder = try TestFolder()
    let store = try await NoteStore(at: folder.path)
    let home = try await store.makeFolder("Home")
    let model = FolderModel()
    let following = Task { try await model.follow(home, in: store) }
    func shows(_ titles: [String]) async -> Bool {
      for _ in 0..<2_000 {
        if model.notes.map(\.title) == titles { return true }
        try? await Task.sleep(for: .milliseconds(5))
      }
      return false
    }
    let first = try await store.save(note("first", "", in: home, 1))
    _ = try await store.save(note("second", "", in: home, 2))
    #expect(await shows(["second", "first"]))
    try await store.pin(first, true)
    #expect(await shows(["first", "second"]))
    _ = try await store.delete(first)
    #expect(await shows(["second"]))
    following.cancel()
    _ = await following.result
    try store.db.close()
  }

  @Test("The server pages, refuses edits of older versions, and tells clients where they stopped")
  func server() async throws {
    let folder = try TestFolder()
    let server = try await ArticleServer(at: folder.path)
    try await server.load(
      (0..<45).map { number in
        ("a\(number)", Article(title: "\(number)", body: "", date: Date(timeIntervalSince1970: Double(number))))
      }, progress: { _ in })
    #expect(try await server.page(0, of: 20).items.map(\.title).first == "44")
    #expect(try await server.page(2, of: 20).items.map(\.title) == ["4", "3", "2", "1", "0"])

    let edited = Article(title: "new", body: "", date: Date(timeIntervalSince1970: 3))
    #expect(try await server.save(edited, id: "a3", ifVersion: 1) == .saved(version: 2))
    #expect(try await server.save(edited, id: "a3", ifVersion: 1) == .conflict(version: 2))

    let start = "\(try server.db.newestCursor(of: .clients))"
    #expect(try await server.save(edited, id: "x", ifVersion: nil) == .saved(version: 1))
    let event = try await firstEvent(of: server, after: start)
    #expect(event.hasPrefix("id: ") && event.hasSuffix("\ndata: x\n\n"))
    let id = String(event.dropFirst(4).prefix { $0 != "\n" })
    #expect(try await server.save(edited, id: "y", ifVersion: nil) == .saved(version: 1))
    #expect(try await firstEvent(of: server, after: id).hasSuffix("\ndata: y\n\n"))

    let copy = folder.path + ".copy"
    try await server.backUp(to: copy)
    let restored = try await ArticleServer(at: copy)
    #expect(try await restored.page(0, of: 1).count == 47)
    #expect(try await firstEvent(of: restored, after: id).hasPrefix("event: reload\nid: "))
    #expect(try await firstEvent(of: server, after: "zzz").hasPrefix("event: reload\nid: "))
    let before = "\(try server.db.newestCursor(of: .clients))"
    try await server.db.write { tx in try tx[.articles].removeAll() }
    #expect(try await firstEvent(of: server, after: before).hasPrefix("event: reload\nid: "))
    try restored.db.close()
    try server.db.close()
  }

  /// The text of the first event that a client is sent.
  private func firstEvent(of server: ArticleServer, after id: String) async throws -> String {
    struct Enough: Error {}
    let event = Mutex("")
    do {
      try await server.sendEvents(after: id) { text in
        event.withLock { $0 = text }
        throw Enough()
      }
    } catch is Enough {}
    return event.withLock { $0 }
  }

  @Test("Attachments go with their letter") func attachments() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("attachments-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
    let db = try Recipes.testDatabase()
    let files = Recipes.attachments(in: folder)
    try await db.register(files)
    try await db.write { tx in try tx[.letters].set(Letter(box: "in", subject: "1", date: Date()), for: "l1") }
    try await Recipes.attach(Data("picture".utf8), to: "l1", db, files, in: folder)
    let name = try #require(try names().first)
    #expect(try Data(contentsOf: folder.appendingPathComponent(name)) == Data("picture".utf8))
    #expect(try await db.read { tx in try tx.relationship(files).count(toFile: name) } == 1)
    try await db.write { tx in _ = try tx[.letters].remove("l1") }
    await db.drain()
    #expect(try names().isEmpty)
  }

  @Test("Pages, unread counts, deletion that can be undone") func letters() async throws {
    let db = try Recipes.testDatabase()
    let letters = (0..<45).map { number in
      Letter(box: "in", subject: "\(number)", date: Date(timeIntervalSince1970: Double(number)), isRead: number < 40)
    }
    try await Recipes.importLetters(letters, db, progress: { _ in })
    let first = try await db.read { tx in Recipes.page(tx, after: nil).map(\.key) }
    let second = try await db.read { tx in Recipes.page(tx, after: first.last).map(\.key) }
    #expect(first.count == 20 && second.first == "l1000020")
    #expect(try await db.read { tx in try Recipes.page(tx, 2, in: "in") } == ["4", "3", "2", "1", "0"])
    #expect(try await db.read { tx in try Recipes.unreadCount(tx, in: "in") } == 5)
    try await Recipes.delete("l1000044", db)
    #expect(try await db.read { tx in try Recipes.unreadCount(tx, in: "in") } == 4)
    #expect(try await Recipes.empty(db, before: .distantPast) == 0)
    try await Recipes.undelete("l1000044", db)
    #expect(try await db.read { tx in try Recipes.unreadCount(tx, in: "in") } == 5)
    try await Recipes.delete("l1000044", db)
    #expect(try await Recipes.empty(db, before: .distantFuture) == 1)
    #expect(try await db.read { tx in tx[.letters].count } == 44)
  }

  @Test("Unique fields, counters, rows that expire, copies that are restored") func others() async throws {
    let folder = try TestFolder()
    let db = try folder.open()
    try await db.register(Indexes<Member, NoMetadata>.members)
    try await db.register(Indexes<Session, NoMetadata>.sessions)
    #expect(try await Recipes.signUp(Member(name: "Ann", email: "ann@example.org"), "m1", db))
    #expect(try await !Recipes.signUp(Member(name: "Anna", email: "ann@example.org"), "m2", db))
    #expect(try await Recipes.next("invoice", db) == 1)
    #expect(try await Recipes.next("invoice", db) == 2)
    try await db.write { tx in
      for number in 0..<1_200 {
        let end = Date(timeIntervalSince1970: Double(number))
        try tx[.sessions].set(Session(person: "m1", end: end), for: "s\(number)")
      }
    }
    #expect(try await Recipes.expire(db, now: Date(timeIntervalSince1970: 1_100)) == 1_100)
    #expect(try await db.read { tx in tx[.sessions].count } == 100)
    let copy = folder.path + ".copy"
    try await Recipes.backUp(db, to: copy)
    let restored = try Recipes.restore(copy, to: folder.path + ".restored")
    #expect(try await restored.read { tx in tx[.sessions].count } == 100)
    try restored.close()
    try db.close()
  }
}
