// Reading: points, ranges, all rows; and single reads beside a writer.

internal import Foundation
internal import QuireTesting
internal import Synchronization

extension GrowthMeasurement {
  /// Reads points, uniformly and skewed, ranges of ten and all rows.
  func read(_ store: any StoreUnderTest) throws {
    let count = state.filled
    var random = SeededRandom(seed: plan.seed &+ 11)
    // The caches become what reads make of them, not what the filling left.
    try measure("point reads, uniform, warming up", "ns") { end in
      _ = try lookUp(store, plan.lookups / 4, until: end) { random.below(count) }
    }
    try measurePoints(store, "point reads, uniform") { random.below(count) }
    var skewed = SkewedNumbers(count: count, seed: plan.seed &+ 12)
    try measurePoints(store, "point reads, skewed") { skewed.next() }
    try measureRanges(store)
    let fetched = ProcessCounters.bytesFetched()
    try measure("full scan", "ns/row") { _ in
      let (start, startOnCore) = (Clocks.wall(), Clocks.thread())
      let found = try store.scan()
      let (time, timeOnCore) = (Clocks.wall() - start, Clocks.thread() - startOnCore)
      try expect(found == contents, "\(kind.name), scan: it gave \(found) and should give \(contents)")
      try add("full scan", "ns/row", Double(time) / Double(count))
      try add("full scan, on a core", "ns/row", Double(timeOnCore) / Double(count), .notes)
    }
    try addFetched("full scan", "bytes/row", since: fetched, count)
  }

  private func measurePoints(_ store: any StoreUnderTest, _ name: String, _ next: () -> Int) throws {
    let fetched = ProcessCounters.bytesFetched()
    try measure(name, "ns") { end in
      let taken = try lookUp(store, plan.lookups, until: end, next)
      try addReads(name, taken, of: plan.lookups)
      try addFetched(name, "bytes", since: fetched, taken.count)
    }
  }

  /// What reads took, in nanoseconds.
  private struct Taken {
    var count = 0
    var time = 0
    var timeOnCore = 0
  }

  /// Looks so many rows up, some in each transaction, and compares the sums.
  private func lookUp(
    _ store: any StoreUnderTest, _ count: Int, until end: Int, _ next: () -> Int
  ) throws -> Taken {
    var taken = Taken()
    while taken.count < count, Clocks.wall() < end {
      let indices = (0..<plan.readsPerTransaction).map { _ in next() }
      let keys = rows.keys(indices)
      let expected = indices.reduce(0) { $0 &+ rows.valueSum($1) }
      let (start, startOnCore) = (Clocks.wall(), Clocks.thread())
      let sum = try store.sumOfValues(of: keys, 0..<keys.count)
      taken.timeOnCore += Clocks.thread() - startOnCore
      taken.time += Clocks.wall() - start
      taken.count += keys.count
      try expect(sum == expected, "\(kind.name) gave other values than were stored")
    }
    return taken
  }

  private func measureRanges(_ store: any StoreUnderTest) throws {
    let starts = GrowthRanges.starts(plan.rangeReads, of: state.filled, seed: plan.seed &+ 13)
    try measure("ranges of ten", "ns") { end in
      var taken = Taken()
      while taken.count < starts.count, Clocks.wall() < end {
        let range = taken.count..<min(taken.count + plan.readsPerTransaction, starts.count)
        let keys = rows.keys(Array(starts[range]))
        let (start, startOnCore) = (Clocks.wall(), Clocks.thread())
        state.rangeSum &+= try store.sumOfRanges(from: keys, 0..<keys.count, length: GrowthRanges.length)
        taken.timeOnCore += Clocks.thread() - startOnCore
        taken.time += Clocks.wall() - start
        taken.count = range.upperBound
      }
      // Only who knows all keys knows the sum: the process that started this one.
      state.ranges = taken.count
      try addReads("ranges of ten", taken, of: starts.count)
    }
  }

  private func addReads(_ name: String, _ taken: Taken, of wanted: Int) throws {
    guard taken.count >= wanted else {
      let each = number(Double(taken.time) / Double(max(1, taken.count)))
      return try remark(name, "ns", "stopped at \(taken.count) reads: \(each) so far")
    }
    try add(name, "ns", Double(taken.time) / Double(taken.count))
    try add("\(name), on a core", "ns", Double(taken.timeOnCore) / Double(taken.count), .notes)
  }

  private func addFetched(_ name: String, _ unit: String, since before: Int?, _ count: Int) throws {
    guard let bytes = difference(ProcessCounters.bytesFetched(), before) else { return }
    try add("\(name), fetched from the disk", unit, Double(bytes) / Double(max(1, count)), .notes)
  }

  /// Single reads, each in a transaction of its own: alone, and then while another thread updates rows in batches and
  /// writes home.
  func readBesideWriter(_ store: any StoreUnderTest) throws {
    var random = SeededRandom(seed: plan.seed &+ 14)
    let count = state.filled
    try measure("a read alone", "µs") { end in
      var alone = Latencies()
      while alone.count < plan.readsAlone, Clocks.wall() < end { try readOne(store, random.below(count), &alone) }
      try add(alone, "a read alone", "µs", nanoseconds: 1e3)
    }
    let updates = takeRows(plan.batches(plan.batchesBeside, of: count, oneIn: 5) * plan.batchRows)
    try measure("a read beside a writer", "µs") { end in
      let isFinished = Atomic(false)
      let written = Mutex((count: 0, latencies: Latencies()))
      let (rows, perBatch) = (rows, plan.batchRows)
      let writer = RunningThread {
        defer { isFinished.store(true, ordering: .relaxed) }
        for first in stride(from: 0, to: updates.count, by: perBatch) where Clocks.wall() < end {
          let block = rows.block(Array(updates[first..<(first + perBatch)]), .updated)
          let start = Clocks.wall()
          try store.put(block, 0..<block.count, perTransaction: block.count)
          let time = Clocks.wall() - start
          written.withLock { written in
            written.count += block.count
            written.latencies.add(time)
          }
        }
        try store.settle()
      }
      var beside = Latencies()
      while !isFinished.load(ordering: .relaxed) { try readOne(store, random.below(count), &beside) }
      try writer.join()
      let (done, latencies) = written.withLock { ($0.count, $0.latencies) }
      noteUpdates(Array(updates[..<done]))
      if done < updates.count {
        try remark("a read beside a writer", "µs", "the writer was stopped at \(done) rows")
      }
      try add(beside, "a read beside a writer", "µs", nanoseconds: 1e3)
      try add(latencies, "a batch of updates beside a reader", "ms", nanoseconds: 1e6)
    }
  }

  /// Reads one row, which may have been updated or not.
  private func readOne(_ store: any StoreUnderTest, _ index: Int, _ latencies: inout Latencies) throws {
    let keys = rows.keys([index])
    let start = Clocks.wall()
    let sum = try store.sumOfValues(of: keys, 0..<1)
    latencies.add(Clocks.wall() - start)
    let isKnown = sum == rows.valueSum(index) || sum == rows.valueSum(index, .updated)
    try expect(isKnown, "\(kind.name) gave a value that nobody stored")
  }
}
