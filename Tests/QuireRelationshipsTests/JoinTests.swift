// Joins over relationships: what they find, promise and say.

import Foundation
import Quire
import QuireTesting
import Synchronization
import Testing

private struct Song: Codable, Sendable, Equatable {
  var albumID: String
  var rating: Int
}
private struct Album: Codable, Sendable, Equatable { var year: Int }

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
  fileprivate static var demos: Self { .init("demos") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  fileprivate static var albums: Self { .init("albums") }
}

private let albumOf = Relationship<Song>("albumOf", over: .songs) { song in
  [Edge("album", to: .albums, key: song.albumID)]
}

@Suite struct JoinTests {
  /// Two hundred albums with ten songs each; every tenth album is of 1960.
  private func database(isIndexed: Bool = true) throws -> Database {
    let db = try Database.inMemory()
    try db.register(albumOf)
    try db.write { tx throws in
      for album in 0..<200 { try tx[.albums].set(Album(year: 1960 + album % 10), for: "a\(album)") }
      for song in 0..<2000 {
        try tx[.songs].set(Song(albumID: "a\(song % 200)", rating: song / 20), for: "s\(song)")
      }
      try tx[.demos].set(Song(albumID: "a0", rating: 0), for: "s0")
      try tx.relationship(albumOf).add(Edge("album", from: .demos, "s0", to: .albums, "a0"))
      try tx.relationship(albumOf).add(Edge("album", from: .songs, "s0", to: .albums, "a0"))
    }
    if isIndexed {
      try db.register(Indexes("songs.indexes", over: .songs) { Index("rating", \.rating) })
      try db.register(Indexes("albums.indexes", over: .albums) { Index("year", \.year) })
    }
    return db
  }

  @Test(arguments: [false, true]) func edgesAreFollowedBothWays(isIndexed: Bool) throws {
    let db = try database(isIndexed: isIndexed)
    try db.read { tx throws in
      let old = RowCollection.albums.query { $0.year == 1960 }
      #expect(try tx[.songs].find { $0.hasEdge("album", of: albumOf, to: old) }.count == 200)
      #expect(try tx[.songs].find { !$0.hasEdge("album", of: albumOf, to: old) }.count == 1800)
      let some = tx[.songs].find { $0.rating == 3 && $0.hasEdge("album", of: albumOf, to: .albums) { $0.year == 1961 } }
      #expect(try some.keys == ["s61", "s71"])
      let byKey = tx[.songs].find { $0.hasEdge("album", of: albumOf, to: .albums) { $0.key.isIn(["a7", "gone"]) } }
      #expect(try byKey.keys == (0..<10).map { "s\(7 + 200 * $0)" })
      let back = tx[.albums].find { $0.hasEdge("album", of: albumOf, from: .songs) { $0.rating == 0 } }
      #expect(try back.count == 20)
    }
  }

  @Test(arguments: [false, true]) func joinsStandWithinJoins(isIndexed: Bool) throws {
    let db = try database(isIndexed: isIndexed)
    try db.read { tx throws in
      let old = RowCollection.albums.query { $0.year == 1960 }
      let nested = tx[.songs].find { song in
        song.hasEdge("album", of: albumOf, to: .albums) { album in
          album.hasEdge("album", of: albumOf, from: .songs) { $0.key == "s5" }
        }
      }
      #expect(try nested.count == 10)
      // The first two albums of the year, and no others.
      #expect(try tx[.songs].find { $0.hasEdge("album", of: albumOf, to: old.limit(2)) }.count == 20)
      #expect(try tx[.songs].find { $0.key == "s20" && $0.hasEdge("album", of: albumOf, to: old.limit(2)) }.isEmpty)
    }
  }

  @Test func rowsOfOtherCollectionsAndUnknownNamesAreLeftOut() throws {
    let db = try database()
    try db.read { tx throws in
      let old = RowCollection.albums.query { $0.year == 1960 }
      // The song of another collection that has the same edge.
      #expect(try tx[.demos].find { $0.hasEdge("album", of: albumOf, to: old) }.keys == ["s0"])
      #expect(try tx[.songs].find { $0.hasEdge("no such", of: albumOf, to: old) }.isEmpty)
      #expect(try tx[.songs].find { !$0.hasEdge("no such", of: albumOf, to: old) }.count == 2000)
    }
  }

