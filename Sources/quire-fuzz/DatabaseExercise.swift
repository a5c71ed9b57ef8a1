// All there is to do with a database of objects, whatever stands in its trees.

import QuireDatabase
import QuireIndexes
import QuireRelationships
import QuireTesting
import QuireViews

/// Opens a database, registers what belongs to it, asks and writes, closes and opens it again.
///
/// One that verifies must do all of that without an error, its queries must find what a scan finds, and what was
/// written must be there after it was opened again. Of others each step may be refused.
struct DatabaseExercise {
  let disk: SimulatedDisk
  let hasExtensions: Bool
  var random: SeededRandom
  /// Whether everything verified before anything was written.
  private var isSound = false

  /// The songs and the notes, by key.
  private struct Shown: Equatable {
    var songs: [String: Song] = [:]
    var notes: [String: FuzzNote] = [:]
  }

  init(disk: SimulatedDisk, of base: EntryBase, random: SeededRandom) {
    self.disk = disk
    hasExtensions = base.hasExtensions
    self.random = random
  }

  /// Registers what the databases of songs have.
  static func register(in db: Database) throws {
    try db.register(SongExtensions.indexes)
    try db.register(SongExtensions.view)
    try db.register(SongExtensions.graph)
  }

  /// Does it all.
  mutating func run() throws {
    guard let db = try step("opening", { try disk.openDatabase(seed: 3, EntryBase.options) }) else { return }
    let isRegistered = try registerAll(in: db)
    isSound = try verify(db, "at first") && isRegistered
    let before = try show(db)
    if hasExtensions { try ask(db) }
    try write(db)
    if hasExtensions { try ask(db) }
    let after = try show(db)
    // Rows of which each half decompresses verify, and may not decode.
    if isSound, let before, let after { try demand(before != after, "nothing was written") }
    if isSound { try demand(try verify(db, "after a transaction"), "what was written does not verify") }
    let isClosed: Void? = try step("closing", isSound: isSound) { try db.close() }
    guard isClosed != nil else { return }
    guard let again = try step("opening again", isSound: isSound, { try disk.openDatabase(seed: 4, EntryBase.options) })
    else { return }
    _ = try registerAll(in: again)
    let shown = try show(again)
    if isSound { try demand(shown == after, "after it was opened again other rows are there") }
    if hasExtensions { try ask(again) }
    try heal(again)
    try step("closing again", isSound: isSound) { try again.close() }
  }

  // MARK: Checking

  /// Registers one after the other; whether all of them went well.
  private func registerAll(in db: Database) throws -> Bool {
    guard hasExtensions else { return true }
    let results: [Void?] = [
      try step("registering indexes") { try db.register(SongExtensions.indexes) },
      try step("registering the view") { try db.register(SongExtensions.view) },
      try step("registering the relationship") { try db.register(SongExtensions.graph) },
    ]
    return results.allSatisfy { $0 != nil }
  }

  /// Whether rows, indexes, the view and edges verify.
  private func verify(_ db: Database, _ when: String) throws -> Bool {
    let areRowsSound: Void? = try step("verifying \(when)") { try db.verify() }
    guard hasExtensions else { return areRowsSound != nil }
    let results: [Void?] = [
      areRowsSound,
      try step("verifying indexes \(when)") {
        try db.read { tx in try tx.access(to: SongExtensions.indexes).verify() }
      },
      try step("verifying the view \(when)") { try db.verify(SongExtensions.view) },
      try step("verifying edges \(when)") {
        try db.read { tx in try tx.relationship(SongExtensions.graph).checkInvariants() }
      },
    ]
    return results.allSatisfy { $0 != nil }
  }

  /// What a scan of all rows finds; nil if it is refused.
  private func show(_ db: Database) throws -> Shown? {
    // Rows as bytes, whatever they decode to.
    _ = try step("raw rows") { try db.read { tx in for name in ["songs", "notes"] { for _ in tx.rawRows(name) {} } } }
    return try step("reading") {
      try db.read { tx in
        var shown = Shown()
        // What has a NaN is not equal to itself, and cannot be compared.
        for row in tx[.songs].rows where row.object == row.object { shown.songs[row.key] = row.object }
        for row in tx[.notes].rows { shown.notes[row.key] = row.object }
        // A loop cannot throw: an error in it is thrown by the next call.
        _ = try tx[.songs].contains("")
        for key in ["k1", "k23", "fuzz1", "n1999"] {
          _ = try (tx[.songs].row(key), tx[.songs].metadata(key), tx[.notes].row(key))
        }
        return shown
      }
    }
  }

