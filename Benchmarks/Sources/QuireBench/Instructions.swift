// One measured section, run once between two marks that a profiler can find: see `count-instructions`.

/// Loads `kind`, gets every key once and returns how many there were.
func measuredGets(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws -> Int {
  let store = try bench.loadedStore(kind).store
  let total = try measuredSection(store, bench.keys)
  try expect(total == bench.loadedContents.sum, "\(kind.name) gave wrong values")
  return bench.keys.count
}

/// The section itself. Its name is what the profiler waits for, so it must stay a function of its own.
@inline(never)
private func measuredSection(_ store: any StoreUnderTest, _ keys: KeyList) throws -> UInt64 {
  try store.sumOfValues(of: keys, 0..<keys.count)
}
