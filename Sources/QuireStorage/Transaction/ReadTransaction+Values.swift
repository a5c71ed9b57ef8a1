// Looking many keys up at once.

extension ReadTransaction {
  /// Looks the keys of a batch up and lends what it found, until `endLoans`.
  @usableFromInline package func lend(_ batch: borrowing LookupBatch, in tree: Tree) throws(StorageError) {
    enter()
    defer { leave() }
    guard let index = snapshot.index(of: tree.id, hint: tree.hint) else { throw tree.missing() }
    try reader.lookUp(batch, in: snapshot.trees[index])
    if lendsCopies { batch.copyValues() } else { slots._withUnsafeGuaranteedRef { $0.beginLoan(slot) } }
  }

  /// Takes back what a batch was lent.
  @usableFromInline package func endLoans(_ batch: borrowing LookupBatch) {
    if lendsCopies { batch.freeCopies() } else { slots._withUnsafeGuaranteedRef { $0.endLoan(slot) } }
  }

  /// Calls `body` for each of `keys`, in their order, with its index and the value stored under it, or nil.
  ///
  /// ```swift
  /// try tx.withValues(for: rowIDs, in: rows) { index, value in print(index, value?.byteCount ?? 0) }
  /// ```
  ///
  /// Takes a fraction of the time of as many single lookups where the tree is larger than the processor's caches: 16
  /// descents are under way at a time, so that they wait for memory together. Touches one page per level for each key,
  /// copies no value and allocates nothing per key as long as memory is not short, but for values that are too long for
  /// a page: these are read from the file, one at a time. The order of the keys does not matter. The bytes are valid
  /// until `body` returns, which may read on.
  ///
  /// - Throws: `noSuchTree`, `treeMismatch`, `damagedPage`, `truncatedFile`, `inputOutput`, and what `body` throws;
  ///   `body` may have been called for some of the keys then.
  @inlinable public func withValues<Key: StorageKey>(
    for keys: [Key], in tree: Tree, _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    try withValues(count: keys.count, in: tree, { keys[$0] }, body)
  }

  /// Calls `body` for each of `count` keys, with its index and the value stored under it, or nil; `key` gives the key
  /// of an index, and may be called some time ahead. Otherwise as above, for keys that are in no array.
  @inlinable public func withValues<Key: StorageKey>(
    count: Int, in tree: Tree, _ key: (Int) throws -> Key, _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    var batch = LookupBatch(tree.keys)
    var first = 0
    while first < count {
      batch.removeAll()
      while !batch.isFull, first &+ batch.count < count {
        try key(first &+ batch.count).withSearchKey { (key) throws(StorageError) in batch.add(key) }
      }
      try lend(batch, in: tree)
      defer { endLoans(batch) }
      for lane in 0..<batch.count {
        guard let value = batch.value(lane) else {
          try body(first &+ lane, nil)
          continue
        }
        let bytes = value.isExtent ? try longValue(value, nil) : ValueBytes(value)
        defer { bytes.deallocate() }
        try body(first &+ lane, RawSpan(_unsafeStart: bytes.base, byteCount: bytes.count))
      }
      first &+= batch.count
    }
  }

  /// The values stored under `keys`, copied, in their order; nil for a key that is not there. Cost and errors as in
  /// `withValues`.
  @inlinable public func values<Key: StorageKey>(for keys: [Key], in tree: Tree) throws -> [[UInt8]?] {
    var values: [[UInt8]?] = []
    values.reserveCapacity(keys.count)
    try withValues(for: keys, in: tree) { _, value in
      guard let value else { return values.append(nil) }
      values.append(value.withUnsafeBytes { [UInt8]($0) })
    }
    return values
  }
}
