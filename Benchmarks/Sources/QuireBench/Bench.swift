// The state of a run: the rows, the loaded stores and what they must hold.

internal import Foundation
internal import QuireTesting

/// A store with what it must hold, kept up to date by whoever puts rows into it.
final class LoadedStore {
  let store: any StoreUnderTest
  var contents: Contents

  /// Takes a store that holds `contents`.
  init(_ store: any StoreUnderTest, contents: Contents) {
    self.store = store
    self.contents = contents
  }
}

/// What the rows of the table share.
final class Bench {
  let plan: Plan
  let directory: String
  let rows: RowBlock
  /// What a store holds that holds `rows` and no others.
  let loadedContents: Contents
  /// All keys of `rows`, shuffled.
  let keys: KeyList
  let raw: RawDisk
  let disk: DiskCounters?
  private(set) lazy var ranges = RangeReads(rows, count: plan.rangeReads, length: 10, seed: plan.seed &+ 2)
  private var loaded: [String: LoadedStore] = [:]
  /// The same rows in key order.
  private(set) lazy var sortedRows = RowBlock(sorted: rows)
  /// By store: the files of one that was never closed, and what they must hold.
  var crashed: [String: (folder: String, contents: Contents)] = [:]
  private var foldersMade = 0

  /// Makes the rows and the order of the lookups.
  init(plan: Plan, directory: String) throws {
    self.plan = plan
    self.directory = directory
    rows = RowBlock(count: plan.count, seed: plan.seed)
    loadedContents = rows.contents
    var random = SeededRandom(seed: plan.seed &+ 1)
    keys = KeyList(rows, at: (0..<plan.count).shuffled(using: &random))
    raw = try RawDisk(directory: directory)
    disk = DiskCounters(directory: directory)
  }

  /// The store with `rows` in it, loaded at first use.
  func loadedStore(_ kind: any StoreUnderTest.Type) throws -> LoadedStore {
    if let store = loaded[kind.name] { return store }
    let store = try kind.init(directory: try folder("\(kind.name)-loaded"), cacheSize: plan.cacheSize)
    try store.put(rows, 0..<rows.count, perTransaction: plan.loadBatch)
    let result = LoadedStore(store, contents: loadedContents)
    loaded[kind.name] = result
    return result
  }

  /// Runs `body` with an empty store, which is closed and removed afterwards.
  func withEmptyStore<Result>(
    _ kind: any StoreUnderTest.Type, _ body: (any StoreUnderTest) throws -> Result
  ) throws -> Result {
    foldersMade += 1
    let place = try folder("\(kind.name)-\(foldersMade)")
    defer { try? FileManager.default.removeItem(atPath: place) }
    let store = try kind.init(directory: place, cacheSize: plan.cacheSize)
    let result = try body(store)
    try store.close()
    return result
  }

  /// Rows that no other row of the table and no other run puts; the same for every store.
  func freshRows(_ count: Int, for row: String, run: Int) -> RowBlock {
    var seed = plan.seed &+ 1_000_003 &* UInt64(run + 1)
    for byte in row.utf8 { seed = (seed ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return RowBlock(count: count, seed: seed)
  }

  /// Closes the loaded stores, opens them again and compares what they hold with what they must.
  func reopenAndVerify(_ kind: any StoreUnderTest.Type) throws {
    guard let old = loaded.removeValue(forKey: kind.name) else { return }
    try old.store.close()
    let store = try kind.init(directory: try folder("\(kind.name)-loaded"), cacheSize: plan.cacheSize)
    let found = try store.scan()
    try store.close()
    try expect(found == old.contents, "\(kind.name) lost rows: it holds \(found) and should hold \(old.contents)")
  }

  /// Closes the loaded stores.
  func closeAll() throws {
    for store in loaded.values { try store.store.close() }
    loaded = [:]
  }

  /// A folder for the files of a store.
  func folder(_ name: String) throws -> String {
    let path = "\(directory)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }
}

/// Throws `message` unless `condition` holds: a store that is fast and wrong is not fast.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw StoreFailure(description: message()) }
}
