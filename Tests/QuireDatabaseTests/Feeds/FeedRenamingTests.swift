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

  @Test("A renaming of a collection without a row ends no feed that is described by names")
  func renamesEmptyCollections() throws {
    for (filter, newer) in [
      (CollectionFilter.only(["tracks", "albums"]), CollectionFilter.only(["songs", "albums"])),
      (.except(["tracks"]), .except(["songs"])),
    ] {
      let folder = try TestFolder()
      let (old, new) = (ChangeFeed("f", over: filter), ChangeFeed("f", over: newer))
      var db = try folder.open(options(old))
      try db.write { tx throws in try tx[.texts("albums")].set("1", for: "k") }
      try db.write { tx throws in try tx[.texts("tracks")].set("1", for: "k") }
      try db.write { tx throws in try tx[.texts("tracks")].remove("k") }
      let cursor = try db.newestCursor(of: old)
      try db.close()
      for _ in 0..<2 {
        db = try folder.open(options(new, renamed: ["tracks": "songs"]))
        #expect(errorCode { _ = try db.nextChanges(of: new, after: cursor) } == nil)
        try db.close()
      }
      db = try folder.open(options(new, renamed: ["tracks": "songs"]))
      try db.write { tx throws in try tx[.texts("songs")].set("2", for: "k") }
      let told = try db.nextChanges(of: new, after: cursor)?.changes.map(\.collection)
      #expect(told == (filter.contains("tracks") == false ? nil : ["songs"]))
      try db.close()
      // With a row, the other description is another feed.
      db = try folder.open(options(old))
      #expect(errorCode { _ = try db.nextChanges(of: old, after: cursor) } == .cursorForeign)
      try db.close()
    }
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

  @Test("A consumer that lags behind a renaming is told with types what came before, under the older names")
  func tellsOlderNames() throws {
    let folder = try TestFolder()
    let feed = ChangeFeed("f", keeping: .newValues)
    func rows(_ name: String) -> RowCollection<Song, PlayState> { RowCollection(name) }
    var db = try folder.open(options(feed))
    try db.write { tx throws in
      try tx[rows("tracks")].set(Song("one"), for: "1")
      try tx[rows("others")].set(Song("unheard"), for: "2")
    }
    try db.close()
    db = try folder.open(options(feed, renamed: ["tracks": "songs", "hymns": "songs"]))
    try db.write { tx throws in try tx[.songs].set(Song("two"), for: "2") }
    for limit in [1, 5000] {
      var (cursor, told): (FeedCursor?, [String]) = (nil, [])
      while let batch = try db.nextChanges(of: feed, after: cursor, limit: .rows(limit), mode: .log) {
        for change in try batch.changes(in: .songs) {
          told.append("\(change.kind) \(change.collectionName) \(try change.new?.object.title ?? "-")")
        }
        cursor = batch.cursor
      }
      #expect(told == ["inserted tracks one", "renamed(from: \"tracks\") songs -", "inserted songs two"])
    }
    // By states, a batch that ends before the renaming tells the older name, one beyond it the name of today.
    let first = try #require(try db.nextChanges(of: feed, after: nil, limit: .rows(1)))
    #expect(
      try first.changes(in: .songs).map { try "\($0.collectionName) \($0.new?.object.title ?? "-")" } == ["tracks one"])
    let all = try #require(try db.nextChanges(of: feed, after: nil))
    #expect(try all.changes(in: .songs).map(\.collectionName) == ["songs", "songs", "songs"])
    #expect(try all.changes(in: rows("others")).count == 1)
    try db.close()
  }
}
