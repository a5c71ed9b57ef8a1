// One store, measured in a process that holds nothing else.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A store with what it must hold, and where its figures go.
final class GrowthMeasurement {
  let plan: GrowthPlan
  let kind: any StoreUnderTest.Type
  let folder: String
  let rows: GrowthRows
  let log: GrowthLog
  let watchdog: GrowthWatchdog
  var state = GrowthState()
  /// What the store holds.
  var contents = Contents()
  /// The rows in the order in which they are updated and removed, and how far that has come.
  private(set) lazy var order = ShuffledNumbers(count: max(1, state.filled))
  private var place = 0
  private let disk: DiskCounters?
  /// The most memory that this process had taken before there was a store.
  private let bytesBefore = ProcessCounters.peakResidentBytes() ?? 0

  init(_ kind: any StoreUnderTest.Type, plan: GrowthPlan, folder: String, log: GrowthLog) {
    (self.kind, self.plan, self.folder, self.log) = (kind, plan, folder, log)
    rows = plan.rows
    disk = DiskCounters(directory: folder)
    watchdog = GrowthWatchdog(log: log)
  }

  func open() throws -> any StoreUnderTest { try kind.init(directory: folder, options: plan.options) }

  /// Notes a figure. One of a store whose filling was stopped says of how many rows it is.
  func add(_ row: String, _ unit: String, _ value: Double, _ table: GrowthResult.Table = .rows) throws {
    let isPartial = state.filled > 0 && state.filled < plan.count
    let remark = isPartial ? "(of \(state.filled) rows)" : nil
    try log.write(.result(GrowthResult(table: table, row: row, unit: unit, value: value, remark: remark)))
  }

  /// Says why there is no figure.
  func remark(_ row: String, _ unit: String, _ text: String) throws {
    try log.write(.result(GrowthResult(table: .rows, row: row, unit: unit, value: nil, remark: text)))
  }

  /// Notes the shares of a histogram, in units of so many nanoseconds.
  func add(_ latencies: Latencies, _ row: String, _ unit: String, nanoseconds: Double) throws {
    for share in latencies.shares {
      try add("\(row), \(share.name)", unit, share.nanoseconds / nanoseconds, .latencies)
    }
  }

  /// Runs `body` as a row of the table, which is given the moment at which it is to stop.
  func measure(_ row: String, _ unit: String, _ body: (_ end: Int) throws -> Void) throws {
    // What a store does after the last batch, or to roll back, has time of its own.
    watchdog.begin(row, unit, seconds: plan.secondsPerRow * 3 + 60)
    try body(Clocks.wall() + Int(plan.secondsPerRow * 1e9))
    watchdog.end()
  }

  /// Commits `count` rows in batches. `make` makes the rows of a range and `note` keeps account of them, both outside
  /// the time; `commit` is timed.
  ///
  /// - Returns: how many were committed before the time was up.
  func measureBatches(
    _ name: String, count: Int, of store: any StoreUnderTest, make: (Range<Int>) -> RowBlock,
    commit: (RowBlock) throws -> Void, note: (RowBlock) -> Void = { _ in }
  ) throws -> Int {
    guard count > 0 else {
      try remark(name, "µs/row", "too few rows")
      return 0
    }
    let before = writtenBytesSoFar()
    var latencies = Latencies()
    var (done, total) = (0, 0)
    // Whole batches, one at the least.
    let batches = (count + plan.batchRows - 1) / plan.batchRows
    var late = (rows: 0, time: 0)
    try measure(name, "µs/row") { end in
      while done < count, Clocks.wall() < end {
        let range = done..<min(done + plan.batchRows, count)
        let block = make(range)
        let start = Clocks.wall()
        try commit(block)
        let time = Clocks.wall() - start
        note(block)
        latencies.add(time)
        total += time
        if range.lowerBound / plan.batchRows >= batches - max(1, batches / 10) {
          late = (late.rows + range.count, late.time + time)
        }
        done = range.upperBound
      }
    }
    let perRow = Double(total) / Double(max(1, done)) / 1000
    if done < count {
      try remark(name, "µs/row", "stopped at \(done) rows: \(number(perRow)) so far")
    } else {
      try add(name, "µs/row", perRow)
      try add("\(name), last tenth", "µs/row", Double(late.time) / Double(late.rows) / 1000)
    }
    try add(latencies, "\(name), a batch", "ms", nanoseconds: 1e6)
    try measureDebt(name, store, rows: done, since: before)
    return done
  }

