// The listings of “SwiftUI and Observation”, `LiveQuery`, `LiveView` and `LiveRow`. Those with SwiftUI's own types
// stand in Fixtures/SwiftUI.

import Quire
import QuireObservation

enum ObservableListings {
  struct Song: Codable, Equatable, Sendable {
    var title: String
    var albumID: String
    var rating = 0
  }

  /// What animates change sets.
  @MainActor protocol Table {
    func reload()
    func animate(_ diff: ViewDiff)
  }
}

private typealias Song = ObservableListings.Song

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { Self("songs") }
}

extension ObservableListings {
  @MainActor static func query(_ db: Database) -> LiveQuery<[String]> {
    let titles = LiveQuery(db, initial: []) { tx in
      try tx[.songs].find { $0.rating >= 4 }.order(by: \.title).objects.map(\.title)
    }
    return titles
  }

  @MainActor static func rows(_ db: Database) -> LiveQuery<[Row<Song, NoMetadata>]> {
    let good = LiveQuery(db, RowCollection.songs.query { $0.rating >= 4 }.order(by: \.title))
    return good
  }

  @MainActor static func search(_ results: LiveQuery<[Song]>, for typed: String) {
    results.follow { tx in try tx[.songs].search(typing: typed).objects }
  }

  @MainActor static func show(
    _ db: Database, _ byAlbum: AutoView<Song, NoMetadata>, on table: some Table
  ) throws -> (LiveView<Song, NoMetadata>, ViewPath?) {
    let albums = try LiveView(db, byAlbum, ViewMappings(byAlbum))
    for section in albums.sections {
      for row in albums.rows(inSection: section.index).prefix(20) { print(row.object?.title ?? "") }
    }
    let place = try albums.path(of: RowKey("songs", "s1"))  // O(log n)
    albums.onChanges = { diff in
      if diff.isReload { table.reload() } else { table.animate(diff) }
    }
    return (albums, place)
  }

  @MainActor static func edit(_ db: Database) async {
    let song = LiveRow(db, .songs, "s1")
    song.edit { $0.rating = 5 }
    song[\.title, default: ""] = "Blue Train"
    await song.settle()  // both are durable, or `editError` tells
  }
}
