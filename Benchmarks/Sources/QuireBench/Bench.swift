// The state of a run: the rows, the loaded stores and what they must hold.

internal import Foundation
internal import QuireTesting

/// A store with what it must hold, kept up to date by the rows that put into it.
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
  /// Those of `keys` that rows of the table look up, and the sum of their values.
  let lookups: Range<Int>
  let lookupSum: UInt64
  let raw: RawDisk
  let disk: DiskCounters?
  private(set) lazy var ranges = RangeReads(rows, count: plan.rangeReads, length: 10, seed: plan.seed &+ 2)
  /// The same rows in key order.
  private(set) lazy var sortedRows = RowBlock(sorted: rows)
  /// Rows with values of 4 KiB.
  private(set) lazy var largeRows = RowBlock(count: plan.largeRows, seed: plan.seed &+ 3, valueByteCount: 4096)
  /// All keys of `largeRows`, shuffled.
  private(set) lazy var largeKeys: KeyList = {
    var random = SeededRandom(seed: plan.seed &+ 4)
    return KeyList(largeRows, at: (0..<plan.largeRows).shuffled(using: &random))
  }()
  /// Rows that a writer beside readers overwrites, what it puts in their place, and their keys.
  private(set) lazy var writerRows = freshRows(plan.loadBatch, for: "beside-writer", run: 0)
  private(set) lazy var otherWriterRows = RowBlock(keysOf: writerRows, seed: plan.seed &+ 5)
  private(set) lazy var writerKeys = KeyList(writerRows, at: Array(0..<writerRows.count))
  /// The names of the stores that hold `writerRows`.
  var storesWithWriterRows: Set<String> = []
  /// How many measurements began although somebody was still at work.
  private(set) var unquietCount = 0
  private var quietSeconds = Quiet.shortestSeconds
  private var loaded: [String: LoadedStore] = [:]
  private var loadedLarge: [String: LoadedStore] = [:]
  /// By store: the files of one that was never closed, and what they must hold.
  var crashed: [String: (folder: String, contents: Contents)] = [:]
  /// By store, once measured.
  var measuredSizes: [String: StoreSizes] = [:]
  private var foldersMade = 0

  /// Makes the rows and the order of the lookups.
  init(plan: Plan, directory: String) throws {
    self.plan = plan
    self.directory = directory
    let rows = RowBlock(count: plan.count, seed: plan.seed)
    var random = SeededRandom(seed: plan.seed &+ 1)
    let order = (0..<plan.count).shuffled(using: &random)
    let lookups = 0..<min(plan.lookups, plan.count)
    self.rows = rows
    self.lookups = lookups
    loadedContents = rows.contents
    keys = KeyList(rows, at: order)
    lookupSum = order[lookups].reduce(0) { $0 &+ sum(of: rows.value($1)) }
    raw = try RawDisk(directory: directory)
    disk = DiskCounters(directory: directory)
  }

  /// The store with `rows` in it, loaded at first use.
  func loadedStore(_ kind: any StoreUnderTest.Type) throws -> LoadedStore {
    if let store = loaded[kind.name] { return store }
    let store = try kind.init(directory: try loadedFolder(kind), options: options())
    try store.put(rows, 0..<rows.count, perTransaction: plan.loadBatch)
    let result = LoadedStore(store, contents: loadedContents)
    loaded[kind.name] = result
    return result
  }

  /// The store with `largeRows` in it, loaded at first use.
  func loadedLargeStore(_ kind: any StoreUnderTest.Type) throws -> LoadedStore {
    if let store = loadedLarge[kind.name] { return store }
    let store = try kind.init(directory: try folder("\(kind.name)-large"), options: options())
    try store.put(largeRows, 0..<largeRows.count, perTransaction: 1000)
    let result = LoadedStore(store, contents: largeRows.contents)
    loadedLarge[kind.name] = result
    return result
  }

  /// Closes the loaded store, runs `between` with its folder, opens it again and returns it with the nanoseconds that
  /// the opening took.
  func reopen(
    _ kind: any StoreUnderTest.Type, between: (String) throws -> Void = { _ in }
  ) throws -> (loaded: LoadedStore, time: Int) {
    let old = try loadedStore(kind)
    loaded[kind.name] = nil
    try old.store.close()
    let place = try loadedFolder(kind)
    try between(place)
    let start = Clocks.wall()
    let store = try kind.init(directory: place, options: options())
    let time = Clocks.wall() - start
    let result = LoadedStore(store, contents: old.contents)
    loaded[kind.name] = result
    return (result, time)
  }

  /// Runs `body` with an empty store and its folder. The store is closed and removed afterwards.
  func withEmptyStore<Result>(
    _ kind: any StoreUnderTest.Type, _ durability: CommitDurability = .full,
    _ body: (any StoreUnderTest, String) throws -> Result
  ) throws -> Result {
    foldersMade += 1
    let place = try folder("\(kind.name)-\(foldersMade)")
    defer { try? FileManager.default.removeItem(atPath: place) }
    let store = try kind.init(directory: place, options: options(durability))
    let result = try body(store, place)
    try store.close()
    return result
  }

  /// Rows that no other row of the table and no other run puts; the same for every store.
  func freshRows(_ count: Int, for row: String, run: Int) -> RowBlock {
    var seed = plan.seed &+ 1_000_003 &* UInt64(run + 1)
    for byte in row.utf8 { seed = (seed ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return RowBlock(count: count, seed: seed)
  }

  /// Closes the loaded store, opens it again and compares what it holds with what it must.
  func reopenAndVerify(_ kind: any StoreUnderTest.Type) throws {
    guard loaded[kind.name] != nil else { return }
    let (reopened, _) = try reopen(kind)
    let found = try reopened.store.scan()
    try expect(
      found == reopened.contents,
      "\(kind.name) lost rows: it holds \(found) and should hold \(reopened.contents)")
  }

  /// Closes the loaded stores.
  func closeAll() throws {
    for store in loaded.values { try store.store.close() }
    for store in loadedLarge.values { try store.store.close() }
    (loaded, loadedLarge) = ([:], [:])
  }

  /// A folder for the files of a store.
  func folder(_ name: String) throws -> String {
    let path = "\(directory)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func loadedFolder(_ kind: any StoreUnderTest.Type) throws -> String { try folder("\(kind.name)-loaded") }

  /// Waits until nobody works behind the next measurement's back, as far as the plan has time for that.
  func awaitQuiet() {
    guard plan.quietMilliseconds > 0 else { return }
    if !Quiet.await(quietSeconds, atMost: plan.quietMilliseconds, disk) { unquietCount += 1 }
    quietSeconds = Quiet.shortestSeconds
  }

  /// Makes the next measurement wait for what a store that has just committed may begin to do.
  func noteCommits(_ kind: any StoreUnderTest.Type) {
    quietSeconds = max(Quiet.shortestSeconds, plan.tidiesWhenIdle ? kind.secondsUntilTidying : 0)
  }

  /// Makes the machine find the memory that a measurement needs, before it begins.
  func provideMemory() throws { try MachineMemory.provide(byteCount: plan.memoryAtHand) }

  /// How stores are opened.
  func options(_ durability: CommitDurability = .full) -> StoreOptions {
    StoreOptions(cacheSize: plan.cacheSize, durability: durability, tidiesWhenIdle: plan.tidiesWhenIdle)
  }
}

/// Throws `message` unless `condition` holds: a store that is fast and wrong is not fast.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw StoreFailure(description: message()) }
}
