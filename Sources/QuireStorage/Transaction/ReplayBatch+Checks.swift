// What a log is not believed: trees, keys and lengths that no transaction could have logged. Every operation is checked
// before it changes anything.

extension ReplayBatch {
  func unreplayable(_ what: String) -> StorageError {
    StorageError(.damagedLog, "A log record \(what). \(StorageError.restoring)")
  }

  /// Where the tree is in the context's trees.
  func existingIndex(of id: TreeID) throws(StorageError) -> Int {
    guard let index = context.search(id) else { throw unreplayable("names \(id), which is not there") }
    return index
  }

  /// The key, if it is of the tree's kind.
  func checkedKey(_ key: LogOperation.SearchKeyBytes, _ index: Int) throws(StorageError) -> SearchKey {
    switch (key, context.trees[index].keyKind) {
    case (.bytes(let bytes), .bytes): return SearchKey(bytes)
    case (.int64(let key), .int64): return SearchKey(key)
    default: throw unreplayable("has a key of the wrong kind")
    }
  }

  /// What no transaction could have logged would not fit the pages either.
  func checkLengths(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    guard key.count <= context.limits.keyByteCount, value.count <= Limits.valueByteCount else {
      throw unreplayable("has an entry that is too long")
    }
  }

  /// Makes the tree that an operation of the log makes.
  func createTree(_ id: TreeID, _ kind: KeyKind, _ name: UnsafeRawBufferPointer) throws(StorageError) {
    guard id.rawValue >= context.treeIDCounter, id.rawValue < Limits.treeID else {
      throw unreplayable("creates \(id), which is not new")
    }
    // A name that the catalog could not hold would be accepted now and refused at the next opening.
    guard let name = String(validating: name, as: UTF8.self), !name.isEmpty, context.names.id(of: name) == nil else {
      throw unreplayable("gives \(id) a name that is not one, or that is taken")
    }
    context.addTree(id, kind, name: name)
  }

  /// Applies a range delete of the log.
  func deleteRange(
    _ id: TreeID, _ lower: LogOperation.SearchKeyBytes?, _ upper: LogOperation.SearchKeyBytes?
  ) throws(StorageError) {
    try context.enter()
    let index = try existingIndex(of: id)
    var keys: [SearchKey?] = [nil, nil]
    for (end, key) in [lower, upper].enumerated() {
      guard let key else { continue }
      let bound = try checkedKey(key, index)
      // What no transaction could have logged.
      guard bound.count <= context.limits.keyByteCount + 1 else {
        throw unreplayable("has a range with a bound that is too long")
      }
      keys[end] = bound
    }
    if let lower = keys[0], let upper = keys[1] {
      let isInteger = context.trees[index].keyKind == .int64
      let isAscending =
        isInteger
        ? lower.integer < upper.integer : KeyOrder.compare(lower.base, lower.count, upper.base, upper.count) < 0
      guard isAscending else { throw unreplayable("has a range that ends before it begins") }
    }
    var deletion = RangeDeletion(context.editor)
    _ = try deletion.delete(from: keys[0], to: keys[1], in: &context.trees[index])
  }
}
