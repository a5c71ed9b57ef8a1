// Sections that run once each, between two marks that a profiler can find.

internal import CCallgrind
internal import Foundation

/// What a section does.
enum MeasuredSection: String, CaseIterable, Codable {
  /// Gets every loaded key once.
  case get
  /// The same by the call for many keys.
  case multiGet = "multi-get"
  /// Ten rows from each of many keys on; an operation is one such range.
  case range = "range-10"
  /// Every row in key order.
  case scan
  /// New rows, as many to a transaction as in batch rows of the table.
  case put
  /// Rows that are there get new values, likewise.
  case overwrite
  /// New rows, one to a transaction.
  case commit
  /// The same without waiting for the disk, on a store of their own.
  case relaxedCommit = "relaxed-commit"
  /// Rows removed in one transaction.
  case delete
  /// All rows into an empty store, by the call for many rows.
  case bulkLoad = "bulk-load"
  /// The first row with a value in an index, one to a transaction; in Quire alone, as all that follow.
  case findFirst = "find-first"
  /// How many rows have a value in a range.
  case findCount = "find-count"
  /// The ten best rows of a year, whole.
  case findOrdered = "find-ordered-10"
  /// New rows with three indexes, as many to a transaction as in batch rows of the table.
  case indexedPut = "indexed-put"
  /// A count by a field without an index, for each row that there is.
  case findScan = "find-scan"
  /// The rows that have one of many values, a fifth of the rows' number, for each of the values.
  case findIn = "find-in-many"
  /// Three indexes made of rows that are there, for each of the rows.
  case indexBuild = "index-build"
  /// Gets every object of a collection once, in no order.
  case typedGet = "typed-get"
  /// The same where all are in the cache of objects.
  case typedGetCached = "typed-get-cached"
  /// The same without a cache, by the call for many keys.
  case typedGetMany = "typed-get-many"
  /// Every row of a collection in key order.
  case typedScan = "typed-scan"
  /// Gets every object once, and every row likewise, of a type that is marked as `SynthesizedCodable`.
  case markedGet = "marked-get"
  case markedScan = "marked-scan"
  /// Every key likewise.
  case typedKeys = "typed-keys"
  /// New objects, all in one transaction.
  case typedPut = "typed-put"
  /// A field of every object changed, in one transaction.
  case typedUpdate = "typed-update"

  /// Whether it only reads. While it writes, threads of the store are at work as well, and what they do is counted.
  var reads: Bool {
    switch self {
    case .get, .multiGet, .range, .scan, .findFirst, .findCount, .findOrdered, .findScan, .findIn: true
    case .typedGet, .typedGetCached, .typedGetMany, .typedScan, .typedKeys, .markedGet, .markedScan: true
    case .indexBuild, .indexedPut, .put, .overwrite, .commit, .relaxedCommit, .delete, .bulkLoad: false
    case .typedPut, .typedUpdate: false
    }
  }

  /// Whether it uses objects or indexes, which only Quire's object layer has here.
  var usesObjects: Bool {
    switch self {
    case .findFirst, .findCount, .findOrdered, .indexedPut, .findScan, .findIn, .indexBuild: true
    case .typedGet, .typedGetCached, .typedGetMany, .typedScan, .typedKeys, .typedPut, .typedUpdate: true
    case .markedGet, .markedScan: true
    default: false
    }
  }

