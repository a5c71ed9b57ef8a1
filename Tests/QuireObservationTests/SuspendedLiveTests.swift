// Live objects of a database that gives its file up and takes it again.

import Foundation
import Observation
import QuireDatabase
import QuireObservation
import QuireTesting
import QuireViews
import Testing

@MainActor @Suite struct SuspendedLiveTests {
  let folder: TestFolder
  let db: Database
  let byAlbum = AutoView<Song, Int>(
    "songs.byAlbum", over: .songs, version: "1", group: { $0.album }, sortKey: { $0.title })

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.register(byAlbum)
    try db.write { tx throws in
      for number in 100..<200 { try tx[.songs].set(Song(title: "\(number)", album: "a1"), for: "s\(number)") }
    }
  }

  private func closeHere() throws { try db.close() }
  private func suspendHere() throws { try db.suspend() }
  private func resumeHere() throws { try db.resume() }
  private func titles(_ screen: LiveView<Song, Int>) -> [String?] {
    screen.rows(inSection: 0).map { $0.object?.title }
  }

  @Test func aStepThatMeetsASuspensionIsMadeGoodByTheResumption() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    try suspendHere()
    screen.refresh()
    #expect((screen.error as? DatabaseError)?.code == .suspended && screen.count == 100 && screen.isLive)
    try resumeHere()
    try await until { screen.error == nil }
    #expect(screen.isReady && screen.isLive && titles(screen).first == "100")
  }

  @Test func rowsThatCouldNotBeReadWhileSuspendedAreToldAfterwards() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    try suspendHere()
    let changes = ChangeCounter { _ = (screen.changes, screen.rows(inSection: 0).count) }
    let row = try #require(screen.row(at: ViewPath(section: 0, row: 0)))
    #expect(row.object == nil)
    try resumeHere()
    try await until { changes.count > 0 }
    #expect(screen.row(at: ViewPath(section: 0, row: 0))?.object?.title == "100")
  }

  @Test func aLoadThatMeetsASuspensionIsMadeGoodByTheResumption() async throws {
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    try await until { query.isLoaded }
    try suspendHere()
    query.load()
    #expect((query.error as? DatabaseError)?.code == .suspended && query.value == 100 && query.isLive)
    try resumeHere()
    try await until { query.error == nil }
    #expect(query.value == 100 && query.isLive)
  }

  @Test func aQueryThatBeginsWhileSuspendedReadsAfterwards() async throws {
    try suspendHere()
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    let row = LiveRow(db, .songs, "s100")
    try await Task.sleep(for: .milliseconds(20))
    #expect(!query.isLoaded && query.isLive && query.error == nil)
    try resumeHere()
    try await until { query.isLoaded && row.isLoaded }
    #expect(query.value == 100 && row.object?.title == "100")
  }

  @Test func anEditWhileSuspendedIsToldAndLaterOnesAreWritten() async throws {
    let row = LiveRow(db, .songs, "s100")
    try await until { row.isLoaded }
    try suspendHere()
    row.edit { $0.rating = 1 }
    await row.settle()
    #expect((row.editError as? DatabaseError)?.code == .suspended && row.object?.rating == 3)
    try resumeHere()
    try await until { row.error == nil }
    row.edit { $0.rating = 2 }
    await row.settle()
    #expect(row.editError == nil && row.object?.rating == 2)
    #expect(try await db.read { tx in try tx[.songs].get("s100") }?.rating == 2)
  }

  @Test func foreignCommitsAreShown() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    let row = LiveRow(db, .songs, "s100")
    for round in 0..<10 {
      try suspendHere()
      let other = try folder.open()
      if round % 2 == 0 { try await other.register(byAlbum) }
      try await other.write { tx in try tx[.songs].set(Song(title: "r\(round)", album: "a1"), for: "s100") }
      try await other.write { tx in try tx[.songs].set(Song(title: "x\(round)", album: "a1"), for: "x\(round)") }
      try other.close()
      if round % 3 == 0 { screen.refresh() }
      try resumeHere()
      try await until { screen.isReady && screen.error == nil && screen.count == 101 + round }
      try await until { query.value == 101 + round && row.object?.title == "r\(round)" }
      #expect(titles(screen).contains("x\(round)") && titles(screen).contains("r\(round)"))
    }
  }

  @Test func letsGoOfTheDatabaseWhileSuspended() async throws {
    weak var gone: LiveView<Song, Int>?
    do {
      let screen = try LiveView(db, byAlbum, groups: ["a1"])
      try suspendHere()
      screen.refresh()
      try await Task.sleep(for: .milliseconds(5))
      gone = screen
    }
    try await until { gone == nil }
    try resumeHere()
    // The task that it had may hold its snapshot a moment longer.
    try await until { (try? closeHere()) != nil }
  }

  @Test func closedWhileSuspendedItEnds() async throws {
    let screen = try LiveView(db, byAlbum, groups: ["a1"])
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    try await until { query.isLoaded }
    try suspendHere()
    screen.refresh()
    query.load()
    try await Task.sleep(for: .milliseconds(5))
    try closeHere()
    try await until { !screen.isLive && !query.isLive }
    #expect(screen.count == 100 && query.value == 100)
  }
}