  /// Has the store write home what it owes and come to rest; notes how long the call for that took, and what has been
  /// written since `before`.
  func measureDebt(_ name: String, _ store: any StoreUnderTest, rows: Int, since before: WrittenBytes) throws {
    try measure("\(name), then written home", "ms") { _ in
      let start = Clocks.wall()
      try store.settle()
      try add("\(name), then written home", "ms", Double(Clocks.wall() - start) / 1e6, .notes)
      if plan.quietMilliseconds > 0 {
        let seconds = max(Quiet.shortestSeconds, kind.secondsUntilTidying)
        // The disk is left out: that of a busy machine is never at rest.
        _ = Quiet.await(seconds, atMost: plan.quietMilliseconds, nil)
      }
    }
    let now = writtenBytesSoFar()
    let counts: [(of: String, after: Int?, before: Int?, table: GrowthResult.Table)] = [
      ("bytes written", now.handed, before.handed, .rows),
      ("bytes of the whole disk", now.disk, before.disk, .rows),
      ("bytes of dirtied pages", now.dirtied, before.dirtied, .notes),
    ]
    for count in counts {
      guard let bytes = difference(count.after, count.before) else { continue }
      let payload = Double(max(1, rows) * GrowthRows.rowByteCount)
      try add("\(name), \(count.of)", "× payload", Double(bytes) / payload, count.table)
    }
  }

  /// Has the system write what it owes, so that no row pays for or profits from what the one before it left, and
  /// returns what has been written so far.
  func writtenBytesSoFar() -> WrittenBytes {
    sync()
    return WrittenBytes(
      handed: ProcessCounters.bytesWritten(), dirtied: ProcessCounters.bytesDirtied(), disk: disk?.bytesWritten())
  }

  /// Notes the most memory that the store has made this process take, files of the page cache that it maps among it.
  func addMemory() throws {
    guard let peak = ProcessCounters.peakResidentBytes() else { return }
    try add("most memory", "MiB", Double(max(0, peak - bytesBefore)) / 1_048_576)
  }

  /// Notes what the files take, beside what is in them.
  func addSize(_ name: String) throws {
    try add(name, "× payload", Double(byteCount(of: folder)) / Double(max(1, contents.count) * GrowthRows.rowByteCount))
  }

  /// Reads all rows and compares them with what must be there; not timed.
  func verify(_ store: any StoreUnderTest, _ what: String) throws {
    watchdog.begin("\(what), verified", "rows", seconds: plan.secondsPerRow * 3 + 60)
    let found = try store.scan()
    watchdog.end()
    try expect(found == contents, "\(kind.name), \(what): it holds \(found) and should hold \(contents)")
  }

  /// The next rows to be updated or removed, none of them twice.
  func takeRows(_ count: Int) -> [Int] {
    defer { place += count }
    return (place..<(place + count)).map { order[$0] }
  }

  /// Keeps what the store holds up to date after rows were updated.
  func noteUpdates(_ indices: [Int]) {
    for index in indices { contents.sum = contents.sum &- rows.valueSum(index) &+ rows.valueSum(index, .updated) }
  }

  /// Tells the process that started this one what is in the store.
  func writeState() throws {
    (state.rowCount, state.valueSum) = (contents.count, contents.sum)
    try log.write(.state(state))
  }
}

/// Three counts of what has been written, each nil where the kernel does not tell.
struct WrittenBytes {
  /// Handed to write calls by this process. None of the stores writes its data in another way.
  let handed: Int?
  /// Pages that this process made dirty. Where the page cache has large folios, one changed page counts as its whole
  /// folio.
  let dirtied: Int?
  /// Written to the whole disk, by everybody.
  let disk: Int?
}