  /// Loads `kind` if it is not yet, runs the section once and returns how many operations that were.
  func run(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws -> Int {
    let loaded = try bench.loadedStore(kind)
    let store = loaded.store
    let perTransaction = bench.plan.batchRows
    switch self {
    case .get:
      var total: UInt64 = 0
      try measuredSection { total = try store.sumOfValues(of: bench.keys, bench.lookups) }
      try expect(total == bench.lookupSum, "\(kind.name) gave wrong values")
      return bench.lookups.count
    case .multiGet:
      var total: UInt64 = 0
      try measuredSection { total = try store.sumOfManyValues(of: bench.keys, bench.lookups) }
      try expect(total == bench.lookupSum, "\(kind.name) gave wrong values")
      return bench.lookups.count
    case .range:
      let ranges = bench.ranges
      try measuredSection {
        _ = try store.sumOfRanges(from: ranges.starts, 0..<ranges.starts.count, length: ranges.length)
      }
      return ranges.starts.count
    case .scan:
      var found = Contents()
      try measuredSection { found = try store.scan() }
      try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
      return found.count
    case .put:
      let rows = bench.freshRows(5 * perTransaction, for: "instructions", run: 0)
      try measuredSection { try store.put(rows, 0..<rows.count, perTransaction: perTransaction) }
      loaded.contents.add(rows.contents)
      return rows.count
    case .overwrite:
      let old = bench.freshRows(5 * perTransaction, for: "instructions-overwritten", run: 0)
      try store.put(old, 0..<old.count, perTransaction: old.count)
      let new = RowBlock(keysOf: old, seed: bench.plan.seed &+ 5)
      try measuredSection { try store.put(new, 0..<new.count, perTransaction: perTransaction) }
      loaded.contents.add(new.contents)
      return new.count
    case .commit:
      let rows = bench.freshRows(500, for: "instructions-commit", run: 0)
      try measuredSection { try store.put(rows, 0..<rows.count, perTransaction: 1) }
      loaded.contents.add(rows.contents)
      return rows.count
    case .relaxedCommit:
      return try bench.withEmptyStore(kind, .relaxed) { store, _ in
        try store.put(bench.rows, 0..<bench.rows.count, perTransaction: perTransaction)
        try store.settle()
        let rows = bench.freshRows(2000, for: "instructions-relaxed", run: 0)
        // What a checkpoint has written home is taken up again, and the threads that the first commits start are there.
        try store.put(rows, 0..<1000, perTransaction: 1)
        try measuredSection { try store.put(rows, 1000..<2000, perTransaction: 1) }
        return 1000
      }
    case .delete: return try runDeleting(bench, store)
    case .bulkLoad:
      // What threads of the other store have left to do would be counted with it.
      try store.settle()
      return try bench.withEmptyStore(kind) { store, _ in
        try measuredSection { try store.load(bench.rows) }
        return bench.rows.count
      }
    case .findFirst, .findCount, .findOrdered, .indexedPut, .findScan, .findIn:
      return try runAskingIndexes(bench)
    case .indexBuild: return try runBuildingIndexes(bench)
    default: return try runOnTypedRows(bench)
    }
  }

  private func runDeleting(_ bench: Bench, _ store: any StoreUnderTest) throws -> Int {
    let rows = bench.freshRows(5 * bench.plan.batchRows, for: "instructions-deleted", run: 0)
    try store.put(rows, 0..<rows.count, perTransaction: rows.count)
    try store.settle()
    try measuredSection { try store.remove(rows, 0..<rows.count) }
    return rows.count
  }

  /// Runs a section over songs with three indexes.
  private func runAskingIndexes(_ bench: Bench) throws -> Int {
    let (store, songs) = try storeOfSongs(bench) { try $0.makeIndexes() }
    let perTransaction = bench.plan.batchRows
    _ = try store.fileByteCount()
    let batch = Array(songs.prefix(perTransaction))
    let many = (0..<songs.count / 5).map { "artist\($0)" }
    let questions: (count: Int, operations: Int, ask: (Int) throws -> Void) =
      switch self {
      case .findFirst: (1000, 1000, { _ = try store.firstID(artist: songs[$0 * 13 % songs.count].artist) })
      case .findCount: (1000, 1000, { _ = try store.count(ratingFrom: 1 + Double($0) / 1000, to: 3.5) })
      case .findOrdered: (300, 300, { _ = try store.best(year: 1950 + $0 % 75, limit: 10, offset: 0) })
      case .findIn: (1, many.count, { _ = try store.count(artists: Array(many.dropFirst($0))) })
      case .indexedPut: (5, 5 * batch.count, { try store.store(batch, from: songs.count + ($0 + 1) * batch.count) })
      default: (1, songs.count, { _ = try store.count(playsBelow: 10 + $0) })
      }
    // What the language's runtime finds out at the first use of a type is no section's.
    if reads { try questions.ask(0) } else { try store.store(batch, from: songs.count) }
    try measuredSection { for turn in 0..<questions.count { try questions.ask(turn) } }
    return questions.operations
  }

  /// Runs a section over objects of one type.
  private func runOnTypedRows(_ bench: Bench) throws -> Int {
    let (folder, plan) = ("\(bench.directory)/\(rawValue)", bench.plan)
    return try TypedRows(folder, count: plan.count, seed: plan.seed, isCached: self == .typedGetCached).run(self)
  }

  /// Makes three indexes of songs that are stored.
  private func runBuildingIndexes(_ bench: Bench) throws -> Int {
    let (store, songs) = try storeOfSongs(bench) { _ in }
    _ = try store.fileByteCount()
    try measuredSection { try store.makeIndexes() }
    return songs.count
  }

  /// A store of its own with as many songs as the plan has rows, and what `prepare` makes of it before it has any.
  private func storeOfSongs(
    _ bench: Bench, _ prepare: (QuireIndexedStore) throws -> Void
  ) throws -> (store: QuireIndexedStore, songs: [IndexedSong]) {
    let songs = IndexedSongs(count: bench.plan.count, seed: bench.plan.seed).songs
    let folder = "\(bench.directory)/\(rawValue)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let store = try QuireIndexedStore(folder)
    try prepare(store)
    let perTransaction = bench.plan.batchRows
    for start in stride(from: 0, to: songs.count, by: perTransaction) {
      try store.store(Array(songs[start..<min(songs.count, start + perTransaction)]), from: start)
    }
    return (store, songs)
  }
}

/// The section itself, and how long it took. Its name is what a profiler may wait for, so it must stay a function of
/// its own; it reads the clock, so that it must return after `body` rather than leave by jumping there.
///
/// A callgrind that was told not to count at the start counts from here to the end of `body` and no more: what prepares
/// a section, or runs between two of them, is not seen at all, neither its instructions nor its calls.
@inline(never) @discardableResult
func measuredSection(_ body: () throws -> Void) rethrows -> Int {
  callgrind_start()
  let start = Clocks.wall()
  defer { callgrind_stop() }
  try body()
  return Clocks.wall() - start
}
