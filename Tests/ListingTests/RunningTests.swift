// What the listings of the README and the first guides do when they run.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite("Listings that run") struct RunningTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("The README's code does what it says") func readme() throws {
    #expect(try Readme.run(folder.path) == "Moby-Dick")
    // On disk it is.
    #expect(try folder.open().read { tx in tx.collections } == ["books"])
  }

  @Test("The article's code does what it says") func article() throws {
    let db = try GettingStarted.openRelaxed(folder.path)
    try db.write { tx in
      try addSong("Luka", "s2", tx)
      try addSong("Marlene on the Wall", "s3", tx)
    }
    try GettingStarted.write(db)
    #expect(try GettingStarted.read(db) == "Tom's Diner 7 4 2 s2")
    #expect(try GettingStarted.seconds(db, "s2") == 1)
    #expect(try db.read { tx in titles(tx) } == ["Tom's Diner", "Luka"])
    #expect(try GettingStarted.show(db) == ("Tom's Diner", false))
    let song = GettingStarted.Song(title: "Gypsy", seconds: 244)
    try GettingStarted.handle(db, song, "s5") { _ in Issue.record("the disk is not full") }
    try GettingStarted.set(song, db)
    #expect(try db.read { tx in titles(tx) } == ["Gypsy", "Luka", "Gypsy"])
    try GettingStarted.close(db)
  }

  @Test("Followers hear of the commits after they asked") func follow() async throws {
    let db = try folder.open()
    let writer = Task {
      // The stream begins when it is asked for: one of these comes after that.
      while !Task.isCancelled {
        try await db.write { tx in try addSong("x", "n", tx) }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    var heard: [String] = []
    try await GettingStarted.follow(db) { text in
      heard.append(text)
      if heard.count == 3 {
        writer.cancel()
        try? db.close()
      }
    }
    _ = await writer.result
    #expect(heard.count >= 3 && heard.allSatisfy { $0 == "n has changed" })
  }

  @Test("Old rows are upgraded as they are read") func upgrade() throws {
    let old = try folder.open()
    try GettingStarted.storeOldAlbum("Solitude Standing", old)
    try CodingListings.storeOldSong(old, "Luka", minutes: 4)
    try old.close()
    let new = try folder.open()
    let album = try GettingStarted.album(new)
    #expect(album?.0 == "Solitude Standing" && album?.1 == nil)
    #expect(try CodingListings.seconds(new) == 240)
  }
}
