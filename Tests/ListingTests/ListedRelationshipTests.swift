// What the listings about relationships do.

import Foundation
import Quire
import QuireTesting
import Testing

private typealias Song = RelationshipListings.Song
private typealias Album = RelationshipListings.Album

private let songs = RowCollection<Song, NoMetadata>("songs")
private let albums = RowCollection<Album, NoMetadata>("albums")

@Suite("Listings about relationships") struct ListedRelationshipTests {
  @Test("A song, its album and the album's cover") func theListing() async throws {
    let folder = try TestFolder()
    let url = try folder.makeFile("cover.png")
    let db = try folder.open()
    try await db.write { tx in
      try tx[songs].set(Song(title: "Naima", albumID: "a1"), for: "s1")
      try tx[albums].set(Album(name: "Giant Steps"), for: "a1")
    }
    let albumOf = try await RelationshipListings.relate(db, url)
    try await db.read { tx in
      let graph = try tx.relationship(albumOf)
      let edges = Array(graph.edges(named: "album", to: albums, "a1"))
      #expect(edges.count == 1 && graph.count(named: "album") == 1)
      #expect(try graph.destination(of: edges[0], in: albums)?.name == "Giant Steps")
    }
    try await db.write { tx in try tx[songs].remove("s1") }
    #expect(try await db.read { tx in tx.count } == 0)
    await db.drain()
    #expect(!folder.hasFile("cover.png"))
    try db.close()
  }

  @Test("Rows that are told") func notifying() throws {
    let db = try Database.inMemory()
    let albumOf = Relationship<Song>("song.album", over: songs) { song in
      [Edge("album", to: albums, key: song.albumID, rules: .notifyIfSourceDeleted)]
    }
    let graph = RelationshipListings.notify(albumOf)
    try db.register(graph)
    try db.write { tx throws in
      try tx[songs].set(Song(title: "Naima", albumID: "a1"), for: "s1")
      try tx[albums].set(Album(name: "Giant Steps"), for: "a1")
    }
    _ = try db.write { tx throws in try tx[songs].remove("s1") }
    #expect(try db.read { tx throws in try tx[albums].get("a1")?.songCount } == 0)
  }

  @Test("Edges without a row") func missingRows() throws {
    let db = try Database.inMemory()
    let albumOf = Relationship<Song>("song.album", over: songs) { song in
      [Edge("album", to: albums, key: song.albumID, rules: .deleteSourceIfDestinationDeleted)]
    }
    try db.write { tx throws in try tx[songs].set(Song(title: "Naima", albumID: "a1"), for: "s1") }
    #expect(try RelationshipListings.preview(db, albumOf) == 1)
    #expect(try db.extensions().isEmpty)
    try db.write { tx throws in try tx[albums].set(Album(name: "Giant Steps"), for: "a1") }
    try RelationshipListings.refuse(db, albumOf)
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx throws in try tx[songs].set(Song(title: "Giant Steps", albumID: "a2"), for: "s2") }
    }
    #expect((error?.cause as? DatabaseError)?.code == .danglingEdge)
    #expect(try db.read { tx throws in tx[songs].count } == 1)
  }
}
