// The rows that read: warm, on the loaded store.

internal import Dispatch
internal import Synchronization

/// One read of everything, so that what is measured next finds it in memory; also proves that the store is right.
private func warm(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws {
  let loaded = try bench.loadedStore(kind)
  let found = try loaded.store.scan()
  try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
  _ = try loaded.store.sumOfValues(of: bench.keys, 0..<bench.keys.count)
}

var readRows: [BenchmarkRow] {
  [
    BenchmarkRow("random-get", unit: "ns", prepare: warm) { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let start = Clocks.thread()
      let total = try store.sumOfValues(of: bench.keys, 0..<bench.keys.count)
      let time = Clocks.thread() - start
      try expect(total == bench.loadedContents.sum, "\(kind.name) gave wrong values")
      return Sample(value: Double(time) / Double(bench.keys.count))
    },
    BenchmarkRow("multi-get", unit: "ns", prepare: warm) { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let start = Clocks.thread()
      let single = try store.sumOfValues(of: bench.keys, 0..<bench.keys.count)
      let middle = Clocks.thread()
      let many = try store.sumOfManyValues(of: bench.keys, 0..<bench.keys.count)
      let end = Clocks.thread()
      try expect(single == bench.loadedContents.sum && many == single, "\(kind.name) gave wrong values")
      let (one, together) = (Double(middle - start), Double(end - middle))
      return Sample(value: together / Double(bench.keys.count), notes: [Note("× single get", together / one)])
    },
    BenchmarkRow("range-10", unit: "ns", prepare: warm) { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let ranges = bench.ranges
      let start = Clocks.thread()
      let total = try store.sumOfRanges(from: ranges.starts, 0..<ranges.starts.count, length: ranges.length)
      let time = Clocks.thread() - start
      // Rows that other measurements added stand between the ones that the answer was made from.
      let isUntouched = try bench.loadedStore(kind).contents == bench.loadedContents
      try expect(!isUntouched || total == ranges.expectedSum, "\(kind.name) gave wrong ranges")
      return Sample(value: Double(time) / Double(ranges.starts.count))
    },
    BenchmarkRow("scan", unit: "ns/row", prepare: warm) { bench, kind, _ in
      let loaded = try bench.loadedStore(kind)
      let start = Clocks.thread()
      let found = try loaded.store.scan()
      let time = Clocks.thread() - start
      try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
      return Sample(value: Double(time) / Double(found.count))
    },
    BenchmarkRow("threads-2", unit: "M/s", higherIsBetter: true, prepare: warm) { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let alone = try gets(threads: 1, bench, store)
      let together = try gets(threads: 2, bench, store)
      return Sample(
        value: together.perSecond / 1e6,
        notes: [
          Note("M/s alone", alone.perSecond / 1e6), Note("× alone", together.perSecond / alone.perSecond),
          Note("× alone by thread time", 2 * alone.threadTime / together.threadTime),
        ])
    },
  ]
}

/// Gets of `threads` threads at once, each on its own half of the keys in a read transaction of its own.
///
/// The time on the wall says what an app gets, and is worthless while something else uses the cores. The time of the
/// threads then still shows what they cost each other in the caches; it does not show them waiting.
private func gets(
  threads: Int, _ bench: Bench, _ store: any StoreUnderTest
) throws -> (perSecond: Double, threadTime: Double) {
  let keys = bench.keys
  let share = keys.count / 2
  let failure = Mutex<(any Error)?>(nil)
  let threadTime = Mutex(0)
  let start = Clocks.wall()
  DispatchQueue.concurrentPerform(iterations: threads) { thread in
    let start = Clocks.thread()
    do {
      _ = try store.sumOfValues(of: keys, (thread * share)..<((thread + 1) * share))
    } catch {
      failure.withLock { $0 = error }
    }
    let time = Clocks.thread() - start
    threadTime.withLock { $0 += time }
  }
  let time = Clocks.wall() - start
  if let error = failure.withLock({ $0 }) { throw error }
  let count = Double(threads * share)
  return (count / (Double(time) / 1e9), Double(threadTime.withLock { $0 }) / count)
}
