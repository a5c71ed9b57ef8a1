// What the listings of live objects do.

import Quire
import QuireObservation
import Testing

private typealias Song = ObservableListings.Song

@MainActor @Suite("Listings about live objects") struct ListedLiveObjectTests {
  /// Counts what it is asked for.
  final class Counter: ObservableListings.Table {
    var reloads = 0
    var diffs: [ViewDiff] = []
    func reload() { reloads += 1 }
    func animate(_ diff: ViewDiff) { diffs.append(diff) }
  }

  @Test("They show what is stored, and what is edited") func theListings() async throws {
    let db = try Database.inMemory()
    let songs = RowCollection<Song, NoMetadata>("songs")
    let byAlbum = AutoView(
      "songs.byAlbum", over: songs, version: "1", group: { song in song.albumID }, sortKey: { song in song.title })
    try await db.register(byAlbum)
    try await db.register(FullText("songs.words", over: songs, tokenizer: .words) { SearchField("title", \Song.title) })
    try await db.write { tx in
      try tx[songs].set(Song(title: "Giant Steps", albumID: "a1", rating: 5), for: "s0")
      try tx[songs].set(Song(title: "Naima", albumID: "a1"), for: "s1")
    }
    let titles = ObservableListings.query(db)
    let good = ObservableListings.rows(db)
    let results = LiveQuery(db, initial: [Song]()) { _ in [] }
    ObservableListings.search(results, for: "blue tr")
    let table = Counter()
    let (albums, place) = try ObservableListings.show(db, byAlbum, on: table)
    #expect(place == ViewPath(section: 0, row: 1) && albums.count == 2)
    while titles.value != ["Giant Steps"] || good.value.map(\.key) != ["s0"] { try await pause() }
    await ObservableListings.edit(db)
    while titles.value != ["Blue Train", "Giant Steps"] || good.value.map(\.key) != ["s1", "s0"] { try await pause() }
    while results.value.map(\.title) != ["Blue Train"] || table.diffs.isEmpty { try await pause() }
    #expect(albums.row(at: ViewPath(section: 0, row: 0))?.key == "s1" && table.reloads == 0)
  }

  private func pause() async throws { try await Task.sleep(for: .milliseconds(1)) }
}
