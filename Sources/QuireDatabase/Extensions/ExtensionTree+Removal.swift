// Storing and removing by bytes where they lie, and removing many entries at once.

internal import QuireStorage

extension ExtensionTree where Key == [UInt8] {
  /// Stores a value under `key`, as `put` does; both are bytes that somebody else holds. O(log n).
  public func put(_ value: RawSpan, for key: RawSpan) throws {
    try unsafe value.withUnsafeBytes { value in
      try unsafe key.withUnsafeBytes { key in
        guard case .stored(let tree) = backing, state.writer?.treeChanges == nil else {
          return try put(unsafe Array(value), for: unsafe Array(key))
        }
        try state.checkWriting()
        state.writer?.noteChange(of: owner)
        try state.wrapping { () throws(StorageError) in try unsafe state.put(SearchKey(key), value, in: tree) }
      }
    }
  }

  /// Removes the entries under `keys`, those that are there. O(log n) for each; neighbours in the tree go together, for
  /// a step each.
  public func remove(_ keys: ByteKeys) throws {
    guard case .stored(let tree) = backing, keys.count > 1 else {
      for index in 0..<keys.count { try remove(keys[index]) }
      return
    }
    try state.checkWriting()
    state.writer?.noteChange(of: owner)
    if state.writer?.treeChanges != nil {
      for index in 0..<keys.count { state.noteChange(of: owner, inTree: name, keys[index]) }
    }
    var keys = keys
    keys.sort()
    do { try state.delete(keys, in: tree) } catch let error as StorageError {
      throw DatabaseError(error).inTree(name, of: extensionName)
    }
  }
}

extension StorageTransaction {
  /// Removes the entries of a tree of bytes under ascending keys, and returns how many there were. Keys that are
  /// neighbours in the tree, which a walk finds, are removed as a range; where walks find none they become rare.
  @discardableResult
  func delete(_ keys: ByteKeys, in tree: Tree) throws -> Int {
    assert(keys.isAscending, "keys are to be removed that are not in order")
    var (next, removed, singleCount) = (0, 0, Limits.rangeRemovalCount)
    while next < keys.count {
      var end = next
      if keys.count - next >= Limits.rangeRemovalCount { end += try neighbourCount(keys, from: next, in: tree) }
      if end - next >= Limits.rangeRemovalCount {
        let count = try deleteRange(from: keys[next], to: keys[end - 1] + [0], in: tree)
        assert(count == end - next, "a range has other entries than a walk has found")
        (next, removed, singleCount) = (end, removed + count, Limits.rangeRemovalCount)
        continue
      }
      end = min(max(end, next + singleCount), keys.count)
      singleCount *= 2
      while next < end {
        if try unsafe keys.withKey(next, { try unsafe delete(SearchKey($0), in: tree) }) { removed += 1 }
        next += 1
      }
    }
    return removed
  }

  /// How many keys from an index on are those of neighbours in a tree.
  private func neighbourCount(_ keys: ByteKeys, from first: Int, in tree: Tree) throws -> Int {
    var cursor = try cursor(tree)
    _ = try cursor.seek(keys[first])
    guard cursor.isOnEntry else { return 0 }
    lentCount &+= 1
    defer { lentCount &-= 1 }
    var next = first
    try cursor.forEach(limit: keys.count - first) { key, _ in
      guard next < keys.count, keys.isEqual(next, key) else { return false }
      next += 1
      return true
    }
    return next - first
  }
}
