// What is stored of indexes, from a file that anybody may have written: with checksums that are right.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

/// A database with indexes whose trees are changed behind their back.
private struct ForgedDatabase {
  static let options = Database.Options(durability: .relaxed, cacheSize: 2 << 20, maintainsWhenIdle: false)

  let disk: SimulatedDisk
  let schema: IndexSchema
  let model: TrackModel
  private(set) var db: Database
  var indexes: Indexes<Track, Plays> { schema.indexes }

  /// A database of some rows, closed.
  static func prepared(_ schema: IndexSchema, rows: Int, seed: UInt64) throws -> (SimulatedDisk, TrackModel) {
    var random = SeededRandom(seed: seed)
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: seed, options)
    try db.register(schema.indexes)
    var model = TrackModel()
    try db.write { tx in
      for number in 0..<rows {
        let (key, plays) = ("k\(number)", random.oneIn(3) ? nil : Plays(count: random.below(4)))
        let row = ModelRow(key: key, number: number, track: random.track(), plays: plays)
        model[key] = row
        // Whatever list of indexes there is.
        if model.hasTwins { model[key] = nil } else { try tx[.tracks].set(row.track, metadata: plays, for: key) }
      }
    }
    try db.close()
    return (disk, model)
  }

  init(_ prepared: (SimulatedDisk, TrackModel), _ schema: IndexSchema) throws {
    disk = prepared.0.copy()
    model = prepared.1
    self.schema = schema
    db = try disk.openDatabase(seed: 1, Self.options)
    try db.register(schema.indexes)
  }

  /// Changes what is stored of the indexes.
  func forge(_ body: (ExtensionStore, IndexCatalog) throws -> Void) throws {
    try db.write { tx in
      let writer = try tx.access(to: indexes)
      try body(writer.store, writer.upkeep.catalog)
    }
  }

  /// Closes it and opens it again, with another list of indexes perhaps.
  mutating func reopen(_ schema: IndexSchema? = nil) throws {
    try db.close()
    db = try disk.openDatabase(seed: 1, Self.options)
    try db.register((schema ?? self.schema).indexes)
  }

  /// Builds everything from the rows, as the error advises, and checks it.
  func heal() throws {
    try db.unregister(extensionNamed: indexes.name)
    do { try db.register(indexes) } catch {
      // What was damaged may have let rows with the same values pass.
      guard isNotUnique(error) else { throw error }
      return
    }
    try db.read { tx in
      try tx.access(to: indexes).verify()
      let rows = try TrackModel.rows(tx).filter { $0.object.year > 1993 }
      guard try tx[.tracks].find({ $0.year > 1993 }).count == rows.count else { throw TrustBroken("it is not healed") }
    }
  }
}

extension ExtensionStore {
  fileprivate var records: ExtensionTree<RowID> { get throws { try tree("columns", of: RowID.self) } }
  fileprivate func entries(_ number: Int) throws -> ExtensionTree<[UInt8]> {
    try tree(IndexTrees.entriesName(number), of: [UInt8].self)
  }
  fileprivate func keys(_ number: Int) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    try entries(number).forEach(from: nil, upTo: nil) { key, _ in
      keys.append(unsafe key.withUnsafeBytes { unsafe [UInt8]($0) })
      return true
    }
    return keys
  }
}

@Suite("Forged entries of indexes") struct ForgedIndexTests {
  private static let all = IndexSchema(numbers: Array(Indexes<Track, Plays>.all.indices))

  private func database(_ schema: IndexSchema = all, rows: Int = 60) throws -> ForgedDatabase {
    try ForgedDatabase(ForgedDatabase.prepared(schema, rows: rows, seed: 3), schema)
  }

  /// Whether `body` throws an error that names the damage.
  private func isRefused(_ body: () throws -> Void) -> Bool {
    do { try body() } catch { return namesDamage(error) }
    return false
  }

  private func number(_ name: String) -> Int { Indexes<Track, Plays>.all.firstIndex { $0.name == name } ?? 0 }

  // MARK: One forgery at a time

