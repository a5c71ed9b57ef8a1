// The listings of the documentation, as an app would write them.

import Foundation
import Quire
import QuireTesting
import Testing

private struct Song: Codable, Sendable {
  var title: String
  var albumID: String
}

private struct Album: Codable, Sendable, Equatable {
  var name: String
  var songCount = 1
}

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  fileprivate static var albums: Self { .init("albums") }
}

@Suite("Listings about relationships") struct RelationshipListingTests {
  @Test("A song, its album and the album's cover") func theListing() async throws {
    let folder = try TestFolder()
    let url = try folder.makeFile("cover.png")
    let db = try folder.open()
    let albumOf = Relationship<Song>("song.album", over: .songs) { song in
      [
        Edge(
          "album", to: .albums, key: song.albumID,
          rules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
      ]
    }
    try await db.register(albumOf)
    try await db.write { tx in
      try tx[.songs].set(Song(title: "Naima", albumID: "a1"), for: "s1")
      try tx[.albums].set(Album(name: "Giant Steps"), for: "a1")
      let graph = try tx.relationship(albumOf)
      try graph.add(Edge("cover", from: .albums, "a1", toFile: url, rules: .deleteDestinationIfSourceDeleted))
      _ = graph.edges(named: "album", to: .albums, "a1")
      _ = graph.count(named: "album")
      try graph.flush()
    }
    try await db.read { tx in
      let graph = try tx.relationship(albumOf)
      let edges = Array(graph.edges(named: "album", to: .albums, "a1"))
      #expect(edges.count == 1 && graph.count(named: "album") == 1)
      #expect(try graph.destination(of: edges[0], in: .albums)?.name == "Giant Steps")
    }
    try await db.write { tx in try tx[.songs].remove("s1") }
    #expect(try await db.read { tx in tx.count } == 0)
    await db.drain()
    #expect(!folder.hasFile("cover.png"))
    try db.close()
  }

  @Test("Rows that are told") func notifying() throws {
    let db = try Database.inMemory()
    let albumOf = Relationship<Song>("song.album", over: .songs) { song in
      [Edge("album", to: .albums, key: song.albumID, rules: .notifyIfSourceDeleted)]
    }
    let graph = albumOf.notifying(.albums) { album, edge, reason in
      var album = album
      album.songCount -= 1
      return album
    }
    try db.register(graph)
    try db.write { tx throws in
      try tx[.songs].set(Song(title: "Naima", albumID: "a1"), for: "s1")
      try tx[.albums].set(Album(name: "Giant Steps"), for: "a1")
    }
    _ = try db.write { tx throws in try tx[.songs].remove("s1") }
    #expect(try db.read { tx throws in try tx[.albums].get("a1")?.songCount } == 0)
  }

  @Test("Edges without a row") func missingRows() throws {
    let db = try Database.inMemory()
    let albumOf = Relationship<Song>("song.album", over: .songs) { song in
      [Edge("album", to: .albums, key: song.albumID, rules: .deleteSourceIfDestinationDeleted)]
    }
    try db.write { tx throws in try tx[.songs].set(Song(title: "Naima", albumID: "a1"), for: "s1") }
    let report = try db.previewRegistration(of: albumOf)
    if report.deletedRowCount == 0 { try db.register(albumOf) }
    #expect(try db.extensions().isEmpty)
    try db.write { tx throws in try tx[.albums].set(Album(name: "Giant Steps"), for: "a1") }
    var strict = albumOf
    strict.missingEnds = .refuse
    try db.register(strict)
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx throws in try tx[.songs].set(Song(title: "Giant Steps", albumID: "a2"), for: "s2") }
    }
    #expect((error?.cause as? DatabaseError)?.code == .danglingEdge)
    #expect(try db.read { tx throws in tx[.songs].count } == 1)
  }
}
