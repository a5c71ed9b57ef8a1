// What a run of the table of growth measures, and how much of everything.

internal import Foundation

/// The parts of the table of growth.
enum GrowthPart: String, CaseIterable, Codable {
  /// Rows in random order, in batches. All parts but those with a store of their own go on with what it leaves.
  case random
  /// Point reads, ranges and a scan.
  case read
  /// Single reads beside a thread that commits batches and checkpoints.
  case beside
  /// Updates at random, in batches.
  case update
  /// Removals at random, in batches.
  case remove
  /// Opening after a clean close.
  case opening
  /// Opening after the process was killed.
  case crash
  /// Rows in the order of their keys, in batches, into a store of their own.
  case sorted
  /// Random rows in one transaction, likewise.
  case load
  /// The same by a call for many rows, for stores that have one.
  case bulk

  /// Whether it goes on with what `random` leaves.
  var needsRandomRows: Bool { ![.random, .sorted, .load, .bulk].contains(self) }
}

/// What one process measures of one store: sizes, and how long a row of the table may take.
struct GrowthPlan: Codable {
  /// Rows of the filled store.
  var count: Int
  /// Nil for what Quire takes by itself, which depends on the memory that the process may take.
  var cacheSize: Int?
  var seed: UInt64
  /// A store that needs longer for a row of the table is stopped.
  var secondsPerRow: Double
  /// Rows of a batch, which is one transaction.
  var batchRows = 1_000
  var lookups = 200_000
  var rangeReads = 20_000
  /// How many reads or ranges one transaction has.
  var readsPerTransaction = 1_000
  /// Single reads before a writer begins.
  var readsAlone = 50_000
  /// Batches of updates and of removals, and beside a reader; never more than a quarter and a fifth of the rows.
  var batches = 1_000
  var batchesBeside = 200
  /// Batches that a process commits before it is killed; likewise.
  var batchesBeforeCrash = 200
  var openings = 5
  /// How long a store may work on after its batches, before the bytes that it wrote are counted.
  var quietMilliseconds = 20_000

  init(count: Int, cacheSize: Int?, seed: UInt64, secondsPerRow: Double) {
    (self.count, self.cacheSize, self.seed, self.secondsPerRow) = (count, cacheSize, seed, secondsPerRow)
  }

  /// Sizes for a look at whether everything works.
  static var check: GrowthPlan {
    var plan = GrowthPlan(count: 6_000, cacheSize: 1 << 20, seed: 1, secondsPerRow: 20)
    (plan.batchRows, plan.lookups, plan.rangeReads, plan.readsPerTransaction) = (100, 600, 200, 100)
    (plan.readsAlone, plan.batches, plan.batchesBeside, plan.batchesBeforeCrash) = (100, 10, 10, 5)
    (plan.openings, plan.quietMilliseconds) = (2, 0)
    return plan
  }

  var rows: GrowthRows { GrowthRows(seed: seed) }

  /// How many of `wanted` batches a store of `rows` rows gets, if they may touch one in `share` of its rows.
  func batches(_ wanted: Int, of rows: Int, oneIn share: Int) -> Int { min(wanted, rows / share / batchRows) }

  /// How stores are opened in this process: commits wait for the system, not for the disk.
  var options: StoreOptions {
    StoreOptions(cacheSize: cacheSize ?? QuireStore.standardCacheSize, durability: .relaxed)
  }
}

/// The size of everybody's cache, as the command line names it.
enum GrowthCache: Codable, Equatable {
  /// What Quire takes if nobody says anything.
  case standard
  /// A tenth of the bytes of keys and values.
  case tenth
  case mebibytes(Int)

  init?(_ text: Substring) {
    switch text {
    case "default": self = .standard
    case "tenth": self = .tenth
    default:
      guard let mebibytes = Int(text), mebibytes > 0 else { return nil }
      self = .mebibytes(mebibytes)
    }
  }

  var name: String {
    switch self {
    case .standard: "default"
    case .tenth: "tenth"
    case .mebibytes(let count): "\(count)"
    }
  }

  /// Bytes beside `rows` rows, a MiB at the least; nil for what Quire takes by itself.
  func byteCount(rows: Int) -> Int? {
    switch self {
    case .standard: nil
    case .tenth: max(1 << 20, rows * GrowthRows.rowByteCount / 10)
    case .mebibytes(let count): count << 20
    }
  }
}

/// Numbers of rows and sizes of caches that are measured together.
struct GrowthConfiguration: Codable, Equatable {
  let count: Int
  let cache: GrowthCache
  /// The memory that each process may take, page cache and all; nil for what the machine has.
  let memoryMiB: Int?

  /// In bytes; nil for what Quire takes by itself.
  var cacheSize: Int? { cache.byteCount(rows: count) }

  /// What stands above the table.
  var title: String {
    let memory = memoryMiB.map { "\($0) MiB for each process and its files" } ?? "the machine's page cache is free"
    let payload = number(Double(count * GrowthRows.rowByteCount) / 1_048_576)
    let size = cacheSize.map { "of \(number(Double($0) / 1_048_576)) MiB" } ?? "as Quire takes it by itself"
    return "\(count) rows (\(payload) MiB), cache \(size) (\(cache.name)), \(memory)"
  }
}
