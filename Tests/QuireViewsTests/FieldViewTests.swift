// Views that group, sort and filter by fields show what those do that are asked about whole rows.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@testable import QuireViews

/// Counts how often it is decoded.
private struct Counted: Codable, Sendable {
  static let count = Mutex(0)

  init() {}
  init(from decoder: any Decoder) throws { Self.count.withLock { $0 += 1 } }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(1)
  }
}

/// A type that does not come back from its sort bytes.
private enum Mood: Int, Codable, SortKey {
  case low, high
  static func fromSortBytes(_ sortBytes: [UInt8]) -> Self? { nil }
}

private struct Track: SynthesizedCodable, Sendable {
  var genre: String
  var artist: String?
  var rating: Double
  var year: Int?
  var title: String
  var mood: Mood
  var text: String

  init(_ random: inout SeededRandom) {
    // Equal strings of other bytes are groups of their own, and a zero byte is one like others.
    genre =
      ["rock", "a\u{0}b", "a", "e\u{301}", "\u{e9}", "", "long " + String(repeating: "x", count: 300)][
        random.below(7)]
    // So many of one length that some share a place in a table of known groups.
    artist = ["Ann", "", nil, "Artist \(10 + random.below(60))"][random.below(4)]
    rating = [0, -0.0, .nan, .infinity, -.infinity, 3.5, -7, Double(random.below(5))][random.below(8)]
    year = random.oneIn(4) ? nil : random.below(6) - 3
    // Of a sort key not all bytes count.
    title = String(repeating: "t", count: random.oneIn(6) ? 955 + random.below(12) : 3) + "\(random.below(4))"
    mood = random.oneIn(2) ? .low : .high
    text = String(repeating: "words that can be compressed ", count: random.below(12))
  }
}

extension RowCollection where Object == Track, Metadata == Int {
  fileprivate static func tracks(_ name: String, compression: Compression = .none) -> Self {
    .init(name, compression: compression)
  }
}

@Suite("Views by fields") struct FieldViewTests {
  private struct Refused: Error {}
  private typealias View = AutoView<Track, Int>
  private typealias Filtered = FilteredView<View>

  private func open(_ folder: TestFolder, stepRowCount: Int) throws -> Database {
    var options = Database.Options(durability: .relaxed)
    options.buildStepRowCount = stepRowCount
    return try folder.open(options)
  }

  /// Pairs of views that must show the same: one by fields, one by closures.
  private struct Pair {
    let byFields: View
    let byRows: View
    let filtered: Filtered
    let filteredByRows: Filtered

    init(
      _ name: String, over family: CollectionFamily<Track, Int>, isPersistent: Bool = true,
      _ fields: (grouping: ViewGrouping<Track, Int>, sorting: ViewSorting<Track, Int>),
      _ rows: (grouping: ViewGrouping<Track, Int>, sorting: ViewSorting<Track, Int>),
      _ filters: (byField: ViewFilter<Track, Int>, byRow: ViewFilter<Track, Int>)
    ) {
      byFields = View(
        "\(name) fields", over: family, isPersistent: isPersistent, grouping: fields.grouping, sorting: fields.sorting)
      byRows = View(
        "\(name) rows", over: family, isPersistent: isPersistent, grouping: rows.grouping, sorting: rows.sorting)
      filtered = Filtered("\(name) some", of: byFields, isPersistent: isPersistent, filter: filters.byField)
      filteredByRows = Filtered("\(name) some rows", of: byRows, isPersistent: isPersistent, filter: filters.byRow)
    }

    func register(_ db: Database, _ progress: (Database.Progress) throws -> Void = { _ in }) throws {
      try db.register(byRows)
      try db.register(filteredByRows)
      try db.register(byFields, progress: progress)
      try db.register(filtered, progress: progress)
    }

