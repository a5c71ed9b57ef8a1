// The listings about indexes and queries: those of `Indexes`, `Index`, `Condition`, `FoundRows` and their values.

import Foundation
import Quire

/// What is asked for.
struct QueryListingSong: Codable, Sendable {
  var title: String, artist: String, isbn: String, year: Int, rating: Double, plays: Int, tags: [String], added: Date
}

private typealias Song = QueryListingSong

extension Song: SynthesizedCodable {}

enum Genre: String, Codable, Sendable { case jazz, rock }

extension Genre: SortKey {}

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self { .init("songs") }
}

extension Indexes where Object == Song, Metadata == NoMetadata {
  static var songs: Self {
    .init("songs.indexes", over: .songs, version: "1") {
      Index("artist", \.artist)
      Index("year-rating", \.year, .descending(\.rating))
      Index("tags", each: \.tags)
    }
  }
}

extension Indexes where Object == Song, Metadata == NoMetadata {
  fileprivate static var more: Self {
    .init("more", over: .songs) {
      Index("artist", \.artist)
      Index("year-rating", \.year, .descending(\.rating))
      Index("isbn", \.isbn).unique()
      Index("tags", each: \.tags)
      Index("unplayed", \.added).where { $0.plays == 0 }
      Index("title", \.title.folded)
      StoredField("plays", \.plays)
    }
  }
}

enum QueryListings {
  static func register(_ db: Database) throws {
    try db.register(Indexes.songs)
  }

  static func find(_ db: Database) throws -> Int {
    try db.read { tx in
      let some =
        tx[.songs].find { $0.year == 1990 && ($0.rating >= 3.5 || $0.tags.contains("jazz")) }
      let found = tx[.songs].find { $0.year == 1990 && $0.rating >= 3.5 }.order(by: .descending(\.rating)).limit(10)
      for row in try found.all { print(row.key, row.object.title) }
      let folded =
        tx[.songs].find { $0.title.folded == "émile" }  // also Emile and ÉMILE
      let count =
        try tx[.songs].find { $0.year == 1990 && $0.tags.contains("jazz") }.count
      return try count + some.count + folded.count
    }
  }
}

enum FieldListings {
  static func count(_ tx: ReadTransaction) throws -> Int {
    let reader = FieldReader(tx[.songs])
    let year = reader.add(\.year)
    var count = 0
    try reader.forEachRow { _, fields in
      let isMeant = fields.hasValue(year) { bytes in bytes.withUnsafeBytes { $0.elementsEqual(1990.sortBytes) } }
      if try isMeant ?? (reader.object().year == 1990) { count += 1 }
      return true
    }
    return count
  }
}

enum WatchingListings {
  static func count(_ db: Database) async throws {
    for try await count in db.observe({ tx in try tx[.songs].find { $0.year == 1990 }.count }) { print(count) }
  }

  static func keys(_ db: Database) throws -> [String] {
    let jazz = RowCollection.songs.query { $0.tags.contains("jazz") }.order(by: \.year).limit(50)
    let keys = try db.read { tx in try tx.find(jazz).keys }
    return keys
  }

  static func follow(_ db: Database) async throws {
    var titles: [[String?]] = []
    let jazz = RowCollection.songs.query { $0.tags.contains("jazz") }.order(by: \.year)
    for try await update in try db.updates(of: jazz) {
      titles = try await update.snapshot.read { [titles] tx in
        try update.diff.applied(to: titles) { path in try tx[.songs].get(update.keys[path.row])?.title }
      }
    }
  }
}

struct SongID: RawRepresentable, RowKeyConvertible { var rawValue: UUID }

extension WatchingListings {
  static func plan() throws -> Condition<QueryListingSong, NoMetadata> {
    typealias Song = QueryListingSong
    let condition = try Condition<Song, NoMetadata>(#Predicate { $0.year == 1990 && $0.tags.contains("jazz") })
    return condition
  }

  static func store(_ song: QueryListingSong, _ tx: WriteTransaction) throws {
    try tx[.songs].set(song, for: SongID(rawValue: UUID()))
  }
}
