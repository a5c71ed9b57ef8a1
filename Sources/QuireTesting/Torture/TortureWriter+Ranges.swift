// Range deletes of a history.

internal import QuireStorage

extension TortureWriter {
  /// Deletes a range, often a short one; returns about how many bytes that adds to the record.
  func deleteRange(_ tx: borrowing WriteTransaction, _ tree: Tree, _ draft: inout TortureDraft) throws -> Int {
    var range = random.nextRange(tree.keys)
    // Ranges between two keys of the universe take a third of it: a history would be deleting all the time.
    if random.below(4) > 0, let lower = range.lower {
      let rank = draft.state.rank(of: lower, in: tree.id)
      range.upper = draft.state.entry(at: rank + random.below(8), in: tree.id)?.key ?? range.upper
    }
    let expected = draft.state.count(in: range, of: tree.id)
    let count: Int
    do throws(StorageError) {
      count = try tx.removeRange(range, in: tree)
    } catch {
      // As in `change`.
      guard random.oneIn(2), error.code == .inputOutput, !system.disk.isPoweredOff else { throw error }
      isHalfDone = true
      return 0
    }
    draft.state.deleteAll(in: range, of: tree.id)
    try log.expect(count == expected, "a range delete removed \(count) entries of \(expected)")
    return (range.lower?.count ?? 0) + (range.upper?.count ?? 0) + 6
  }
}

extension WriteTransaction {
  /// Deletes a range of either kind of keys.
  fileprivate func removeRange(_ range: ModelRange, in tree: Tree) throws(StorageError) -> Int {
    if tree.keys == .int64 {
      switch (range.lower.flatMap(KeyUniverse.number), range.upper.flatMap(KeyUniverse.number)) {
      case (let lower?, let upper?): return try deleteRange(from: lower, to: upper, in: tree)
      case (let lower?, nil): return try deleteRange(from: lower, in: tree)
      case (nil, let upper?): return try deleteRange(to: upper, in: tree)
      case (nil, nil): return try deleteAll(in: tree)
      }
    }
    switch (range.lower, range.upper) {
    case (let lower?, let upper?): return try deleteRange(from: lower, to: upper, in: tree)
    case (let lower?, nil): return try deleteRange(from: lower, in: tree)
    case (nil, let upper?): return try deleteRange(to: upper, in: tree)
    case (nil, nil): return try deleteAll(in: tree)
    }
  }
}
