// Indexes and queries beside SQLite and GRDB: the same rows, indexes and questions, in turns.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase

/// Measures indexes and queries.
struct IndexBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "indexes", abstract: "Measures indexes and queries beside SQLite and GRDB.")

  @Option(help: "Rows.")
  var count = 200_000
  @Option(help: "Alternating runs.")
  var runs = 5
  @Option(help: "Stores, separated by commas; all that are installed if there are none.")
  var stores = ""
  @Option(help: "Writes the table to this file as Markdown.")
  var markdown: String?

  private static var stores: [any IndexedStore.Type] {
    var stores: [any IndexedStore.Type] = [QuireIndexedStore.self]
    #if PEER_SQLITE
      stores.append(SQLiteIndexedStore.self)
    #endif
    #if PEER_GRDB
      stores.append(GRDBIndexedStore.self)
    #endif
    return stores
  }

  func run() throws {
    let machine = Machine(directory: FileManager.default.temporaryDirectory.path)
    var table = StoreTable()
    for run in 0..<runs {
      let songs = IndexedSongs(count: count, seed: UInt64(run + 1)).songs
      var answers: [String: [Double]] = [:]
      let wanted = Set(stores.split(separator: ",").map(String.init))
      let known = Self.stores.filter { wanted.isEmpty || wanted.contains($0.name) }
      for store in run % 2 == 0 ? known : known.reversed() {
        let folder =
          FileManager.default.temporaryDirectory.path
          + "/quire-indexes-\(ProcessInfo.processInfo.processIdentifier)-\(run)-\(store.name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let own = try measure(store, songs, folder, &table)
        for (row, answer) in own { answers[row, default: []].append(answer) }
      }
      for (row, all) in answers {
        try expect(all.allSatisfy { abs($0 - all[0]) < 1e-6 }, "\(row): the stores answered \(all)")
      }
    }
    table.print()
    guard let markdown else { return }
    let text = """
      \(machine.heading(count: count, runs: runs))

      \(table.markdown(["quire", "sqlite", "grdb"]))
      """
    try text.write(toFile: markdown, atomically: true, encoding: .utf8)
  }

  /// Measures one store; returns its answers.
  private func measure(
    _ type: any IndexedStore.Type, _ songs: [IndexedSong], _ folder: String, _ table: inout StoreTable
  ) throws -> [String: Double] {
    let store = try type.init(folder)
    let half = songs.count / 2
    // What a row costs without and with three indexes: a third of the difference is what one costs.
    let bare = Clocks.thread()
    for start in stride(from: 0, to: half, by: 1000) {
      try store.store(Array(songs[start..<min(half, start + 1000)]), from: start)
    }
    let bareTime = Double(Clocks.thread() - bare)
    let bareBytes = try store.fileByteCount()
    let wall = Clocks.wall()
    // What a store's cache takes is among it, unless that is full already.
    let bytes = try mostAnonymousBytes { try store.makeIndexes() }
    table.add("build", "µs/row and index", type.name, Double(Clocks.wall() - wall) / Double(half) / 3000)
    table.add("build-memory", "MiB more than before", type.name, Double(bytes) / 1_048_576)
    table.add(
      "size", "bytes/entry", type.name, Double(try store.fileByteCount() - bareBytes) / Double(half) / 3)
    table.add(
      "size-entries", "bytes/entry", type.name, Double(try store.entryByteCount(beyond: bareBytes)) / Double(half) / 3)
    let indexed = Clocks.thread()
    for start in stride(from: half, to: songs.count, by: 1000) {
      try store.store(Array(songs[start..<min(songs.count, start + 1000)]), from: start)
    }
    let upkeep = Double(Clocks.thread() - indexed) - bareTime
    table.add("upkeep", "µs/row and index", type.name, upkeep / Double(songs.count - half) / 3000)
    let numbers = (0..<10_000).map { ($0 * 7919) % songs.count }
    let start = Clocks.thread()
    try store.countPlays(of: numbers)
    table.add("update-unindexed", "µs", type.name, Double(Clocks.thread() - start) / Double(numbers.count) / 1000)
    return try ask(store, type.name, songs, &table)
  }

  /// Asks one store all questions; returns its answers.
  private func ask(
    _ store: any IndexedStore, _ name: String, _ songs: [IndexedSong], _ table: inout StoreTable
  ) throws -> [String: Double] {
    var answers: [String: Double] = [:]
    func ask(_ row: String, _ times: Int, _ body: (Int) throws -> Double) throws {
      var sum = 0.0
      // Once before, so that each finds its memory warm.
      _ = try body(0)
      let start = Clocks.thread()
      for turn in 0..<times { sum += try body(turn) }
      table.add(row, "µs", name, Double(Clocks.thread() - start) / Double(times) / 1000)
      answers[row] = sum
    }
    let count = songs.count
    try ask("first-id", 5000) { Double(try store.firstID(artist: songs[$0 * 13 % count].artist)) }
    try ask("ids-100", 2000) { Double(try store.idCount(artist: songs[$0 * 13 % count].artist)) }
    try ask("ordered-10", 2000) { try store.best(year: 1950 + $0 % 75, limit: 10, offset: 0) }
    try ask("ordered-offset-1000", 500) { try store.best(year: 1950 + $0 % 75, limit: 10, offset: 1000) }
    try ask("offset-half", 20) { try store.rating(atOffset: count / 2 + $0) }
    try ask("count-range", 20) { Double(try store.count(ratingFrom: 1 + Double($0) / 100, to: 3.5)) }
    try ask("count-prefix", 20) { Double(try store.count(artistPrefix: "artist\(1 + $0 % 9)")) }
    let many = (0..<min(40_000, count / 5)).map { "artist\($0)" }
    try ask("in-many", 3) { _ in Double(try store.count(artists: many)) }
    try ask("scan", 3) { Double(try store.count(playsBelow: 10 + $0)) }
    try store.storePlays()
    try ask("scan-stored", 3) { Double(try store.count(playsBelow: 10 + $0)) }
    try store.forgetType()
    try ask("scan-unmarked", 3) { Double(try store.countUnmarked(playsBelow: 10 + $0)) }
    return answers
  }
}