  // MARK: Asking

  /// Asks indexes, view and edges; the answers must be right where all verify.
  private mutating func ask(_ db: Database) throws {
    let year = 1980 + random.below(30)
    _ = try step("queries", isSound: isSound) {
      try db.read { tx in
        let rows = tx[.songs]
        let found = rows.find { $0.year >= year }
        let keys = try found.keys.sorted()
        let scanned = rows.rows.filter { $0.object.year >= year }.map(\.key).sorted()
        _ = try rows.contains("")
        if isSound { try demand(keys == scanned, "the index of years finds other rows than a scan") }
        _ = try rows.find { $0.tags.contains("tag1") && $0.title > "song 2" }.objects
        _ = try rows.find { $0.title.folded == "song 3".folded }.count
        _ = try (found.order(by: \.title).limit(5).objects, found.groupCounts(by: \.year), found.max(\.title))
        _ = try (found.values(\.added), rows.find(.all).order(by: .descending(\.rating)).offset(3).limit(9).keys)
      }
    }
    _ = try step("the view") {
      try db.read { tx in
        let view = try tx.view(SongExtensions.view)
        for group in view.groups.prefix(8) {
          _ = view.rows(in: group).reversed().prefix(40).map { $0.index }
          for (index, row) in view.rows(in: group).prefix(40) { _ = try (row.object, view.rowID(at: index, in: group)) }
          _ = try (view.firstObject(in: group), view.lastObject(in: group), view.object(at: 3, in: group))
        }
        for key in ["k0", "k4", "fuzz1"] { _ = try view.position(of: key) }
      }
    }
    _ = try step("edges") {
      try db.read { tx in
        let graph = try tx.relationship(SongExtensions.graph)
        _ = Array(graph.edges(named: "next").prefix(60))
        _ = try tx[.songs].contains("")
      }
    }
  }

  // MARK: Writing

  /// Whether the file notes that rows are by another coder than those in `write`.
  private func notesOtherCoders(_ db: Database) throws -> Bool {
    try db.read { tx in
      ["songs", "notes"].map { tx.values(in: $0).notes }.flatMap { [$0.object, $0.metadata] }
        .contains { $0.hasUpgrades || $0.coder != nil && $0.coder != .binary }
    }
  }

  private mutating func write(_ db: Database) throws {
    let numbers = (0..<3).map { _ in 100 + random.below(40) }
    let gone = random.below(24)
    var isRefusedRightly = false
    _ = try step("setting rows", isSound: isSound) {
      do {
        try db.write { tx in
          for number in numbers {
            try tx[.songs].set(.numbered(number), metadata: Plays(count: number), for: "fuzz\(number % 4)")
          }
          try tx[.notes].set(FuzzNote(numbers[0]), metadata: "fuzz", for: "fuzz")
        }
      } catch let error as DatabaseError where error.code == .limitReached {
        isRefusedRightly = true
      } catch let error as DatabaseError where error.code == .collectionMismatch {
        try demand(notesOtherCoders(db), "rows are refused as another coder's, and the file does not say so")
        isRefusedRightly = true
      }
    }
    // A file may say that no numbers are left, or that its rows are another coder's: then nothing more is demanded.
    if isRefusedRightly { isSound = false }
    _ = try step("removing a row", isSound: isSound) {
      try db.write { tx in _ = try (tx[.songs].remove("k\(gone)"), tx[.notes].remove("n\(1980 + gone)")) }
    }
    guard hasExtensions else { return }
    _ = try step("updating rows", isSound: isSound) {
      try db.write { tx in _ = try tx[.songs].update(where: { $0.year > 2000 }) { $0.tags.append("tag4") } }
    }
    _ = try step("removing rows", isSound: isSound) {
      try db.write { tx in _ = try tx[.songs].remove(where: { $0.title == "song 5" }) }
    }
  }

  /// Builds extensions anew, as errors advise.
  private mutating func heal(_ db: Database) throws {
    guard hasExtensions, random.oneIn(3) else { return }
    for name in [SongExtensions.indexes.name, SongExtensions.view.name, SongExtensions.graph.name] {
      _ = try step("unregistering \(name)") { try db.unregister(extensionNamed: name) }
    }
    _ = try registerAll(in: db)
  }
}
