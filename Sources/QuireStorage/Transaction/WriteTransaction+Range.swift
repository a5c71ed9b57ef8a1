// Deleting many entries at once.

extension WriteTransaction {
  /// Removes the entries whose keys are at least `lower` and below `upper`, and returns how many there were.
  ///
  /// ```swift
  /// try tx.deleteRange(from: "album/17/", to: "album/17/~", in: songs)
  /// ```
  ///
  /// Edits two pages for each level of the tree. What lies between goes by whole subtrees: their branch pages are
  /// read, one for a hundred leaves or so, and their leaves are not. The log takes the two bounds. Nothing is removed
  /// if `upper` is not above `lower`; the bounds need not be keys of the tree, and may be longer than a key may be.
  ///
  /// - Throws: `treeMismatch` and `noSuchTree` without having changed anything; `damagedPage`, `truncatedFile`,
  ///   `inputOutput` and `limitReached`, after which the transaction can only be rolled back, to a savepoint or as a
  ///   whole.
  @inlinable @discardableResult
  public func deleteRange<Key: StorageKey & ~Escapable>(
    from lower: Key, to upper: Key, in tree: Tree
  ) throws(StorageError) -> Int {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try lower.withSearchKey { (lower) throws(StorageError) in
      try upper.withSearchKey { (upper) throws(StorageError) in try deleteRange(lower, upper, in: tree) }
    }
  }

  /// Removes the entries whose keys are at least `lower`, and returns how many there were. Cost and errors as above.
  @inlinable @discardableResult
  public func deleteRange<Key: StorageKey & ~Escapable>(from lower: Key, in tree: Tree) throws(StorageError) -> Int {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try lower.withSearchKey { (lower) throws(StorageError) in try deleteRange(lower, nil, in: tree) }
  }

  /// Removes the entries whose keys are below `upper`, and returns how many there were. Cost and errors as above.
  @inlinable @discardableResult
  public func deleteRange<Key: StorageKey & ~Escapable>(to upper: Key, in tree: Tree) throws(StorageError) -> Int {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    return try upper.withSearchKey { (upper) throws(StorageError) in try deleteRange(nil, upper, in: tree) }
  }

  /// Removes the entries whose keys are in `range`, and returns how many there were. Cost and errors as above.
  @inlinable @discardableResult
  public func deleteRange<Key: StorageKey>(_ range: Range<Key>, in tree: Tree) throws(StorageError) -> Int {
    try deleteRange(from: range.lowerBound, to: range.upperBound, in: tree)
  }

  /// Removes all entries of a tree, which stays, and returns how many there were. Reads the tree's branch pages; errors
  /// as above.
  @discardableResult
  public func deleteAll(in tree: Tree) throws(StorageError) -> Int { try deleteRange(nil, nil, in: tree) }
}
