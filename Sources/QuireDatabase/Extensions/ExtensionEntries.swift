// The entries of extensions' trees, stored or in memory.

internal import QuireStorage

/// The entries of one tree of an extension in a transaction, wherever they are.
struct ExtensionEntries {
  let transaction: TransactionState
  let backing: ExtensionTreeBacking

  func count() throws(DatabaseError) -> Int {
    try transaction.check()
    switch backing {
    case .stored(let tree):
      return try transaction.wrapping { () throws(StorageError) in try transaction.count(of: tree) }
    case .memory(let place): return try transaction.forest().trees[place]?.count ?? 0
    case .missing: return 0
    }
  }

  func value<Key: ExtensionTreeKey>(_ key: Key) throws(DatabaseError) -> [UInt8]? {
    try transaction.check()
    switch backing {
    case .stored(let tree):
      return try transaction.wrapping { () throws(StorageError) in try storedValue(key, in: tree) }
    case .memory(let place): return try transaction.forest().trees[place]?.value(for: key.orderedBytes)
    case .missing: return nil
    }
  }

  private func storedValue<Key: ExtensionTreeKey>(_ key: Key, in tree: Tree) throws(StorageError) -> [UInt8]? {
    if let number = key.number { return try transaction.value(number, in: tree) }
    return try transaction.value(key.orderedBytes, in: tree)
  }

  func rank<Key: ExtensionTreeKey>(of key: Key) throws(DatabaseError) -> Int {
    try transaction.check()
    switch backing {
    case .stored(let tree):
      return try transaction.wrapping { () throws(StorageError) in
        if let number = key.number { return try transaction.rank(number, in: tree) }
        return try transaction.rank(key.orderedBytes, in: tree)
      }
    case .memory(let place): return try transaction.forest().trees[place]?.rank(of: key.orderedBytes) ?? 0
    case .missing: return 0
    }
  }

  func put<Key: ExtensionTreeKey>(
    _ value: [UInt8], for key: Key
  ) throws(DatabaseError) {
    try transaction.checkWriting()
    switch backing {
    case .stored(let tree):
      try transaction.wrapping { () throws(StorageError) in
        try unsafe value.withValueBytes { (bytes) throws(StorageError) in
          if let number = key.number { return try unsafe transaction.put(SearchKey(number), bytes, in: tree) }
          try key.orderedBytes.withSearchKey { (key) throws(StorageError) in
            try unsafe transaction.put(key, bytes, in: tree)
          }
        }
      }
    case .memory(let place):
      try transaction.changeForest { forest in
        _ = forest.trees[place, default: MemoryTree()].put(value, for: key.orderedBytes)
      }
    case .missing: throw transaction.notWriting()
    }
  }

  func remove<Key: ExtensionTreeKey>(_ key: Key) throws(DatabaseError) -> Bool {
    try transaction.checkWriting()
    switch backing {
    case .stored(let tree):
      return try transaction.wrapping { () throws(StorageError) in
        if let number = key.number { return try transaction.delete(SearchKey(number), in: tree) }
        return try key.orderedBytes.withSearchKey { (key) throws(StorageError) in try transaction.delete(key, in: tree)
        }
      }
    case .memory(let place):
      return try transaction.changeForest { forest in
        forest.trees[place, default: MemoryTree()].remove(key.orderedBytes)
      }
    case .missing: throw transaction.notWriting()
    }
  }

  func removeRange<Key: ExtensionTreeKey>(
    from lower: Key?, upTo upper: Key?
  ) throws(DatabaseError) -> Int {
    try transaction.checkWriting()
    switch backing {
    case .stored(let tree):
      return try transaction.wrapping { () throws(StorageError) in
        try transaction.deleteRange(lower?.orderedBytes, upper?.orderedBytes, isNumber: Key.isNumber, in: tree)
      }
    case .memory(let place):
      return try transaction.changeForest { forest in
        forest.trees[place]?.removeRange(from: lower?.orderedBytes, upTo: upper?.orderedBytes) ?? 0
      }
    case .missing: throw transaction.notWriting()
    }
  }
}

extension TransactionState {
  /// The trees in memory as the transaction sees them.
  func forest() throws(DatabaseError) -> MemoryForest {
    try check()
    if let loadedForest { return loadedForest }
    let found = isWriting ? database.memory.newest : database.memory.forest(at: csn)
    loadedForest = found
    return found
  }

  /// Changes the trees in memory.
  @discardableResult
  func changeForest<Result>(_ body: (inout MemoryForest) -> Result) throws(DatabaseError) -> Result {
    guard let writer else { throw notWriting() }
    _ = try forest()
    var changed: MemoryForest?
    // Out of its place, so that the copies inside are the only ones and change in place.
    swap(&changed, &loadedForest)
    defer { swap(&changed, &loadedForest) }
    writer.hasChangedForest = true
    guard var current = changed.take() else { throw notWriting() }
    let result = body(&current)
    changed = current
    return result
  }
}
