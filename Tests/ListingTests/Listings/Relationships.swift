// The listings of “Relationships” and `Relationship`.

import Foundation
import Quire

enum RelationshipListings {
  struct Song: Codable, Sendable { var title: String, albumID: String }
  struct Album: Codable, Sendable { var name: String, songCount = 1 }
  struct List: Codable, Sendable { var name: String }
  struct Message: Codable, Sendable { var author: String }
  struct Person: Codable, Sendable { var name: String }
}

private typealias Song = RelationshipListings.Song
private typealias Album = RelationshipListings.Album
private typealias List = RelationshipListings.List
private typealias Message = RelationshipListings.Message
private typealias Person = RelationshipListings.Person

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self { .init("songs") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  static var albums: Self { .init("albums") }
}

extension RowCollection where Object == List, Metadata == NoMetadata {
  static var lists: Self { .init("lists") }
}

extension RowCollection where Object == Person, Metadata == NoMetadata {
  static var people: Self { .init("people") }
}

extension RelationshipListings {
  /// Messages in a collection for each thread.
  static func relate(threads: Void) -> Relationship<Never> {
    let threads = CollectionFamily<Message, NoMetadata>(.matching { $0.hasPrefix("thread/") })
    let authors = Relationship("authors").deriving(over: threads) { message, row in
      [Edge("author", to: .people, key: message.author, rules: .deleteSourceIfDestinationDeleted)]
    }
    return authors
  }

  /// Registers the relationship, and gives the album a cover.
  static func relate(_ db: Database, _ url: URL) async throws -> Relationship<RelationshipListings.Song> {
    let albumOf = Relationship<Song>("song.album", over: .songs) { song in
      [
        Edge(
          "album", to: .albums, key: song.albumID,
          rules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
      ]
    }
    try await db.register(albumOf)
    try await db.write { tx in
      let graph = try tx.relationship(albumOf)
      try graph.add(Edge("cover", from: .albums, "a1", toFile: url, rules: .deleteDestinationIfSourceDeleted))
      for edge in graph.edges(named: "album", to: .albums, "a1") { print(edge) }
      print(graph.count(named: "album"))
      try graph.flush()
    }
    return albumOf
  }

  static func list(_ db: Database) throws {
    let albumOf = Relationship<Song>("song.album", over: .songs) { song in
      [
        Edge(
          "album", to: .albums, key: song.albumID,
          rules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
      ]
    }
    try db.register(albumOf)
    try db.write { tx in try tx.relationship(albumOf).add(Edge("plays", from: .lists, "l1", to: .songs, "s1")) }
  }

  static func refuse(_ db: Database, _ albumOf: Relationship<RelationshipListings.Song>) throws {
    var strict = albumOf
    strict.missingEnds = .refuse
    try db.register(strict)
  }

  static func preview(_ db: Database, _ albumOf: Relationship<RelationshipListings.Song>) throws -> Int {
    let report = try db.previewRegistration(of: albumOf)
    if report.deletedRowCount == 0 { try db.register(albumOf) }
    return report.deletedRowCount
  }

  static func notify(_ albumOf: Relationship<RelationshipListings.Song>) -> Relationship<RelationshipListings.Song> {
    let graph = albumOf.notifying(.albums) { album, edge, reason in
      var album = album
      album.songCount -= 1
      return album
    }
    return graph
  }
}
