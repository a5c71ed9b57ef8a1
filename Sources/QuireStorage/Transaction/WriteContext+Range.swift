// Range deletes of the running transaction, and of a log that is replayed.

extension WriteContext {
  /// Removes every entry from `lower` on and below `upper`; nil leaves an end open. Returns how many there were.
  package func deleteRange(
    from lower: SearchKey?, to upper: SearchKey?, in tree: Tree
  ) throws(StorageError) -> Int {
    try checkUsable()
    let index = try settledIndex(of: tree)
    do throws(StorageError) { try enter() } catch { throw fail(error) }
    let before = log.position
    let copy = log.deleteRange(tree.id, tree.keys, from: lower.map(shortened), to: upper.map(shortened))
    mutations &+= 1
    do throws(StorageError) {
      var deletion = RangeDeletion(editor)
      let count = try deletion.delete(from: copy.lower, to: copy.upper, in: &trees[index])
      if count == 0 { log.truncate(to: before) } else { hasRemoved = true }
      return count
    } catch {
      throw fail(error)
    }
  }

  /// A bound that orders with all possible keys as `key` does, and is at most one byte longer than they are.
  private func shortened(_ key: SearchKey) -> SearchKey {
    key.count <= keyLimit ? key : SearchKey(base: key.base, count: keyLimit + 1)
  }

  /// Applies a range delete of the log.
  func replayRange(
    _ id: TreeID, _ lower: LogOperation.SearchKeyBytes?, _ upper: LogOperation.SearchKeyBytes?
  ) throws(StorageError) {
    let index = try replayIndex(id)
    var keys: [SearchKey?] = [nil, nil]
    for (end, key) in [lower, upper].enumerated() {
      guard let key else { continue }
      let bound = try replayKey(key, index)
      // What no transaction could have logged.
      guard bound.count <= keyLimit + 1 else { throw unreplayable("has a range with a bound that is too long") }
      keys[end] = bound
    }
    if let lower = keys[0], let upper = keys[1] {
      let isInteger = trees[index].keyKind == .int64
      let isAscending =
        isInteger
        ? lower.integer < upper.integer : KeyOrder.compare(lower.base, lower.count, upper.base, upper.count) < 0
      guard isAscending else { throw unreplayable("has a range that ends before it begins") }
    }
    var deletion = RangeDeletion(editor)
    _ = try deletion.delete(from: keys[0], to: keys[1], in: &trees[index])
  }
}
