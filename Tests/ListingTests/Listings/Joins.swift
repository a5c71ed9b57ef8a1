// The listings about joins: those of “Finding rows”, `RowSelection` and `Fields.hasEdge`.

import Quire

struct JoinListingSong: Codable, Sendable { var title: String, year: Int, rating: Double, albumID: String }
struct JoinListingAlbum: Codable, Sendable { var year: Int }
struct JoinListingPlaylist: Codable, Sendable { var isShared: Bool }

private typealias Song = JoinListingSong
private typealias Album = JoinListingAlbum
private typealias Playlist = JoinListingPlaylist

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  fileprivate static var albums: Self { .init("albums") }
}

extension RowCollection where Object == Playlist, Metadata == NoMetadata {
  fileprivate static var playlists: Self { .init("playlists") }
}

enum JoinListings {
  /// How many songs there are of old albums that are rated high.
  static func old(_ tx: ReadTransaction, _ albumOf: Relationship<JoinListingSong>) throws -> Int {
    let old = RowCollection.albums.query { $0.year < 1970 }
    let songs = tx[.songs].find { $0.rating >= 4 && $0.hasEdge("album", of: albumOf, to: old) }
    return try songs.count
  }

  static func recent(_ recentKeys: [String]) -> Condition<JoinListingSong, NoMetadata> {
    let recent = Condition<Song, NoMetadata>.rows("recent") { tx in
      try recentKeys.compactMap { try tx[.songs].rowID($0) }
    }
    return recent
  }

  static func register(_ db: Database) throws -> Relationship<Never> {
    let membership = Relationship("membership")
    try db.register(membership)
    try db.write { tx in
      try tx.relationship(membership).add(Edge("song", from: .playlists, "p1", to: .songs, "s1"))
    }
    return membership
  }

  /// The songs of shared playlists, and the playlists that have a song.
  static func both(_ tx: ReadTransaction, _ membership: Relationship<Never>) throws -> ([String], [String]) {
    let shared = tx[.songs].find {
      $0.year >= 1990 && $0.hasEdge("song", of: membership, from: .playlists) { $0.isShared == true }
    }
    let lists = tx[.playlists].find { $0.hasEdge("song", of: membership, to: .songs) { $0.key == "s1" } }
    return (try shared.keys, try lists.keys)
  }

  /// Stores a song, a shared playlist and the edge between them.
  static func fill(_ db: Database) throws {
    try db.write { tx in
      try tx[.songs].set(Song(title: "a", year: 1991, rating: 5, albumID: "a1"), for: "s1")
      try tx[.playlists].set(Playlist(isShared: true), for: "p1")
    }
  }
}
