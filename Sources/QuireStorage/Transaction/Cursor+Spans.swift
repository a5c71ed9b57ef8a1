// Going from one span of keys to the next: what the leaf at hand holds is found there, without a way down the tree.

extension Cursor {
  /// Goes forwards to `key`, or to the first entry above it; stays where it is if that is above already. A new cursor
  /// begins at the first entry. A descent only where the leaf at hand does not hold the place.
  ///
  /// - Parameters:
  ///   - key: not below one that the cursor was sent to before.
  ///   - look: is given the key of the entry that the cursor is on then. Its bytes are good until it returns.
  /// - Returns: What `look` returns; nil behind the last entry.
  /// - Throws: as `seek`, and what `look` throws.
  package mutating func advance<Result>(
    to key: UnsafeRawBufferPointer, _ look: (RawSpan) throws -> Result
  ) throws -> Result? {
    guard tree.keys == .bytes else { throw tree.mismatch() }
    try enter()
    defer { leave() }
    try state.pointee.path.advance(to: SearchKey(key))
    standing = []
    guard let (page, index) = state.pointee.path.entry else { return nil }
    beginLoan()
    defer { endLoan() }
    let found = self.key(page, index)
    return try look(RawSpan(_unsafeStart: found.base, byteCount: found.count))
  }

  /// Calls `body` with the key of the current entry and of those behind it that are below `upper`, until it returns
  /// false; nil stands for no bound. Where these end is looked for once in each leaf. Then the cursor is on the first
  /// entry that `body` was not given, or in front of it if it cannot be read, as after `forEachValue`.
  ///
  /// - Parameter body: as that of `forEachValue`.
  /// - Returns: Whether `body` has not returned false.
  package mutating func forEachKey(
    below upper: UnsafeRawBufferPointer?, _ body: (RawSpan) throws -> Bool
  ) throws -> Bool {
    guard tree.keys == .bytes else { throw tree.mismatch() }
    while let (page, indices, isLast) = try lendKeys(below: upper) {
      // The prefix is that of all keys of the leaf.
      let prefixCount = page.prefixCount
      if prefixCount > 0 { keyBuffer.copyMemory(from: page.prefix, byteCount: prefixCount) }
      var done = 0
      var goesOn = true
      do {
        while goesOn, done < indices.count {
          let count = page.copyLeafKey(indices.lowerBound &+ done, behindPrefixAt: keyBuffer)
          goesOn = try body(RawSpan(_unsafeStart: UnsafeRawPointer(keyBuffer), byteCount: count))
          done &+= 1
          if canBeInvalidated { try checkWriter() }
        }
      } catch {
        // Of two errors the first one is told.
        try? takeKeysBack(done)
        throw error
      }
      try takeKeysBack(done)
      if !goesOn { return false }
      if isLast { return true }
    }
    return true
  }

  /// Steps over the entries below `upper` as far as the leaf at hand has them.
  ///
  /// - Returns: How many; nil, and the cursor stays, if the leaf does not tell where they end.
  package mutating func skipInLeaf(below upper: UnsafeRawBufferPointer) throws(StorageError) -> Int? {
    guard tree.keys == .bytes else { throw tree.mismatch() }
    try enter()
    defer { leave() }
    guard let (page, indices) = try state.pointee.path.runGoingOn() else { return 0 }
    let key = SearchKey(upper)
    if page.isBelow(key) { return nil }
    let count = page.leafSearch(key).index - indices.lowerBound
    if count <= 0 { return 0 }
    _ = try state.pointee.path.skip(count)
    standing = []
    return count
  }

  /// Lends the leaf of the current entry until `takeKeysBack`, with the places of some of the entries that are below
  /// `upper`, from the current one on; nil, and nothing is lent, if there are none.
  private mutating func lendKeys(
    below upper: UnsafeRawBufferPointer?
  ) throws(StorageError) -> (page: PageBytes, indices: Range<Int>, isLast: Bool)? {
    try enter()
    defer { leave() }
    guard let (page, indices) = try runFromHere() else { return nil }
    var (end, isLast) = (indices.upperBound, false)
    if let upper, case let key = SearchKey(upper), !page.isBelow(key) {
      (end, isLast) = (page.leafSearch(key).index, true)
    }
    if end <= indices.lowerBound { return nil }
    standing = []
    if end - indices.lowerBound > Self.runCapacity { (end, isLast) = (indices.lowerBound + Self.runCapacity, false) }
    // All cells are asked for before the first is looked at: they come side by side rather than one by one.
    for index in indices.lowerBound..<end { page.prefetchCell(index, lines: 1) }
    beginLoan()
    return (page, indices.lowerBound..<end, isLast)
  }

  /// Ends the loan of a leaf, of which `done` keys are done: the cursor goes to the one behind them.
  private mutating func takeKeysBack(_ done: Int) throws(StorageError) {
    endLoan()
    try pass(done)
  }
}
