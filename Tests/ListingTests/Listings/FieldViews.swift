// The listing of “Views” about fields.

import Quire

private struct Played: SynthesizedCodable, Sendable { var genre: String, title: String, year: Int, plays: Int }

extension RowCollection where Object == Played, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

enum FieldViewListings {
  static func registerByFields(_ db: Database) throws {
    let byGenre = AutoView(
      "songs.byGenre", over: .songs, version: "1", grouping: .byField(\.genre),
      sorting: .byFields(.descending(\.year), .ascending(\.title)))
    let unplayed = FilteredView("songs.unplayed", of: byGenre, filter: .byField(\.plays) { $0 == 0 })
    try db.register(byGenre)
    try db.register(unplayed)
  }
}
