// What feeds do where nobody looks: waiting for the disk, expiring, and being opened and closed.

import QuireTesting
import Testing

@testable import QuireDatabase
@testable import QuireStorage

@Suite("Upkeep of change feeds") struct FeedUpkeepTests {
  private func options(_ feeds: [ChangeFeed]) -> Database.Options {
    Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds)
  }

  private func set(_ db: Database, _ text: String, in name: String = "a") throws {
    try db.write { tx throws in try tx[.texts(name)].set(text, for: "k") }
  }

  @Test("Asking waits for the disk if there is something to tell, and not because others have committed")
  func waitsForTheDiskWhenItTells() throws {
    let feed = ChangeFeed("a", over: .only(["a"]))
    let folder = try TestFolder()
    let db = try folder.open(options([feed]))
    let cursor = try db.newestCursor(of: feed)
    try set(db, "1", in: "b")
    var before = db.statistics.flushes
    #expect(try db.nextChanges(of: feed, after: cursor) == nil)
    #expect(db.statistics.flushes == before)
    try set(db, "1")
    before = db.statistics.flushes
    #expect(try db.nextChanges(of: feed, after: cursor)?.changes.count == 1)
    #expect(db.statistics.flushes > before)
    try db.close()
  }

  @Test("A feed whose name begins with a combining mark is found again, and ends as others do")
  func findsNamesByTheirBytes() throws {
    let feed = ChangeFeed("\u{301}x", keeping: .newValues)
    let folder = try TestFolder()
    var db = try folder.open(options([feed]))
    try set(db, "1")
    let cursor = try db.newestCursor(of: feed)
    try db.verify()
    try db.close()
    db = try folder.open(options([feed]))
    #expect(try db.newestCursor(of: feed) == cursor)
    try db.close()
    db = try folder.open(options([]))
    try set(db, "2")
    try db.close()
    db = try folder.open(options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == .cursorForeign)
    try db.close()
  }
}
