// Feeds whose collections a closure knows, and collections that get other names.

import QuireDatabase
import QuireTesting
import Testing

@Suite("Change feeds and the names of collections") struct FeedRenamingTests {
  private let songs = ChangeFeed("f", over: .matching { $0.hasPrefix("song") }, keeping: .newValues)

  private func options(_ feed: ChangeFeed, renamed: [String: String] = [:]) -> Database.Options {
    Database.Options(durability: .relaxed, renamedCollections: renamed, feeds: [feed])
  }

  /// What a consumer that had come to the end hears after another opening.
  private func refusal(
    _ feed: ChangeFeed, renamed: [String: String], rowsOf name: String
  ) throws -> DatabaseError.Code? {
    let folder = try TestFolder()
    var db = try folder.open(options(feed))
    try db.write { tx throws in try tx[.texts(name)].set("1", for: "k") }
    let cursor = try db.newestCursor(of: feed)
    try db.close()
    db = try folder.open(options(feed, renamed: renamed))
    let code = errorCode { _ = try db.nextChanges(of: feed, after: cursor) }
    try db.close()
    return code
  }

  @Test("A renaming into or out of what a closure knows ends the feed, one beside it or within it does not")
  func renamesAcrossClosures() throws {
    #expect(try refusal(songs, renamed: ["tracks": "songs"], rowsOf: "tracks") == .cursorForeign)
    #expect(try refusal(songs, renamed: ["songs": "tracks"], rowsOf: "songs") == .cursorForeign)
    #expect(try refusal(songs, renamed: ["tracks": "titles"], rowsOf: "tracks") == nil)
    #expect(try refusal(songs, renamed: ["song": "songs"], rowsOf: "song") == nil)
    #expect(try refusal(ChangeFeed("f"), renamed: ["tracks": "songs"], rowsOf: "tracks") == nil)
  }

  @Test("All collections and those that a closure knows are two feeds under one name")
  func tellsClosuresFromAll() throws {
    let folder = try TestFolder()
    let all = ChangeFeed("f", keeping: .newValues)
    for (feed, other) in [(all, songs), (songs, all)] {
      var db = try folder.open(options(feed))
      try db.write { tx throws in try tx[.texts("songs")].set("1", for: "k") }
      let cursor = try db.newestCursor(of: feed)
      try db.close()
      db = try folder.open(options(feed))
      #expect(try db.nextChanges(of: feed, after: cursor) == nil)
      try db.close()
      db = try folder.open(options(other))
      #expect(errorCode { _ = try db.nextChanges(of: other, after: cursor) } == .cursorForeign)
      try db.close()
    }
  }
}
