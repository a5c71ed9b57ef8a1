// Loading many entries at once: collected, sorted, merged, and written from the bottom up.

/// How a bulk load works.
public struct BulkLoadOptions: Sendable {
  /// The memory for entries that wait to be sorted, in bytes; nil for five eighths of the cache, in whose budget it
  /// counts in any case, and 64 MiB at least. What is beyond goes to a temporary file beside the database, which needs
  /// as much room on the disk as the entries.
  public var bufferByteCount: Int?
  /// How much of each leaf is used, from 0.5 to 1. Full leaves make the smallest file; leave room if keys will be put
  /// between these.
  public var leafFill: Double

  /// Options; what is left out suits most.
  public init(bufferByteCount: Int? = nil, leafFill: Double = 1) {
    self.bufferByteCount = bufferByteCount
    self.leafFill = leafFill
  }
}

/// Takes the entries of a bulk load, in any order. See `WriteTransaction.bulkLoad`.
public struct BulkLoader: ~Copyable {
  private let load: BulkLoad

  init(_ load: BulkLoad) { self.load = load }

  /// The number of entries so far.
  public var count: Int { load.count }

  /// Takes an entry; the kind of the key has been checked.
  @usableFromInline package func append(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    try load.append(key, value)
  }

  /// The kind of the tree's keys.
  @usableFromInline package var tree: Tree { load.tree }

  /// Adds an entry. Of several with one key the last one counts. Copies the bytes, those of a very long value to the
  /// temporary file at once.
  ///
  /// - Throws: `keyTooLong`, `valueTooLong`, `treeMismatch`; `diskFull` and `inputOutput` from the temporary file. The
  ///   tree has not been changed then.
  @inlinable public func append<Key: StorageKey & ~Escapable, Value: StorageValue & ~Escapable>(
    _ value: Value, for key: Key
  ) throws(StorageError) {
    guard Key.keyKind == tree.keys else { throw tree.mismatch() }
    try key.withSearchKey { (key) throws(StorageError) in
      try value.withValueBytes { (value) throws(StorageError) in try append(key, value) }
    }
  }
}

extension WriteTransaction {
  /// Loads many entries into a tree, much faster than by putting them one by one.
  ///
  /// ```swift
  /// try tx.bulkLoad(into: songs) { loader in
  ///   for song in library { try loader.append(song.data, for: song.id) }
  /// }
  /// ```
  ///
  /// `body` hands the entries over in any order; an entry replaces what the tree has under its key. They are sorted in
  /// memory, with a temporary file where that is not enough, and an empty tree is then built from the bottom up, each
  /// page once and full; in a tree that has entries, each leaf that they fall into is written anew once. The tree
  /// changes only after `body` has returned.
  ///
  /// More than a MiB of entries is not logged: the transaction is committed by writing its pages home, which takes
  /// three syncs where other commits take one. Values that are too long for a page go to pages of their own when the
  /// tree is written.
  ///
  /// - Parameters:
  ///   - tree: where the entries go.
  ///   - options: memory, and how full leaves get.
  ///   - progress: called now and then while the tree is written, with the entries written and collected; those that
  ///     others with the same key replaced are never written. An error that it throws stops the load.
  ///   - body: appends the entries. An error that it throws stops the load, and nothing has changed.
  /// - Returns: how many entries the tree has more than before.
  /// - Throws: what `body` and `progress` throw; `noSuchTree`; as `put` does, and then, as after an error of
  ///   `progress`, the transaction can only be rolled back, to a savepoint or as a whole.
  @discardableResult
  public func bulkLoad(
    into tree: Tree, options: BulkLoadOptions = BulkLoadOptions(),
    progress: ((StorageProgress) throws -> Void)? = nil, _ body: (borrowing BulkLoader) throws -> Void
  ) throws -> Int {
    let load = try beginLoad(into: tree, options)
    try body(BulkLoader(load))
    return try finishLoad(load, progress)
  }
}