    func expectSame(_ tx: ReadTransaction) throws {
      let (all, some) = (try tx.view(byFields), try tx.view(filtered))
      #expect(try all.shown() == tx.view(byRows).shown())
      #expect(try some.shown() == tx.view(filteredByRows).shown())
      #expect(!all.isEmpty && !some.isEmpty && some.count < all.count)
      try all.trees.checkInvariants()
      try some.trees.checkInvariants()
    }
  }

  /// All ways of grouping, of sorting, and of filtering by fields.
  private static func pairs(_ family: CollectionFamily<Track, Int>, isPersistent: Bool = true) -> [Pair] {
    [
      Pair(
        "genre", over: family, isPersistent: isPersistent,
        (.byField(\.genre), .byFields(.ascending(\.rating))),
        (.byObject { $0.genre }, .byObject(key: { $0.rating })),
        (.byField(\.rating) { $0 > 0 }, .byObject { $0.rating > 0 })),
      Pair(
        "artist", over: family, isPersistent: isPersistent,
        (.byField(\.artist), .byFields(.descending(\.year), .ascending(\.title), .descending(\.rating))),
        (
          .byObject { $0.artist },
          .byObject(key: { SortKeys(Descending($0.year), $0.title, Descending($0.rating)) })
        ),
        (.byField(\.year) { $0 != nil }, .byObject { $0.year != nil })),
      Pair(
        "all", over: family, isPersistent: isPersistent,
        (.all(), .byFields(.descending(\.title), .ascending(\.mood))),
        (.all(), .byObject(key: { SortKeys(Descending($0.title), $0.mood) })),
        (.byField(\.mood) { $0 == .high }, .byObject { $0.mood == .high })),
      Pair(
        "key", over: family, isPersistent: isPersistent,
        (.byKey { $0.hasSuffix("7") ? nil : String($0.suffix(1)) }, .byFields(.ascending(\.artist))),
        (.byKey { $0.hasSuffix("7") ? nil : String($0.suffix(1)) }, .byObject(key: { $0.artist })),
        (.byField(\.genre) { $0.hasPrefix("a") }, .byObject { $0.genre.hasPrefix("a") })),
      Pair(
        "by key", over: family, isPersistent: isPersistent,
        (.byField(\.genre), .byKey()), (.byObject { $0.genre }, .byKey()),
        (.byField(\.rating) { $0.sign == .minus }, .byObject { $0.rating.sign == .minus })),
    ]
  }

  /// Stores, changes and removes rows under some keys.
  private func change(
    _ db: Database, _ collections: [RowCollection<Track, Int>], _ random: inout SeededRandom, count: Int,
    among keyCount: Int = 1500
  ) throws {
    try db.write { tx throws in
      for _ in 0..<count {
        let rows = tx[collections[random.below(collections.count)]]
        let key = "k\(random.below(keyCount))"
        switch random.below(10) {
        case 0: try rows.remove(key)
        case 1: try rows.replace(Track(&random), for: key)
        case 2: try rows.touchObject(key)
        case 3: try rows.update(key) { $0.year = random.below(6) - 3 }
        case 4: try rows.update(key) { $0.artist = "Ann" }
        case 5: try rows.update(key) { $0.rating = random.oneIn(2) ? 1 : -1 }
        case 6: try rows.update(key) { $0.mood = random.oneIn(2) ? .low : .high }
        default: try rows.set(Track(&random), metadata: random.oneIn(2) ? random.below(9) : nil, for: key)
        }
      }
    }
  }

