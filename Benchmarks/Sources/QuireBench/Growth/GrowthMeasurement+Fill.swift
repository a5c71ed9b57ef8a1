// Filling stores: at random, in order, in one transaction; then updating and removing.

internal import Foundation

extension GrowthMeasurement {
  /// Fills the store with rows in random order.
  func fillAtRandom(_ store: any StoreUnderTest) throws {
    let name = "random insertion in batches"
    let done = try measureBatches(name, count: plan.count, of: store) {
      rows.block($0)
    } commit: { block in
      try store.put(block, 0..<block.count, perTransaction: block.count)
    }
    state.filled = done
    contents = rows.contents(0..<done)
    try addSize("files, after random insertion")
  }

  /// The same in the order of the keys, into a store that is verified and closed.
  func fillInOrder() throws {
    let store = try open()
    let name = "sorted insertion in batches"
    let done = try measureBatches(name, count: plan.count, of: store) { range in
      rows.sortedBlock(range, of: plan.count)
    } commit: { block in
      try store.put(block, 0..<block.count, perTransaction: block.count)
    }
    contents = rows.contents(0..<done)
    try addSize("files, after sorted insertion")
    try verify(store, name)
    try store.close()
  }

  /// Fills the store in one transaction, a put for each row.
  func fillInOneTransaction() throws {
    try load("load in one transaction") { store, next in
      try store.putInOneTransaction(next)
      return true
    }
  }

  /// The same by the store's own call for many rows, if it has one.
  func fillInBulk() throws {
    try load("load by a call for many rows") { store, next in try store.loadInAnyOrder(next) }
  }

  private func load(
    _ name: String, _ body: (any StoreUnderTest, () throws -> RowBlock?) throws -> Bool
  ) throws {
    let store = try open()
    let before = writtenBytesSoFar()
    var (made, makingTime, beginOfCommit, isSupported) = (0, 0, 0, true)
    var beginOfLastTenth: Int?
    try measure(name, "µs/row") { end in
      let start = Clocks.wall()
      var makingBeforeLastTenth = 0
      do {
        isSupported = try body(store) {
          let asked = Clocks.wall()
          guard made < plan.count else {
            beginOfCommit = asked
            return nil
          }
          guard asked < end else { throw TimeIsUp(time: asked - start - makingTime) }
          if made >= plan.count - plan.count / 10, beginOfLastTenth == nil {
            (beginOfLastTenth, makingBeforeLastTenth) = (asked, makingTime)
          }
          let block = rows.block(made..<min(made + plan.batchRows, plan.count))
          made += block.count
          makingTime += Clocks.wall() - asked
          return block
        }
      } catch let stop as TimeIsUp {
        let perRow = Double(stop.time) / Double(max(1, made)) / 1000
        return try remark(name, "µs/row", "stopped at \(made) rows: \(number(perRow)) so far")
      }
      guard isSupported else { return }
      let finished = Clocks.wall()
      contents = rows.contents(0..<made)
      try add(name, "µs/row", Double(finished - start - makingTime) / Double(made) / 1000)
      if let beginOfLastTenth {
        let time = beginOfCommit - beginOfLastTenth - (makingTime - makingBeforeLastTenth)
        let perRow = Double(time) / Double(max(1, plan.count / 10)) / 1000
        try add("\(name), last tenth without commit", "µs/row", perRow, .notes)
      }
      try add("\(name), its commit", "ms", Double(finished - beginOfCommit) / 1e6, .notes)
    }
    if isSupported, contents.count == plan.count {
      try measureDebt(name, store, rows: made, since: before)
      try addSize("files, after \(name)")
      try verify(store, name)
    }
    try store.close()
  }

  /// Updates rows at random, each once.
  func update(_ store: any StoreUnderTest) throws {
    var indices: [Int] = []
    let count = plan.batches(plan.batches, of: state.filled, oneIn: 4) * plan.batchRows
    _ = try measureBatches("update at random in batches", count: count, of: store) { range in
      indices = takeRows(range.count)
      return rows.block(indices, .updated)
    } commit: { block in
      try store.put(block, 0..<block.count, perTransaction: block.count)
    } note: { _ in
      noteUpdates(indices)
    }
  }

  /// Removes rows at random.
  func remove(_ store: any StoreUnderTest) throws {
    var indices: [Int] = []
    let count = plan.batches(plan.batches, of: state.filled, oneIn: 4) * plan.batchRows
    _ = try measureBatches("removal at random in batches", count: count, of: store) { range in
      indices = takeRows(range.count)
      return rows.block(indices)
    } commit: { block in
      try store.remove(block, 0..<block.count)
    } note: { block in
      contents.count -= block.count
      contents.sum &-= block.contents.sum
    }
  }
}

/// A transaction took longer than it may: it is rolled back.
private struct TimeIsUp: Error {
  /// Nanoseconds until then, without the making of rows.
  let time: Int
}