  @Test func plansBeginAtTheSmallerSide() throws {
    let db = try database()
    try db.read { tx throws in
      func plan(_ condition: (Fields<Song, NoMetadata>) -> Condition<Song, NoMetadata>) throws -> String {
        try tx[.songs].find(condition).requireIndex().plan.description
      }
      let one = try plan { $0.rating >= 50 && $0.hasEdge("album", of: albumOf, to: .albums) { $0.key == "a7" } }
      #expect(
        one == """
          10 rows of 10 edges “album” to 1 row of “albums”, each tested for one more part of the condition on its record
          """)
      let many = try plan { $0.key == "s8" && $0.hasEdge("album", of: albumOf, to: .albums) { $0.year >= 1960 } }
      #expect(many == "1 key, each looked up in edges “album” to rows of “albums”")
      // One more edge is the one by hand that a derived one is the same as, and one is that of another collection.
      let all = try plan { $0.hasEdge("album", of: albumOf, to: .albums) { $0.year == 1960 } }
      #expect(all == "200 rows of 202 edges “album” to 20 rows of “albums”")
    }
  }

  @Test func joinsSeeWhatTheirTransactionSees() throws {
    let db = try database()
    let old = RowCollection.albums.query { $0.year == 1960 }
    let before = try db.pin()
    try db.write { tx throws in
      try tx[.songs].set(Song(albumID: "a0", rating: 1), for: "new")
      try tx[.albums].update("a10") { $0.year = 2000 }
      try tx[.albums].remove("a20")
      try tx[.songs].remove("s0")
      let found = tx[.songs].find { $0.hasEdge("album", of: albumOf, to: old) }
      #expect(try found.count == 180)
      #expect(try found.keys.contains("new"))
      #expect(try tx[.songs].find { $0.key == "new" && $0.hasEdge("album", of: albumOf, to: old) }.count == 1)
      #expect(try tx[.songs].find { $0.key == "s20" && $0.hasEdge("album", of: albumOf, to: old) }.isEmpty)
      try tx[.songs].remove(where: { $0.rating == 0 && $0.hasEdge("album", of: albumOf, to: old) })
    }
    try before.read { tx throws in
      #expect(try tx[.songs].find { $0.hasEdge("album", of: albumOf, to: old) }.count == 200)
    }
    try db.read { tx throws in
      #expect(try tx[.songs].find { $0.rating == 0 && $0.hasEdge("album", of: albumOf, to: old) }.isEmpty)
    }
  }

  @Test func edgesAreKnownByNumbersOfRows() throws {
    let db = try database()
    try db.write { tx throws in
      let graph = try tx.relationship(albumOf)
      try graph.add(Edge("album", from: .songs, "s1", toFile: "/cover"))
      // A song that is still to come has no number yet.
      try graph.add(Edge("album", from: .songs, "to come", to: .albums, "a1"))
      let edges = try graph.rowEdges(named: "album")
      let (song, album) = (try #require(try tx[.songs].rowID("s1")), try #require(try tx[.albums].rowID("a1")))
      #expect(try edges.destinations(of: song) == [album] && edges.count(from: song) == 1)
      #expect(try edges.sources(of: album).count == 10 && edges.sources(of: album).first == song)
      #expect(try edges.count(to: album) == 11)
      // By hand and derived: two edges, and one row.
      let (first, other) = (try #require(try tx[.songs].rowID("s0")), try #require(try tx[.albums].rowID("a0")))
      #expect(try edges.count(from: first) == 2 && edges.destinations(of: first) == [other])
      let none = try graph.rowEdges(named: "none")
      #expect(try none.count(from: song) == 0 && none.count(to: album) == 0 && none.sources(of: album).isEmpty)
      try tx[.songs].set(Song(albumID: "a1", rating: 0), for: "to come")
      #expect(try edges.sources(of: album).count == 11)
    }
  }

  @Test func joinsWithinJoinsReadNoMoreThanTheOuterQueryLeaves() throws {
    let db = try database()
    let nested = DearAlbums()
    let albums = RowCollection.albums.query(.rows(nested)).requireIndex()
    try db.read { tx throws in
      let found = tx[.songs].find { $0.key == "s8" && $0.hasEdge("album", of: albumOf, to: albums) }
      #expect(try found.keys == ["s8"])
      #expect(try found.plan.description == "1 key, each looked up in edges “album” to rows of “albums”")
    }
    // A query for one row may be planned for about as much as a handful of them takes.
    #expect(nested.highestLimit.load(ordering: .relaxed) <= 256)
    #expect(nested.wasFound.load(ordering: .relaxed) == false)
  }

  @Test func whatIsNotRegisteredIsToldByItsName() throws {
    let db = try database()
    let other = Relationship<Song>("other", over: .songs) { _ in [] }
    let code = errorCode {
      try db.read { tx in _ = try tx[.songs].find { $0.hasEdge("album", of: other, to: .albums) { _ in .all } }.count }
    }
    #expect(code == .extensionNotRegistered)
  }

  @Test func liveJoinsSeeEdgesThatChangeWithoutARow() async throws {
    let db = try database()
    let query = RowCollection.demos.query { $0.hasEdge("album", of: albumOf, to: .albums) { $0.year == 1961 } }
    var updates = try db.updates(of: query).makeAsyncIterator()
    #expect(try await updates.next()?.keys == [])
    try await db.write { tx in try tx.relationship(albumOf).add(Edge("album", from: .demos, "s0", to: .albums, "a1")) }
    #expect(try await updates.next()?.keys == ["s0"])
    // A row elsewhere changes nothing; the other end does.
    try await db.write { tx in try tx[RowCollection<Album, NoMetadata>("elsewhere")].set(Album(year: 1), for: "a1") }
    #expect(try updates.nextIfReady() == nil)
    try await db.write { tx in try tx[.albums].set(Album(year: 1999), for: "a1") }
    #expect(try updates.nextIfReady()?.keys == [])
    try await db.write { tx in try tx[.albums].set(Album(year: 1961), for: "a0") }
    #expect(try updates.nextIfReady()?.keys == ["s0"])
  }

  @Test func observedJoinsAreRunForBothSidesAndTheEdges() async throws {
    let db = try database()
    let old = RowCollection.albums.query { $0.year == 1960 }
    var counts = db.observe { tx in
      try tx[.songs].find { $0.hasEdge("album", of: albumOf, to: old) }.count
    }.makeAsyncIterator()
    #expect(try await counts.next() == 200)
    try await db.write { tx in try tx[.albums].update("a0") { $0.year = 1999 } }
    #expect(try await counts.next() == 190)
    try await db.write { tx in try tx[.songs].set(Song(albumID: "a10", rating: 0), for: "new") }
    #expect(try await counts.next() == 191)
    try await db.write { tx in try tx.relationship(albumOf).add(Edge("album", from: .songs, "s1", to: .albums, "a10")) }
    #expect(try await counts.next() == 192)
  }
}

/// All albums, as a selection that is dear to find, and notes what it was asked.
private final class DearAlbums: RowSelection {
  let name = "dear"
  let highestLimit = Atomic<Int>(0)
  let wasFound = Atomic<Bool>(false)

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { Selected(self, tx) }

  private final class Selected: SelectedRows {
    private let albums: DearAlbums
    private let tx: ReadTransaction

    init(_ albums: DearAlbums, _ tx: ReadTransaction) { (self.albums, self.tx) = (albums, tx) }

    var description: String { "“dear”" }

    func cost(upTo limit: Int) -> Int? {
      albums.highestLimit.max(limit, ordering: .relaxed)
      return limit >= 1 << 20 ? 1 << 20 : nil
    }

    func rowIDs() throws -> [RowID] {
      albums.wasFound.store(true, ordering: .relaxed)
      return try tx[.albums].rowIDs
    }

    func filter(_ rowIDs: [RowID]) throws -> [RowID] { rowIDs }
  }
}