  @Test(
    "What is there is shown as by closures, and so is what changes between the steps and afterwards",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [1, 7, 64, 2048],
    TestSize.some([1, 2, 3] as [UInt64], of: 1))
  func same(stepRowCount: Int, seed: UInt64) throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    var random = SeededRandom(seed: seed)
    let compression = [Compression.none, .lz4(above: 30), .dictionary(above: 50)][random.below(3)]
    let collections = ["one", "two"].map { RowCollection<Track, Int>.tracks($0, compression: compression) }
    let others = [collections[0], .tracks("other")]
    // So many that fields tell most rows of a large step: the first ones are decoded.
    try change(db, collections + others, &random, count: stepRowCount < 64 ? 300 : 1500)
    try db.write { tx throws in for key in 0..<6 { for rows in collections { try tx[rows].remove("k\(key)") } } }
    let family = CollectionFamily(collections)
    let isPersistent = !random.oneIn(4)
    for pair in Self.pairs(family, isPersistent: isPersistent) {
      var stepCount = 0
      try pair.register(db) { progress in
        stepCount += 1
        // Of few rows, which come behind those that are built, and change again before their turn; not for ever, and
        // not behind the last step, where the next change of a row would mend what is wrong.
        if stepCount < 60, progress.done < progress.total {
          try change(db, collections + others, &random, count: 30, among: 6)
        }
      }
      try db.read { tx throws in try pair.expectSame(tx) }
    }
    for _ in 0..<3 {
      try db.read { tx throws in for pair in Self.pairs(family) { try pair.expectSame(tx) } }
      try change(db, collections + others, &random, count: 40)
    }
    try db.read { tx throws in for pair in Self.pairs(family) { try pair.expectSame(tx) } }
    try db.close()
  }

  @Test("Collections of a family, and more of them than rows are gone through for", arguments: [2, 4, 5, 9])
  func families(count: Int) throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: 50)
    var random = SeededRandom(seed: UInt64(count))
    let collections = (0..<count).map { RowCollection<Track, Int>.tracks("year/\($0)") }
    try change(db, collections + [.tracks("none")], &random, count: 400)
    for pair in Self.pairs(CollectionFamily(.matching { $0.hasPrefix("year/") })) {
      try pair.register(db)
      try db.read { tx throws in try pair.expectSame(tx) }
    }
    try db.close()
  }

  @Test("A new version is built of what is there, and a live change to a filter by a field shows what passes")
  func otherVersions() throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: 30)
    var random = SeededRandom(seed: 5)
    let tracks = RowCollection<Track, Int>.tracks("tracks")
    try change(db, [tracks], &random, count: 300)
    let first = View("list", over: tracks, version: "1", group: { $0.genre }, sortKey: { $0.rating })
    try db.register(first)
    try db.unregister(extensionNamed: first.name)
    let list = View("list", over: tracks, version: "1", group: \.genre, sortKey: \.rating)
    let some = Filtered("some", of: list, version: "1", filter: .byField(\.year) { $0 == nil })
    let model = Filtered("model", of: list, version: "1", filter: .byObject { $0.year == nil })
    let later = View("later", over: tracks, group: \.artist, sortKey: \.year)
    for view in [list, later] { try db.register(view) }
    for view in [some, model] { try db.register(view) }
    func expectSame() throws {
      try db.read { tx throws in
        #expect(try tx.view(some).shown() == tx.view(model).shown())
        #expect(try !tx.view(some).isEmpty)
        try tx.view(some).trees.checkInvariants()
      }
    }
    try expectSame()
    try db.write { tx throws in
      #expect(try tx.access(to: some).setFilter(.byField(\.year) { ($0 ?? 0) > 0 }, version: "2"))
      #expect(try tx.access(to: model).setFilter(.byObject { ($0.year ?? 0) > 0 }, version: "2"))
    }
    try expectSame()
    try change(db, [tracks], &random, count: 50)
    try expectSame()
    // As closures had it, so that nothing has to be built.
    #expect(try db.differences(of: list).isEmpty && db.differences(of: later).isEmpty)
    try db.close()
  }

  private struct Song: SynthesizedCodable, Sendable {
    var genre: String
    var plays: Int
    var counted: Counted
  }

  @Test("Of rows that are there a few are decoded") func rowsAreNotDecoded() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let songs = RowCollection<Song, NoMetadata>("songs")
    let count = 3000
    try db.write { tx throws in
      for index in 0..<count {
        try tx[songs].set(Song(genre: "g\(index % 7)", plays: index % 10, counted: Counted()), for: "\(index)")
      }
    }
    func decoded(_ body: () throws -> Void) rethrows -> Int {
      let before = Counted.count.withLock { $0 }
      try body()
      return Counted.count.withLock { $0 } - before
    }
    let list = AutoView("list", over: songs, group: \.genre, sortKey: \.plays)
    let some = FilteredView("some", of: list, version: "1", filter: .byField(\.plays) { $0 == 3 })
    #expect(try decoded { try db.register(list) } < count / 20)
    #expect(try decoded { try db.register(some) } < count / 20)
    let changed = try decoded {
      try db.write { tx throws in _ = try tx.access(to: some).setFilter(.byField(\.plays) { $0 == 4 }, version: "2") }
    }
    #expect(changed < count / 20)
    try db.read { tx throws in
      #expect(try tx.view(list).count == count && tx.view(list).groupCount == 7)
      #expect(try tx.view(some).count == count / 10)
      for (_, row) in try tx.view(some).rows(in: "g4") { #expect(try row.object.plays == 4) }
    }
    let byClosure = AutoView("closure", over: songs, group: { $0.genre }, sortKey: { $0.plays })
    #expect(try decoded { try db.register(byClosure) } >= count)
    try db.close()
  }

  // MARK: Rows that are none of a view's

  private struct Former: Codable, Sendable { var genre: Int }

  /// A database with rows of another type under keys that begin with “old”, in front of and between those of tracks.
  private func openWithForeignRows(_ folder: TestFolder) throws -> Database {
    var db = try folder.open()
    func fill(_ from: Int) throws {
      try db.write { tx throws in
        for index in from..<from + 40 {
          try tx[RowCollection<Former, Int>("tracks")].set(Former(genre: index), for: "old\(index)")
        }
      }
      try db.close()
      db = try folder.open()
      var random = SeededRandom(seed: 9)
      try db.write { tx throws in
        for index in from..<from + 40 {
          var track = Track(&random)
          track.year = index % 4 == 0 ? nil : index
          try tx[RowCollection<Track, Int>.tracks("tracks")].set(track, for: "new\(index)")
        }
      }
      try db.close()
      db = try folder.open()
    }
    try fill(0)
    try fill(40)
    return db
  }

  @Test("Rows that a view or its parent leaves out are neither decoded nor asked about") func rowsThatAreLeftOut()
    throws
  {
    let folder = try TestFolder()
    let db = try openWithForeignRows(folder)
    let tracks = RowCollection<Track, Int>.tracks("tracks")
    let list = View(
      "list", over: tracks, grouping: .byKey { $0.hasPrefix("old") ? nil : "new" },
      sorting: .byFields(.descending(\.year), .ascending(\.rating)))
    let dated = Filtered("dated", of: list, filter: .byObject { $0.year != nil })
    // A filter that can only answer for the rows that it is to be asked about.
    let late = FilteredView(
      "late", of: dated,
      filter: .byField(\.year) { year in
        guard let year else { throw Refused() }
        return year > 50
      })
    for _ in 0..<2 {
      try db.register(list)
      try db.register(dated)
      try db.register(late)
      try db.read { tx throws in
        #expect(try tx.view(list).count == 80 && tx.view(dated).count == 60)
        #expect(try tx.view(late).count == (51..<80).filter { $0 % 4 != 0 }.count)
        try tx.view(late).trees.checkInvariants()
      }
      try db.unregister(extensionNamed: list.name)
    }
    try db.close()
  }

  // MARK: Failures

  @Test("A closure that throws is told with its row, and leaves nothing", arguments: [5, 500])
  func failingClosures(stepRowCount: Int) throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    let tracks = RowCollection<Track, Int>.tracks("tracks")
    var random = SeededRandom(seed: 3)
    try db.write { tx throws in
      for index in 0..<60 {
        var track = Track(&random)
        track.year = index
        try tx[tracks].set(track, for: "k\(index)")
      }
    }
    let list = View(
      "list", over: tracks,
      grouping: .byKey { key in
        if key == "k41" { throw Refused() }
        return "all"
      }, sorting: .byFields(.ascending(\.year)))
    func expectRefusal(_ key: String, _ body: () throws -> Void) {
      let error = #expect(throws: DatabaseError.self) { try body() }
      #expect(error?.code == .extensionFailed && error?.cause is Refused)
      #expect(error?.collection == "tracks" && error?.key == key)
    }
    expectRefusal("k41") { try db.register(list) }
    #expect(try db.extensions().isEmpty)
    let right = View("list", over: tracks, grouping: .all(), sorting: .byFields(.ascending(\.year)))
    try db.register(right)
    let some = Filtered(
      "some", of: right,
      filter: .byField(\.year) { year in
        if year == 33 { throw Refused() }
        return true
      })
    expectRefusal("k33") { try db.register(some) }
    #expect(try db.extensions().map(\.name) == ["list"])
    let none = Filtered("some", of: right, filter: .byField(\.year) { _ in false })
    try db.register(none)
    #expect(throws: Refused.self) {
      try db.write { tx throws in
        try tx.access(to: none).setFilter(.byField(\.year) { _ in throw Refused() }, version: "2")
      }
    }
    try db.read { tx throws in
      #expect(try tx.view(none).isEmpty && tx.view(right).count == 60)
      try tx.view(right).trees.checkInvariants()
    }
    try db.close()
  }

  @Test("Of a parent that has two rows in one place the building says that it is damaged") func forgedParents() throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let tracks = RowCollection<Track, Int>.tracks("tracks")
    var random = SeededRandom(seed: 4)
    try change(db, [tracks], &random, count: 60)
    let list = View("list", over: tracks, grouping: .all(), sorting: .byFields(.ascending(\.rating)))
    try db.register(list)
    try db.write { tx throws in
      let trees = try tx.access(to: list).followed.storage.trees
      let rowIDs = try trees.allRows()
      try trees.rows.put(ViewTrees.encode(trees.entries(of: rowIDs[3])), for: rowIDs[5])
    }
    let some = Filtered("some", of: list, filter: .byField(\.genre) { _ in true })
    let error = #expect(throws: DatabaseError.self) { try db.register(some) }
    let cause = error?.cause as? DatabaseError
    #expect(error?.code == .extensionFailed && cause?.code == .damagedRow)
    #expect(cause?.description.contains("“list”") == true)
    #expect(try db.extensions().map(\.name) == ["list"])
    try db.close()
  }

  @Test("Rows of another type end in the error that decoding them ends in") func otherTypes() throws {
    struct Other: Codable, Sendable { var genre: Int }
    let folder = try TestFolder()
    var db = try folder.open()
    try db.write { tx throws in
      for index in 0..<40 { try tx[RowCollection<Other, Int>("tracks")].set(Other(genre: index), for: "\(index)") }
    }
    try db.close()
    db = try folder.open()
    let tracks = RowCollection<Track, Int>.tracks("tracks")
    let codes = [
      View("fields", over: tracks, group: \.genre, sortKey: \.rating),
      View("rows", over: tracks, group: { $0.genre }, sortKey: { $0.rating }),
    ].map { view in
      var code: DatabaseError.Code?
      do { try db.register(view) } catch {
        code = ((error as? DatabaseError)?.cause as? DatabaseError)?.code ?? (error as? DatabaseError)?.code
      }
      return code
    }
    #expect(codes[0] != nil && codes[0] == codes[1])
    #expect(try db.extensions().isEmpty)
    try db.close()
  }
}