  @Test("A record of a row that is not there ends building with an error", arguments: [5000, Int64.max, Int64.min])
  func orphanedRecord(rowID: Int64) throws {
    var schema = Self.all
    schema.numbers.removeLast()
    let forged = try database(schema)
    try forged.forge { store, _ in try store.records.put([], for: RowID(rowID)) }
    #expect(isRefused { try forged.db.read { tx in try tx.access(to: forged.indexes).verify() } })
    // The record knows no column of an index that is new, and there is no row to complete it from.
    let box = Box(forged)
    #expect(isDone(within: 60) { box.result = isRefusedNow { try box.value.reopen(Self.all) } })
    #expect(box.result == true)
    try box.value.db.register(Self.all.indexes)
    try box.value.db.read { tx in try tx.access(to: Self.all.indexes).verify() }
    try box.value.db.close()
  }

  @Test("A record that gives a row another place in the order of an index ends walks through it with an error")
  func recordsThatTurnBack() throws {
    let forged = try database(rows: 200)
    try forged.forge { store, catalog in
      // Every record is that of another row.
      let (records, first) = (try store.records, try #require(try store.records.value(for: RowID(1))))
      var rowIDs: [RowID] = []
      try records.forEach(from: nil) { rowID, _ in
        rowIDs.append(rowID)
        return true
      }
      for rowID in rowIDs.dropFirst() { try records.put(first, for: rowID) }
    }
    let box = Box(forged)
    let ended = isDone(within: 60) {
      let db = box.value.db
      box.result = isRefusedNow { try db.read { tx in _ = try tx[.tracks].find(.all).groupCounts(by: \.year) } }
      for isDescending in [true, false] {
        for offset in [0, 50] {
          try? db.read { tx in
            _ = try tx[.tracks].find(.all).order(by: isDescending ? .descending(\.mood) : .ascending(\.mood))
              .offset(offset).limit(20).keys
          }
        }
      }
    }
    #expect(ended && box.result == true)
    #expect(isRefused { try forged.db.read { tx in try tx.access(to: forged.indexes).verify() } })
    try forged.heal()
    try forged.db.close()
  }

  @Test("An entry too short to name a row is an error in what needs it, and in the way of nothing else")
  func shortKeys() throws {
    let forged = try database(IndexSchema(numbers: [number("year")]))
    try forged.forge { store, catalog in try store.entries(catalog.entries[0].tree).put([], for: [0x80, 0, 0]) }
    try forged.db.read { tx in
      #expect(isRefused { _ = try tx[.tracks].find(.all).groupCounts(by: \.year) })
      #expect(isRefused { _ = try tx[.tracks].find { $0.year < 1990 }.keys })
      let years = try tx[.tracks].find(.all).order(by: \.year).limit(3).objects.map(\.year)
      #expect(years == Array(forged.model.values.map(\.track.year).sorted().prefix(3)))
      #expect(isRefused { try tx.access(to: forged.indexes).verify() })
    }
    try forged.db.close()
  }

  @Test("Two columns at one place are built anew") func onePlaceForTwo() throws {
    var forged = try database()
    try forged.forge { store, catalog in
      var catalog = catalog
      // The title where the year is.
      catalog.entries[number("title")].places = catalog.entries[number("year")].places
      try store.set(catalog.bytes, for: IndexTrees.catalogName)
    }
    _ = isRefused { try forged.db.write { tx in _ = try tx[.tracks].remove("k1") } }
    try forged.reopen()
    try forged.db.write { tx in try tx[.tracks].update("k2") { $0.year = 1871 } }
    try forged.db.read { tx throws in
      #expect(try tx[.tracks].find { $0.year == 1871 }.requireIndex().keys == ["k2"])
      try tx.access(to: forged.indexes).verify()
    }
    try forged.db.close()
  }

  @Test("Several values of a column that has one are damage, and not a key of that length")
  func severalValues() throws {
    let forged = try database()
    try forged.forge { store, catalog in
      var record = RowRecord()
      for place in 0..<catalog.nextPlace { record.append(at: place, [UInt8](0..<200).map { [$0] }) }
      try store.records.put(record.bytes, for: RowID(2))
    }
    #expect(isRefused { try forged.db.write { tx in _ = try tx[.tracks].remove("k1") } })
    #expect(isRefused { try forged.db.write { tx in _ = try tx[.tracks].update("k1") { $0.year = 1 } } })
    #expect(isRefused { try forged.db.read { tx in try tx.access(to: forged.indexes).verify() } })
    try forged.heal()
    try forged.db.close()
  }

  @Test("A record that stands where a row comes next is replaced") func recordOfTheNextRow() throws {
    let forged = try database()
    try forged.forge { store, _ in
      let record = try #require(try store.records.value(for: RowID(1)))
      for next in 61..<64 as Range<Int64> { try store.records.put(record, for: RowID(next)) }
    }
    var random = SeededRandom(seed: 9)
    try forged.db.write { tx in for number in 0..<3 { try tx[.tracks].set(random.track(), for: "new\(number)") } }
    try forged.db.read { tx in try tx.access(to: forged.indexes).verify() }
    try forged.db.close()
  }

  @Test("A live query shows a row once that an index names twice") func rowsNamedTwice() throws {
    let forged = try database()
    let year = number("year")
    try forged.forge { store, catalog in
      let (tree, rowID) = (try store.entries(catalog.entries[year].tree), RowID(1).orderedBytes)
      for number in 1990..<1995 { try tree.put([], for: number.sortBytes + rowID) }
    }
    let query = RowCollection<Track, Plays>.tracks.query { $0.year >= 1980 }
    try forged.db.read { tx in
      var screen = QueryScreen(query)
      for _ in 0..<2 { _ = try screen.load(tx) }
      #expect(Set(screen.keys).count == screen.keys.count)
      #expect(isRefused { try tx.access(to: forged.indexes).verify() })
    }
    try forged.db.close()
  }

  @Test("Limits and offsets may be as large as numbers are") func largeLimits() throws {
    let forged = try database()
    try forged.db.read { tx throws in
      for order in [false, true] {
        let found = tx[.tracks].find(order ? { $0.year > 1990 } : { _ in .all })
        let query = order ? found.order(by: \.year) : found
        #expect(try query.limit(.max).offset(1).keys.count == query.keys.count - 1)
        #expect(try query.limit(.max).offset(.max).keys == [])
        #expect(try query.limit(.max).offset(.max).count == 0)
        #expect(try query.order(by: \.title).limit(.max).offset(2).keys.count == query.keys.count - 2)
      }
    }
    try forged.db.close()
  }

  // MARK: Garbage

  /// Forges something, and tells what.
  private static func forge(
    _ store: ExtensionStore, _ catalog: IndexCatalog, _ random: inout SeededRandom
  ) throws -> String {
    func bytes(_ limit: Int) -> [UInt8] {
      (0..<random.below(limit)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
    let number = catalog.entries.isEmpty ? 0 : random.pick(catalog.entries).tree
    let strange = random.pick([1, 2, 5, 60, 61, 5000, 0, -1, .min, .max] as [Int64])
    let rowID = RowID(random.oneIn(3) ? strange : 1 + Int64(random.below(40)))
    switch random.below(16) {
    case 0:
      try store.entries(number).put(bytes(3), for: bytes(40))
      return "an entry of noise"
    case 1, 2:
      let key = try store.keys(number).randomElement(using: &random) ?? []
      try store.entries(number).put([], for: key.dropLast(8) + rowID.orderedBytes)
      return "an entry of \(rowID)"
    case 3, 4:
      guard let key = try store.keys(number).randomElement(using: &random) else { return "nothing" }
      try store.entries(number).remove(key)
      return "a missing entry"
    case 5:
      try store.entries(number).put([], for: bytes(1000) + bytes(24))
      return "a long key"
    case 6:
      try store.tree(IndexTrees.deltaName(number), of: [UInt8].self).put(bytes(2), for: bytes(20))
      return "a change of noise"
    case 7:
      try store.records.put(bytes(60), for: rowID)
      return "a record of noise of \(rowID)"
    case 8, 9:
      var record = try store.records.value(for: RowID(1 + Int64(random.below(40)))) ?? [1]
      for _ in 0...random.below(3) { record[random.below(record.count)] = UInt8(truncatingIfNeeded: random.next()) }
      if random.oneIn(3) { record.removeLast(random.below(record.count)) }
      if random.oneIn(6) { record += [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f] }
      try store.records.put(record, for: rowID)
      return "a damaged record of \(rowID)"
    case 10:
      try store.records.remove(rowID)
      return "no record of \(rowID)"
    case 11:
      try store.set(bytes(50), for: IndexTrees.catalogName)
      return "a catalog of noise"
    case 12:
      var forged = catalog.bytes
      forged[random.below(forged.count)] = UInt8(truncatingIfNeeded: random.next())
      if random.oneIn(4) { forged.removeLast(random.below(forged.count)) }
      try store.set(forged, for: IndexTrees.catalogName)
      return "a damaged catalog"
    default:
      var forged = catalog
      let what = forge(&forged, &random)
      try store.set(forged.bytes, for: IndexTrees.catalogName)
      return what
    }
  }

  private static func forge(_ catalog: inout IndexCatalog, _ random: inout SeededRandom) -> String {
    guard catalog.entries.count > 1 else { return "nothing" }
    let (one, two) = (random.below(catalog.entries.count), random.below(catalog.entries.count))
    switch random.below(9) {
    case 0:
      let tree = catalog.entries[one].tree
      catalog.entries[one].tree = catalog.entries[two].tree
      catalog.entries[two].tree = tree
      return "trees that are exchanged"
    case 1:
      catalog.entries[one].tree = random.below(catalog.nextTree + 9)
      return "another tree"
    case 2:
      catalog.entries[one].places = catalog.entries[two].places
      return "other places"
    case 3:
      catalog.entries[one].isReady.toggle()
      return "another state"
    case 4:
      (catalog.nextTree, catalog.nextPlace) = (random.below(catalog.nextTree + 1), random.below(catalog.nextPlace + 1))
      return "numbers that are given out again"
    case 5:
      (catalog.nextTree, catalog.nextPlace) = ((1 << 23) - 1, (1 << 24) - 1)
      return "no numbers left"
    case 6:
      catalog.entries[one].name = catalog.entries[two].name
      return "a name used twice"
    case 7:
      catalog.entries.swapAt(one, two)
      return "another order"
    default:
      catalog.entries[one].heldPlace = random.oneIn(2) ? nil : random.below(max(1, catalog.nextPlace))
      return "another condition"
    }
  }

  @Test(
    "Whatever is stored of indexes, everything ends, and what verifies is right",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: seeds(TestSize.trials(4, divisor: 2)))
  func garbage(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let schema = IndexSchema(numbers: Self.all.numbers, uniqueness: .atCommit)
    let prepared = try ForgedDatabase.prepared(schema, rows: 40, seed: seed)
    var (good, bad) = (0, 0)
    let asked = environmentNumber("QUIRE_INDEX_TRIALS")
    for trial in 0..<(asked ?? 12) {
      // In the short size a few, until one of them is bad.
      if asked == nil, !TestSize.isFull, trial >= 3, bad > 0 { break }
      let life = ForgedLife(try ForgedDatabase(prepared, schema), random.fork())
      let ended = isDone(within: 120) { life.run(Self.forge) }
      guard ended, life.failure == nil else {
        Issue.record(
          """
          QUIRE_INDEX_SEED=\(seed) swift test --filter ForgedIndexTests: trial \(trial), \(life.forgeries): \
          \(ended ? "" : "does not end") \(life.failure.map { "\($0)" } ?? "")
          """)
        return
      }
      if life.isGood { good += 1 } else { bad += 1 }
    }
    #expect(bad > 0 && (good > 0 || good + bad < 50))
  }
}

/// Something that another thread works with while the test waits.
private final class Box<Value>: @unchecked Sendable {
  // Sendable: safe because one thread waits while the other works.
  var value: Value
  var result: Bool?
  init(_ value: Value) { self.value = value }
}

private func isRefusedNow(_ body: () throws -> Void) -> Bool {
  do { try body() } catch { return namesDamage(error) }
  return false
}

/// What is done with a forged database.
private final class ForgedLife: @unchecked Sendable {
  // Sendable: safe because one thread waits while the other works.
  private var forged: ForgedDatabase
  private var random: SeededRandom
  private(set) var forgeries: [String] = []
  private(set) var failure: (any Error)?
  /// Whether it has verified.
  private(set) var isGood = false

  init(_ forged: ForgedDatabase, _ random: SeededRandom) {
    self.forged = forged
    self.random = random
  }

  /// Runs `body`, whose errors must say what is damaged. Whether there was none.
  private func attempt(_ body: () throws -> Void) throws -> Bool {
    do { try body() } catch {
      guard namesDamage(error) || isNotUnique(error) || (error as? DatabaseError)?.code == .extensionNotRegistered
      else {
        throw error
      }
      return false
    }
    return true
  }

  func run(_ forge: (ExtensionStore, IndexCatalog, inout SeededRandom) throws -> String) {
    do { try live(forge) } catch { failure = error }
  }

  private func live(_ forge: (ExtensionStore, IndexCatalog, inout SeededRandom) throws -> String) throws {
    try forged.forge { store, catalog in
      for _ in 0...random.below(3) { forgeries.append(try forge(store, catalog, &random)) }
    }
    var isThere = true
    if random.oneIn(2) { isThere = try attempt { try forged.reopen(random.oneIn(2) ? nil : other) } }
    if !isThere { isThere = try attempt { try forged.db.register(forged.indexes) } }
    if isThere {
      isGood = try attempt { try forged.db.read { tx in try tx.access(to: forged.indexes).verify() } }
      for _ in 0..<6 { try ask() }
      if random.oneIn(2) { for _ in 0..<6 { try change() } }
    }
    try forged.heal()
    try forged.db.close()
  }

  /// A list with some indexes less, which is met with what is stored.
  private var other: IndexSchema {
    var schema = forged.schema
    schema.numbers = schema.numbers.filter { _ in !random.oneIn(3) }
    return schema
  }

  private func ask() throws {
    do {
      try forged.db.read { [self] tx in
        try QueryLife.check(
          tx[.tracks], forged.model, &random, choices: [.best, .scan, .driver(0), .driver(1), .driver(2)]
        ) { _ in }
        try askForValues(tx)
      }
    } catch {
      // What does not verify may tell another story, as long as it ends.
      if isGood || !(namesDamage(error) || error is QueryLife.Differs) { throw error }
    }
  }

  private func askForValues(_ tx: ReadTransaction) throws {
    let found = tx[.tracks].find(random.condition().condition)
    let tracks = try found.objects
    let groups = try found.groupCounts(by: \.year)
    _ = try found.groupCounts(by: \.title)
    do { _ = try found.sum(\.year) } catch let error as IndexError {
      guard case .sumTooLarge = error else { throw error }
    }
    _ = try (found.values(\.rating), found.values(\.added), found.distinct(\.mood), found.average(\.score))
    let (least, greatest) = try (found.min(\.year), found.max(\.title))
    guard isGood else { return }
    guard groups.reduce(0, { $0 + $1.count }) == tracks.count, least == tracks.map(\.year).min(),
      greatest.map({ Array($0.utf8) })
        == tracks.map({ Array($0.title.utf8) }).max(by: { $0.lexicographicallyPrecedes($1) })
    else { throw TrustBroken("groups or extremes are wrong") }
  }

  private func change() throws {
    _ = try attempt {
      try forged.db.write { [self] tx in
        let rows = tx[.tracks]
        switch random.below(6) {
        case 0, 1: try rows.set(random.track(), metadata: Plays(count: 1), for: "k\(random.below(60))")
        case 2: try rows.remove("k\(random.below(60))")
        case 3: try rows.update(where: { $0.year > 1993 }) { $0.rating = 1 }
        case 4: try rows.remove(where: { $0.tags.contains("x") })
        default: if random.oneIn(3) { try rows.removeAll() }
        }
      }
    }
  }
}
