// The table of objects: what users of a database feel, beside SQLite, LMDB and GRDB.

internal import ArgumentParser
internal import Foundation

/// Measures the table of objects.
struct ObjectsBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "objects",
    abstract: "Measures rows, records, views, cascades and observation beside SQLite, LMDB and GRDB.")

  @Option(help: "Rows.")
  var count = 100_000
  @Option(help: "Alternating runs.")
  var runs = 3
  @Option(help: "Stores, separated by commas; all that are installed if there are none.")
  var stores = ""
  @Option(
    help: "Parts of the table, separated by commas: \(ObjectsPart.allCases.map(\.rawValue).joined(separator: ", ")).")
  var rows = ""
  @Flag(help: "Stores rows in the order of their keys instead of a random one.")
  var ascendingKeys = false
  @Option(help: "The row that a profiler is to see, by its name in the table; for callgrind, one run of one store.")
  var profile: String?
  @Option(help: "Keeps the files below this folder; a temporary one, removed afterwards, if absent.")
  var directory: String?
  @Option(help: "Writes the table to this file as Markdown.")
  var markdown: String?

  func validate() throws {
    guard count >= 1_000, runs >= 1 else { throw ValidationError("--count must be at least 1000, --runs 1.") }
  }

  func run() throws {
    let parts = try chosen(rows.isEmpty ? nil : rows, among: ObjectsPart.allCases, named: \.rawValue)
    try withWorkDirectory(directory) { folder in
      let table = try ObjectsRun(
        folder, count: count, runs: runs, stores: Set(stores.split(separator: ",").map(String.init)),
        keysAscend: ascendingKeys, profiledRow: profile)
      for part in parts {
        try table.measure(part)
        print("\(part.rawValue):")
        table.take().print()
      }
      if let markdown { try table.markdown.write(toFile: markdown, atomically: true, encoding: .utf8) }
    }
  }
}

/// The parts of the table.
enum ObjectsPart: String, CaseIterable {
  case shaped, records, coder, views, cascade, observers, beside, opening, crash

  /// What stands above its table.
  var title: String {
    switch self {
    case .shaped: "Rows of YapDatabase's shape"
    case .records: "Songs as records"
    case .coder: "Coders alone"
    case .views: "Lists"
    case .cascade: "A parent and its children"
    case .observers: "Observation"
    case .beside: "Reads beside a writer that commits a tenth of the rows at a time"
    case .opening: "Opening"
    case .crash: "A database killed with its rows in small commits"
    }
  }
}

/// A run of the table: its sizes, its folder, what was measured.
final class ObjectsRun {
  let count: Int
  let runs: Int
  let keysAscend: Bool
  /// How often small things are done, at the most.
  let isCheck: Bool
  let raw: RawDisk
  private let machine: Machine
  private let profiledRow: String?
  private let folder: String
  private let wanted: Set<String>
  private var table = StoreTable()
  private var tables: [(title: String, table: StoreTable)] = []
  private var foldersMade = 0

  /// A run in an existing folder; without `stores`, of all that are installed. A check is quick and measures nothing.
  init(
    _ folder: String, count: Int, runs: Int, stores: Set<String> = [], keysAscend: Bool = false, isCheck: Bool = false,
    profiledRow: String? = nil
  ) throws {
    (self.folder, self.count, self.runs, self.keysAscend) = (folder, count, runs, keysAscend)
    self.profiledRow = profiledRow
    (self.isCheck, wanted) = (isCheck, stores)
    machine = Machine(directory: folder)
    raw = try RawDisk(directory: folder)
  }

  func measure(_ part: ObjectsPart) throws {
    table = StoreTable()
    switch part {
    case .shaped: try measureShapedRows()
    case .records: try measureRecords()
    case .coder: try measureCoder()
    case .views: try measureViews()
    case .cascade: try measureCascades()
    case .observers: try measureObservers()
    case .beside: try measureReadsBesideWriter()
    case .opening: try measureOpening()
    case .crash: try measureCrashes()
    }
    try expect(table.isSane, "\(part.rawValue): not all samples are numbers")
    tables.append((part.title, table))
  }

  /// What was measured last.
  func take() -> StoreTable { table }

  func add(_ row: String, _ unit: String, _ store: String, _ value: Double) { table.add(row, unit, store, value) }

  /// All that was measured, as one table for each part.
  var markdown: String {
    let stores = ["quire", "quire-cached", "lmdb", "sqlite", "grdb", "grdb-cached", "json", "property-list"]
    let text = tables.map { "## \($0.title)\n\n\($0.table.markdown(stores))" }.joined(separator: "\n")
    return """
      \(machine.heading(count: count, runs: runs))

      \(text)
      """
  }

  /// The stores of `all` that take part, in the order of their turns in a run: who goes first changes.
  func turns<Store>(_ all: [Store], _ run: Int, named name: (Store) -> String) -> [Store] {
    let stores = all.filter { wanted.isEmpty || wanted.contains(name($0)) }
    let first = stores.isEmpty ? 0 : run % stores.count
    return Array(stores[first...] + stores[..<first])
  }

  /// Runs `body` with a new folder, which is removed afterwards.
  func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    foldersMade += 1
    let place = "\(folder)/\(foldersMade)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    return try body(place)
  }

  /// Waits until nobody works behind the next measurement's back, and has the machine find memory for it.
  func settle(needsMemory: Bool = false) throws {
    guard !isCheck, profiledRow == nil else { return }
    if needsMemory { try MachineMemory.provide(byteCount: min(1 << 30, count * 10_000)) }
    // The disk is left out: that of a busy machine is never at rest.
    _ = Quiet.await(Quiet.shortestSeconds, atMost: 5_000, nil)
  }

  /// A number of repetitions, a twentieth of it in a check.
  func times(_ count: Int) -> Int { isCheck ? max(2, count / 20) : count }

  /// The time that this thread was on a core while `body` ran, in nanoseconds per operation.
  func onCore(_ operations: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = Clocks.thread()
    try body()
    return Double(Clocks.thread() - start) / Double(operations)
  }

  /// Adds a row of the table: the time on a core, in nanoseconds, divided by `divisor`.
  func time(
    onCore row: String, _ unit: String, _ store: String, _ divisor: Int, _ body: () throws -> Void
  ) rethrows {
    let time = try onCore(divisor) { try section(row, body) }
    add(row, unit, store, time)
  }

  /// The same by the time that passes.
  func time(
    onWall row: String, _ unit: String, _ store: String, _ divisor: Int, _ body: () throws -> Void
  ) rethrows {
    let start = Clocks.wall()
    try section(row, body)
    add(row, unit, store, Double(Clocks.wall() - start) / Double(divisor))
  }

  /// Runs what a row measures, as the section that a profiler waits for if it is the one.
  private func section(_ row: String, _ body: () throws -> Void) rethrows {
    if row == profiledRow { try measuredSection(body) } else { try body() }
  }

  /// The time of `commit`, which gets a number, as a multiple of a bare flush: blocks of both take turns.
  func durableCommits(_ commit: (Int) throws -> Void) throws -> Double {
    var (own, bare): ([Double], [Double]) = ([], [])
    let (blocks, perBlock) = isCheck ? (2, 3) : (6, 50)
    for block in 0..<blocks {
      for _ in 0..<perBlock { bare.append(try microseconds { try raw.commit() }) }
      for index in 0..<perBlock { own.append(try microseconds { try commit(block * perBlock + index) }) }
    }
    return median(own) / median(bare)
  }
}
