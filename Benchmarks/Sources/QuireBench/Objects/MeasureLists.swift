// Lists: made, kept up, shown page by page, and compared with what a screen showed before.

internal import Foundation
internal import QuireTesting

extension ObjectsRun {
  private static var listStores: [any ListStore.Type] {
    var stores: [any ListStore.Type] = [QuireListStore.self]
    #if PEER_SQLITE
      stores.append(SQLiteListStore.self)
    #endif
    return stores
  }

  func measureViews() throws {
    for run in 0..<runs {
      let songs = catalogSongs(run)
      var answers: [String: [UInt64]] = [:]
      for store in turns(Self.listStores, run, named: { $0.name }) {
        let own = try withFolder { try measure(store, songs, $0, seed: UInt64(run)) }
        for (row, answer) in own { answers[row, default: []].append(answer) }
      }
      for (row, all) in answers { try expect(all.allSatisfy { $0 == all[0] }, "\(row): the stores answered \(all)") }
    }
  }

  /// Measures one store; returns its answers.
  private func measure(
    _ type: any ListStore.Type, _ songs: CatalogSongs, _ folder: String, seed: UInt64
  ) throws -> [String: UInt64] {
    let name = type.name
    let store = try type.init(folder)
    let loaded = count * 8 / 10
    let fewer = count * 9 / 10
    try store.insert(songs, 0..<loaded)
    try settle(needsMemory: true)
    try time(onWall: "make a list of all rows", "µs/row", name, loaded * 1000) { try store.makeList() }
    try settle()
    try time(onCore: "insert with the list", "µs/row", name, (fewer - loaded) * 1000) {
      try store.insert(songs, loaded..<fewer)
    }
    try settle()
    try time(onWall: "make a list of a tenth of it", "µs/row", name, fewer * 1000) { try store.makeFilteredList() }
    try settle()
    try time(onCore: "insert with both lists", "µs/row", name, (count - fewer) * 1000) {
      try store.insert(songs, fewer..<count)
    }
    var random = SeededRandom(seed: seed &+ 77)
    func changes(_ number: Int) -> [(key: String, rating: Double)] {
      (0..<number).map { _ in (songs.keys[random.below(count)], Double(random.below(1 << 30)) / Double(1 << 30)) }
    }
    let moves = changes(count / 10)
    try settle()
    try time(onCore: "move in the list", "µs/row", name, moves.count * 1000) { try store.move(moves[...]) }
    var answers = try readPages(store, songs, name)
    let genre = "genre3"
    try store.beginScreen(genre)
    // Of these, those of the genre are on the screen.
    let wave = changes(min(1000, count / 10) * CatalogSongs.genreCount)
    try store.move(wave[...])
    try settle()
    var found = 0
    try time(onCore: "change set of a list's 1,000 changes", "ms", name, 1_000_000) {
      found = try store.changesOnScreen()
    }
    answers["changes"] = UInt64(found)
    let genres = Dictionary(uniqueKeysWithValues: zip(songs.keys, songs.songs.map(\.genre)))
    let expected = Set(wave.map(\.key)).count(where: { genres[$0] == genre })
    try expect(found == expected, "\(name) told of \(found) changes instead of \(expected)")
    try store.close()
    return answers
  }

  private func readPages(_ store: any ListStore, _ songs: CatalogSongs, _ name: String) throws -> [String: UInt64] {
    var answers: [String: UInt64] = [:]
    let inGenre = count / CatalogSongs.genreCount
    let places = [("the beginning", 0), ("the middle", inGenre / 2), ("the end", inGenre - inGenre / 20)]
    for isFiltered in [false, true] {
      for (title, place) in places where !isFiltered || title == "the middle" {
        let offset = isFiltered ? place / 10 : place
        let row = "20 rows from \(title)\(isFiltered ? " of the filtered list" : "")"
        func page(_ turn: Int) throws -> UInt64 {
          try store.page("genre\(turn % CatalogSongs.genreCount)", from: offset + turn % 7, isFiltered: isFiltered)
        }
        for turn in 0..<10 { _ = try page(turn) }
        let turns = times(500)
        var sum: UInt64 = 0
        try settle()
        try time(onCore: row, "µs", name, turns * 1000) { for turn in 0..<turns { sum &+= try page(turn) } }
        answers[row] = sum
      }
    }
    return answers
  }
}
