// Rows that are shown and edited.

import Foundation
import Observation
import QuireDatabase
import QuireObservation
import QuireTesting
import Synchronization
import Testing

@MainActor @Suite struct LiveRowTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.write { tx throws in try tx[.songs].set(Song(title: "Naima"), metadata: 1, for: "s1") }
  }

  private func stored() async throws -> Song? { try await db.read { tx in try tx[.songs].get("s1") } }

  @Test func showsTheRowAndThatThereIsNone() async throws {
    let row = LiveRow(db, .songs, "s1")
    #expect(row.row == nil && row.object == nil && !row.isLoaded && row.isLive)
    try await until { row.isLoaded }
    #expect(row.object?.title == "Naima" && row.metadata == 1 && row.row?.key == "s1")
    try await db.write { tx in try tx[.songs].remove("s1") }
    try await until { row.row == nil }
    #expect(row.isLoaded && row.error == nil)
    try await db.write { tx in try tx[.songs].set(Song(title: "Again"), for: "s1") }
    try await until { row.object?.title == "Again" }
    row.stop()
    #expect(!row.isLive)
  }

  @Test func editsShowAtOnceAndAreWritten() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    let changes = ChangeCounter { _ = row.object }
    row.edit { $0.title = "Blue Train" }
    #expect(row.object?.title == "Blue Train" && row.isWriting && changes.count == 1)
    await row.settle()
    #expect(!row.isWriting && row.editError == nil && row.object?.title == "Blue Train" && row.metadata == 1)
    #expect(try await stored()?.title == "Blue Train")
  }

  @Test("What is typed is never taken back by an older state") func typing() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    var typed = ""
    for number in 0..<100 {
      typed += "\(number % 10)"
      row[\.title, default: ""] = typed
      #expect(row[\.title, default: ""] == typed)
      if number % 3 == 0 { try await Task.sleep(for: .milliseconds(1)) }
      #expect(row.object?.title == typed)
    }
    await row.settle()
    #expect(row.object?.title == typed)
    #expect(try await stored()?.title == typed)
  }

  @Test func editsKeepWhatOthersHaveChanged() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    row.stop()
    try await db.write { tx in try tx[.songs].update("s1") { $0.rating = 5 } }
    #expect(row.object?.rating == 3)
    row.edit { $0.title = "t" }
    await row.settle()
    #expect(row.object == Song(title: "t", rating: 5))
  }

  @Test func anEditThatThrowsChangesNothing() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    row.edit { song in
      song.title = "half"
      throw Refusal()
    }
    #expect(row.editError is Refusal && row.object?.title == "Naima" && !row.isWriting)
    row.edit { $0.rating = 1 }
    await row.settle()
    #expect(row.editError == nil && row.object == Song(title: "Naima", rating: 1))
  }

  @Test("One that throws only when it is written is left out alone") func lateRefusal() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    row.stop()
    try await db.write { tx in try tx[.songs].update("s1") { $0.rating = 0 } }
    row.edit { song in
      guard song.rating > 0 else { throw Refusal() }
      song.title = "never"
    }
    row.edit { $0.album = "a2" }
    #expect(row.object == Song(title: "never", album: "a2"))
    await row.settle()
    #expect(row.editError is Refusal)
    #expect(row.object == Song(title: "Naima", album: "a2", rating: 0))
  }

  @Test func aRowThatHasGoneIsNotMadeAnew() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    row.stop()
    try await db.write { tx in try tx[.songs].remove("s1") }
    row.edit { $0.title = "t" }
    #expect(row.object?.title == "t")
    await row.settle()
    #expect((row.editError as? DatabaseError)?.code == .rowMissing)
    #expect((row.editError as? DatabaseError)?.key == "s1" && row.object == nil)
    #expect(try await stored() == nil)
  }

  @Test func editsOfAClosedDatabaseFail() async throws {
    let row = LiveRow(db, .songs, "s1")
    row.load()
    try close()
    row.edit { $0.title = "t" }
    await row.settle()
    #expect((row.editError as? DatabaseError)?.code == .closed && row.object?.title == "Naima")
    let db = try folder.open()
    #expect(try await db.read { tx in try tx[.songs].get("s1")?.title } == "Naima")
  }

  private func close() throws { try db.close() }

  @Test func goesWhenNobodyHoldsItButWritesItsEdits() async throws {
    weak var gone: LiveRow<Song, Int>?
    do {
      let row = LiveRow(db, .songs, "s1")
      gone = row
      row.edit { $0.title = "last" }
    }
    try await until { gone == nil && db.observerCount == 0 }
    #expect(try await stored()?.title == "last")
  }
}
