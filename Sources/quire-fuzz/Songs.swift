// The rows of the databases that inputs change, and what is registered over them.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireRelationships
import QuireViews

/// A row with a field of each kind that indexes tell apart.
struct Song: SynthesizedCodable, Sendable, Equatable {
  /// What else is stored.
  struct Album: SynthesizedCodable, Sendable, Equatable { var name: String }

  var title: String
  var year: Int
  var rating: Double?
  var tags: [String]
  var album: Album
  var added: Date
  /// The key of another song, or nothing.
  var next: String
}

/// What goes with a song.
struct Plays: SynthesizedCodable, Sendable, Equatable { var count: Int }

extension RowCollection where Object == Song, Metadata == Plays {
  static var songs: Self { .init("songs") }
}

extension Song {
  /// The song of a number; the same each time.
  static func numbered(_ number: Int) -> Song {
    Song(
      title: "song \(number * 37 % 11)", year: 1980 + number * 7 % 30,
      rating: number % 3 == 0 ? nil : Double(number) / 4,
      tags: (0..<number % 4).map { "tag\(($0 + number) % 5)" }, album: Album(name: "album \(number % 4)"),
      added: Date(timeIntervalSinceReferenceDate: Double(number * 1000)), next: number % 5 == 0 ? "" : "k\(number / 2)")
  }
}

/// What is registered over songs.
enum SongExtensions {
  static let indexes = Indexes<Song, Plays>("songs.indexes", over: .songs, version: "1") {
    Index("title", \.title)
    Index("year-rating", \.year, .descending(\.rating))
    Index("tags", each: \.tags)
    Index("folded", \.title.folded)
    Index("recent", \.added).where { $0.year >= 1995 }
    Index("plays", metadata: \.count)
    StoredField("album", \.album.name)
  }

  static let view = AutoView<Song, Plays>(
    "songs.byAlbum", over: .songs, version: "1", group: { $0.year % 2 == 0 ? $0.album.name : nil },
    sortKey: { $0.title })

  static let graph = Relationship<Song>("songs.next", over: .songs, version: "1") { song in
    song.next.isEmpty ? [] : [Edge("next", to: .songs, key: song.next, rules: .deleteSourceIfDestinationDeleted)]
  }
}
