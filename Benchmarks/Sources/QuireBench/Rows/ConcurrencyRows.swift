// The rows in which several threads use a store at once.

internal import Foundation
internal import Synchronization

var concurrencyRows: [BenchmarkRow] {
  [
    threadedGets("threads-2", 2, "Random gets of two threads at once, each in a read transaction of its own."),
    threadedGets("threads-4", 4, "The same of four threads."),
    BenchmarkRow(
      .concurrency, "reads-beside-writer", unit: "M/s",
      "Random gets, a new read transaction for every 100, while a thread overwrites 100 rows at a time.",
      higherIsBetter: true, prepare: prepareWriter, measure: measureReadsBesideWriter),
    BenchmarkRow(
      .concurrency, "reader-latency", unit: "µs",
      "What 99 % of single gets, each in a read transaction of its own, stay below beside that writer.",
      prepare: prepareWriter, measure: measureReaderLatency),
    BenchmarkRow(
      .concurrency, "pinned-reader", unit: "µs/commit",
      "A million relaxed commits that overwrite 10,000 rows while one reader stays open; the files that this leaves.",
      mostRuns: 1, isLong: true, measure: measurePinnedReader),
  ]
}

private func threadedGets(_ name: String, _ threads: Int, _ summary: String) -> BenchmarkRow {
  BenchmarkRow(
    .concurrency, name, unit: "M/s", summary, higherIsBetter: true,
    prepare: { bench, kind in
      try warm(bench, kind)
      // Once for what a store makes for each thread, such as connections with caches of their own.
      _ = try gets(threads: threads, bench, bench.loadedStore(kind).store)
    },
    measure: { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let alone = try gets(threads: 1, bench, store)
      let together = try gets(threads: threads, bench, store)
      return Sample(
        value: together.perSecond / 1e6,
        notes: [
          Note("M/s alone", alone.perSecond / 1e6), Note("× alone", together.perSecond / alone.perSecond),
          Note("× alone by thread time", Double(threads) * alone.threadTime / together.threadTime),
        ])
    })
}

/// Gets of `threads` threads at once, each on its own part of the keys in a read transaction of its own.
///
/// The time on the wall says what an app gets, and is worthless while something else uses the cores. The time of the
/// threads then still shows what they cost each other in the caches; it does not show them waiting.
private func gets(
  threads: Int, _ bench: Bench, _ store: any StoreUnderTest
) throws -> (perSecond: Double, threadTime: Double) {
  let keys = bench.keys
  let share = bench.lookups.count / 4
  let threadTime = Mutex(0)
  let start = Clocks.wall()
  try onThreads(threads) { thread in
    let start = Clocks.thread()
    _ = try store.sumOfValues(of: keys, (thread * share)..<((thread + 1) * share))
    let time = Clocks.thread() - start
    threadTime.withLock { $0 += time }
  }
  let time = Clocks.wall() - start
  let count = Double(threads * share)
  return (count / (Double(time) / 1e9), Double(threadTime.withLock { $0 }) / count)
}

/// A thread that commits until it is told to stop.
private final class BackgroundWriter: Sendable {
  private let stops = Atomic(false)
  private let count = Atomic(0)
  private let rowCount = Atomic(0)

  /// Puts the rows of `blocks`, which have the same keys, so many to a durable transaction, in turns until `stop`.
  func run(_ store: any StoreUnderTest, _ blocks: [RowBlock], perTransaction: Int) throws {
    var (turn, next) = (0, 0)
    while !stops.load(ordering: .relaxed) {
      let rows = blocks[turn]
      let end = min(next + perTransaction, rows.count)
      try store.put(rows, next..<end, perTransaction: perTransaction)
      count.add(1, ordering: .relaxed)
      rowCount.add(end - next, ordering: .relaxed)
      next = end == rows.count ? 0 : end
      if next == 0 { turn = (turn + 1) % blocks.count }
    }
  }

  func stop() { stops.store(true, ordering: .relaxed) }

  /// How many transactions there were.
  var transactions: Int { count.load(ordering: .relaxed) }
  /// How many rows they had put, counting each as often as it was.
  var rowsPut: Int { rowCount.load(ordering: .relaxed) }
}

