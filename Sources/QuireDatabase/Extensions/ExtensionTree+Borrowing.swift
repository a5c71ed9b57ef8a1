// Reading the trees of extensions without a copy, and many keys at once.

internal import QuireStorage

extension ExtensionTree {
  /// Calls `body` with the value under `key` where it lies, good until `body` returns; nil if there is none. O(log n),
  /// without a copy unless the value is too long for a page.
  ///
  /// - Throws: also what `body` throws. `body` may read, and change nothing.
  public func withValue<Result>(for key: Key, _ body: (RawSpan) throws -> Result) throws -> Result? {
    try state.check()
    noteRead(key)
    switch backing {
    case .stored(let tree):
      return try namingErrors {
        if let number = key.number { return try state.withValue(number, in: tree, body) }
        return try state.withValue(key.orderedBytes, in: tree, body)
      }
    case .memory(let place):
      guard let value = try state.forest().trees[place]?.value(for: key.orderedBytes) else { return nil }
      return try unsafe body(value.span.bytes)
    case .missing: return nil
    }
  }

  /// Calls `body` for each of `keys`, in their order, with its index and the value under it, or nil: descents side by
  /// side, in a fraction of the time of as many calls of `withValue`. The bytes are good until `body` returns.
  ///
  /// - Throws: also what `body` throws, which may have been called for some of the keys then.
  public func withValues(for keys: [Key], _ body: (Int, RawSpan?) throws -> Void) throws {
    try state.check()
    if state.recorder != nil { for key in keys { noteRead(key) } }
    switch backing {
    case .stored(let tree):
      try namingErrors {
        if Key.isNumber {
          try state.withValues(count: keys.count, in: tree, { keys[$0].number ?? 0 }, body)
        } else {
          try state.withValues(count: keys.count, in: tree, { keys[$0].orderedBytes }, body)
        }
      }
    case .memory(let place):
      let memory = try state.forest().trees[place]
      for (index, key) in keys.enumerated() {
        guard let value = memory?.value(for: key.orderedBytes) else {
          try body(index, nil)
          continue
        }
        try unsafe body(index, value.span.bytes)
      }
    case .missing: for index in keys.indices { try body(index, nil) }
    }
  }

  /// Has the engine's errors name the tree.
  private func namingErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StorageError {
      throw DatabaseError(error).inTree(name, of: extensionName)
    }
  }
}

extension ExtensionCursor {
  /// Calls `body` with key and value of the entry where they lie, good until `body` returns; nil if the cursor is on
  /// none. The key's bytes are those of `orderedBytes`. Allocates nothing, unless the value is too long for a page.
  ///
  /// - Throws: also what `body` throws. `body` may read, and change nothing.
  public func withEntry<Result>(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Result) throws -> Result? {
    try withBorrowedEntry(body)
  }

  /// Calls `body` with key and value of the entry where they lie, as `withEntry` does, and returns whether there is an
  /// entry. For walks over many entries: it is not generic, and so asks the runtime for no type.
  ///
  /// - Throws: also what `body` throws. `body` may read, and change nothing.
  public func lendEntry(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void) throws -> Bool { try lend(body) }
}

extension StorageTransaction {
  /// Calls `body` with the value under a key of bytes, however long it is.
  func withValue<Result>(_ key: [UInt8], in tree: Tree, _ body: (RawSpan) throws -> Result) throws -> Result? {
    switch storage {
    case .reading(let tx): return unsafe try tx.pointee.withValue(for: key, in: tree, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      return unsafe try tx.pointee.withValue(for: key, in: tree, body)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Calls `body` for each of `count` keys of bytes, with descents side by side.
  func withValues(
    count: Int, in tree: Tree, _ key: (Int) throws -> [UInt8], _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.withValues(count: count, in: tree, key, body)
    case .writing(let tx):
      lentCount &+= 1
      defer { lentCount &-= 1 }
      unsafe try tx.pointee.withValues(count: count, in: tree, key, body)
    case .ended: throw StorageHandle.unfit()
    }
  }
}
