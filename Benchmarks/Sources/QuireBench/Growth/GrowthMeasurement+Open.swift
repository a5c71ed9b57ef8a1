// Opening: after a clean close, and after the process was killed.

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

extension GrowthMeasurement {
  /// All that goes on with the rows of one random filling.
  func measureRandomRows(_ parts: Set<GrowthPart>) throws {
    var store = try open()
    try add("cache", "MiB", Double(plan.options.cacheSize) / 1_048_576, .notes)
    try fillAtRandom(store)
    if state.filled == 0 { throw StoreFailure(description: "\(kind.name): not one batch was stored in time") }
    if parts.contains(.read) { try read(store) }
    if parts.contains(.beside) { try readBesideWriter(store) }
    if parts.contains(.update) { try update(store) }
    if parts.contains(.remove) { try remove(store) }
    try verify(store, "after all that was done")
    try addMemory()
    try measure("closing", "ms") { _ in
      let start = Clocks.wall()
      try store.close()
      try add("closing", "ms", Double(Clocks.wall() - start) / 1e6)
    }
    try addSize("files, closed after updates and removals")
    if parts.contains(.opening) {
      for _ in 0..<plan.openings {
        store = try openAndGet("opening after a clean close", state.filled - 1)
        try store.close()
      }
    }
    try writeState()
  }

  /// Opens the store and reads the first row from a key on: the key's own may have been removed.
  private func openAndGet(_ row: String, _ index: Int) throws -> any StoreUnderTest {
    let keys = rows.keys([index])
    var opened: (any StoreUnderTest)?
    try measure(row, "ms") { _ in
      let start = Clocks.wall()
      let store = try open()
      _ = try store.sumOfRanges(from: keys, 0..<1, length: 1)
      try add(row, "ms", Double(Clocks.wall() - start) / 1e6)
      opened = store
    }
    guard let opened else { throw StoreFailure(description: "\(kind.name) was not opened") }
    return opened
  }

  /// Puts new rows in batches into a store that was closed, and is killed before it can close it.
  func putAndDie(_ before: GrowthState) throws {
    state = before
    let store = try open()
    try measure("batches before a crash", "µs/row") { end in
      let batches = plan.batches(plan.batchesBeforeCrash, of: state.filled, oneIn: 5)
      for batch in 0..<batches where Clocks.wall() < end {
        let block = rows.block(addedRows(batch * plan.batchRows, plan.batchRows))
        try store.put(block, 0..<block.count, perTransaction: block.count)
        state.added += block.count
      }
    }
    try log.write(.state(state))
    kill(getpid(), SIGKILL)
  }

  /// Opens a store that was not closed, and finds everything there.
  func recover(_ before: GrowthState) throws {
    state = before
    contents = before.contents
    contents.add(rows.contents(addedRows(0, before.added)))
    let store = try openAndGet("opening after a crash", plan.count)
    try add("opening after a crash, rows put before it", "rows", Double(before.added), .notes)
    try verify(store, "after a crash")
    try store.close()
  }

  /// Rows beyond those that the filling was to have.
  private func addedRows(_ first: Int, _ count: Int) -> Range<Int> {
    (plan.count + first)..<(plan.count + first + count)
  }
}