/// Warms the store, and has it hold the rows that the writer beside readers overwrites. All stores hold the same then,
/// however fast their writers are.
private func prepareWriter(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws {
  let loaded = try bench.loadedStore(kind)
  if bench.storesWithWriterRows.insert(kind.name).inserted {
    let rows = bench.writerRows
    try loaded.store.put(rows, 0..<rows.count, perTransaction: rows.count)
    loaded.contents.add(rows.contents)
  }
  try warm(bench, kind)
}

/// Runs `body` beside a writer and returns its result with the writer's transactions per second. What the writer put is
/// looked at afterwards, and then the rows are put as they were.
private func besideWriter<Result>(
  _ bench: Bench, _ loaded: LoadedStore, _ body: () throws -> Result
) throws -> (Result, Double) {
  let (old, new) = (bench.writerRows, bench.otherWriterRows)
  let (store, perTransaction) = (loaded.store, bench.plan.mixedRows)
  let writer = BackgroundWriter()
  let start = Clocks.wall()
  let thread = RunningThread { try writer.run(store, [new, old], perTransaction: perTransaction) }
  let result = Swift.Result { try body() }
  writer.stop()
  try thread.join()
  let seconds = Double(Clocks.wall() - start) / 1e9
  let (rounds, rest) = writer.rowsPut.quotientAndRemainder(dividingBy: old.count)
  let (ahead, behind) = rounds.isMultiple(of: 2) ? (new, old) : (old, new)
  let expected = ahead.contents(of: 0..<rest).sum &+ behind.contents(of: rest..<old.count).sum
  let found = try store.sumOfValues(of: bench.writerKeys, 0..<old.count)
  try expect(found == expected, "a writer's rows add up to \(found) instead of \(expected)")
  try store.put(old, 0..<old.count, perTransaction: old.count)
  return (try result.get(), Double(writer.transactions) / seconds)
}

private func measureReadsBesideWriter(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let loaded = try bench.loadedStore(kind)
  let alone = try snapshotGets(bench, loaded.store)
  let (beside, transactions) = try besideWriter(bench, loaded) { try snapshotGets(bench, loaded.store) }
  return Sample(
    value: beside / 1e6,
    notes: [
      Note("M/s alone", alone / 1e6), Note("× alone", beside / alone), Note("writer's transactions/s", transactions),
    ])
}

/// Gets per second, a read transaction for every 100, for as long as the plan says.
private func snapshotGets(_ bench: Bench, _ store: any StoreUnderTest) throws -> Double {
  let limit = bench.plan.mixedMilliseconds * 1_000_000
  let perTransaction = 100
  let start = Clocks.wall()
  var (count, next) = (0, 0)
  while Clocks.wall() - start < limit {
    _ = try store.sumOfValues(of: bench.keys, next..<(next + perTransaction))
    count += perTransaction
    next = (next + perTransaction) % (bench.lookups.count - perTransaction)
  }
  return Double(count) / (Double(Clocks.wall() - start) / 1e9)
}

private func measureReaderLatency(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let loaded = try bench.loadedStore(kind)
  let alone = try latencies(bench, loaded.store)
  let (beside, transactions) = try besideWriter(bench, loaded) { try latencies(bench, loaded.store) }
  return Sample(
    value: quantile(beside, 0.99),
    notes: [
      Note("µs median", median(beside)), Note("µs at 99.9 %", quantile(beside, 0.999)),
      Note("µs most", beside.max() ?? 0),
      Note("µs at 99 % alone", quantile(alone, 0.99)), Note("writer's transactions/s", transactions),
    ])
}

/// The microseconds of each of many gets, one to a read transaction, for as long as the plan says.
private func latencies(_ bench: Bench, _ store: any StoreUnderTest) throws -> [Double] {
  let limit = bench.plan.mixedMilliseconds * 1_000_000
  let start = Clocks.wall()
  var times: [Double] = []
  while Clocks.wall() - start < limit {
    let index = times.count % bench.lookups.count
    times.append(try microseconds { _ = try store.sumOfValues(of: bench.keys, index..<(index + 1)) })
  }
  return times
}

/// Overwrites a few rows over and over while a reader sees them as they were.
private func measurePinnedReader(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let plan = bench.plan
  let old = bench.freshRows(plan.pinnedRows, for: "pinned-reader", run: run)
  let new = RowBlock(keysOf: old, seed: plan.seed &+ 4)
  return try bench.withEmptyStore(kind, .relaxed) { store, folder in
    try store.put(old, 0..<old.count, perTransaction: old.count)
    try store.settle()
    let before = byteCount(of: folder)
    let (opened, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let expected = old.contents
    let name = kind.name
    let reader = RunningThread {
      let seen = try store.scan(after: {
        opened.signal()
        done.wait()
      })
      try expect(seen == expected, "the pinned reader of \(name) sees \(seen) instead of \(expected)")
    }
    opened.wait()
    let outcome = Swift.Result {
      try microseconds {
        for start in stride(from: 0, to: plan.pinnedCommits, by: new.count) {
          try store.put(new, 0..<min(new.count, plan.pinnedCommits - start), perTransaction: 1)
        }
      }
    }
    let during = byteCount(of: folder)
    done.signal()
    try reader.join()
    let time = try outcome.get()
    try store.settle()
    let found = try store.scan()
    try expect(found == new.contents, "\(kind.name) holds \(found) instead of \(new.contents)")
    return Sample(
      value: time / Double(plan.pinnedCommits),
      notes: [
        Note("MiB before", Double(before) / 1_048_576), Note("MiB while pinned", Double(during) / 1_048_576),
        Note("MiB after the reader", Double(byteCount(of: folder)) / 1_048_576),
      ])
  }
}
