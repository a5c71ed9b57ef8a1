// The rows that read on one thread: warm unless they say cold.

/// One read of everything, so that what is measured next finds it in memory; also proves that the store is right.
func warm(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws {
  let loaded = try bench.loadedStore(kind)
  let found = try loaded.store.scan()
  try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
  _ = try loaded.store.sumOfValues(of: bench.keys, bench.lookups)
}

var readRows: [BenchmarkRow] {
  [
    BenchmarkRow(
      .read, "count", unit: "µs", "How many rows there are, exactly.", prepare: warm
    ) { bench, kind, _ in
      let loaded = try bench.loadedStore(kind)
      var count = 0
      let time = try microseconds { count = try loaded.store.count() }
      try expect(count == loaded.contents.count, "\(kind.name) counts \(count) rows")
      return Sample(value: time)
    },
    BenchmarkRow(
      .read, "random-get", unit: "ns", "Gets in random order, in one read transaction.", prepare: warm
    ) { bench, kind, _ in
      let store = try bench.loadedStore(kind).store
      let (total, time) = try timed { try store.sumOfValues(of: bench.keys, bench.lookups) }
      try expect(total == bench.lookupSum, "\(kind.name) gave wrong values")
      return Sample(value: time / Double(bench.lookups.count))
    },
    BenchmarkRow(
      .read, "multi-get", unit: "ns", "The same by the call for many keys at once, where the store has one.",
      prepare: warm, measure: measureMultiGet),
    BenchmarkRow(
      .read, "range-10", unit: "ns", "Ten rows in key order from a random key on.", prepare: warm
    ) { bench, kind, _ in
      let loaded = try bench.loadedStore(kind)
      let ranges = bench.ranges
      let (total, time) = try timed {
        try loaded.store.sumOfRanges(from: ranges.starts, 0..<ranges.starts.count, length: ranges.length)
      }
      // Rows that other measurements added stand between the ones that the answer was made from.
      let isUntouched = loaded.contents == bench.loadedContents
      try expect(!isUntouched || total == ranges.expectedSum, "\(kind.name) gave wrong ranges")
      return Sample(value: time / Double(ranges.starts.count))
    },
    BenchmarkRow(
      .read, "scan", unit: "ns/row", "All rows in key order.", prepare: warm
    ) { bench, kind, _ in
      let loaded = try bench.loadedStore(kind)
      let (found, time) = try timed { try loaded.store.scan() }
      try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
      return Sample(value: time / Double(found.count))
    },
    BenchmarkRow(
      .read, "cold-scan", unit: "ns/row",
      "All rows in key order, once the system has forgotten the files; on the wall, opening included.",
      measure: measureColdScan),
    BenchmarkRow(
      .read, "get-4k", unit: "ns", "Gets of values of 4 KiB in random order, in one read transaction.",
      prepare: { bench, kind in _ = try bench.loadedLargeStore(kind).store.scan() },
      measure: measureLargeGets),
  ]
}

/// The result of `body` and the nanoseconds that this thread was on a core for it.
private func timed<Result>(_ body: () throws -> Result) rethrows -> (Result, Double) {
  let start = Clocks.thread()
  let result = try body()
  return (result, Double(Clocks.thread() - start))
}

private func measureMultiGet(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let store = try bench.loadedStore(kind).store
  let (single, one) = try timed { try store.sumOfValues(of: bench.keys, bench.lookups) }
  let (many, together) = try timed { try store.sumOfManyValues(of: bench.keys, bench.lookups) }
  try expect(single == bench.lookupSum && many == single, "\(kind.name) gave wrong values")
  return Sample(
    value: together / Double(bench.lookups.count), notes: [Note("× single get", together / one)])
}

/// Closes the store, makes the system forget its files, opens it and reads everything. How much came from the disk is
/// noted: a system that forgets nothing shows there.
private func measureColdScan(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  var size = 0
  var fetched: Int?
  let (loaded, opening) = try bench.reopen(kind) { folder in
    size = byteCount(of: folder)
    try evictFiles(in: folder)
    try bench.provideMemory()
    fetched = ProcessCounters.bytesFetched()
  }
  let start = Clocks.wall()
  let found = try loaded.store.scan()
  let time = Clocks.wall() - start + opening
  try expect(found == loaded.contents, "\(kind.name) holds \(found) instead of \(loaded.contents)")
  let moved = difference(ProcessCounters.bytesFetched(), fetched)
  return Sample(
    value: Double(time) / Double(found.count),
    notes: [Note("MiB of files", Double(size) / 1_048_576)] + note("MiB from the disk", moved, per: 1 << 20))
}

private func measureLargeGets(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let loaded = try bench.loadedLargeStore(kind)
  let keys = bench.largeKeys
  let (total, time) = try timed { try loaded.store.sumOfValues(of: keys, 0..<keys.count) }
  try expect(total == loaded.contents.sum, "\(kind.name) gave wrong values")
  return Sample(value: time / Double(keys.count))
}
