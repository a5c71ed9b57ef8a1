// Loading many rows at once.

public import QuireStorage

extension WritableRows {
  /// Stores many objects, each under its key, in the place of what was there: the same as a `set` for each in the order
  /// of the sequence, and faster. Keys may come in any order; of several rows with one key the last one counts.
  ///
  /// Rows are collected, up to 16 MiB of them or an eighth of the cache, and stored in the order of their keys. Where
  /// an extension follows the collection, or a sanitizer is set, each row is stored as by `set`, and hooks see the same
  /// changes. Numbers of rows ascend in the order of the sequence; those that were reserved for keys that had a row
  /// already are passed over.
  ///
  /// The sequence and the coders may read: they find rows of the load once their batch is stored. They must not change
  /// rows.
  ///
  /// An error leaves the rows before it stored; throw it out of the transaction, or run the load in a savepoint, to
  /// take them back.
  ///
  /// - Parameters:
  ///   - rows: keys and objects.
  ///   - progress: called after each batch with the rows stored so far, on the calling thread; what it throws ends the
  ///     load. So does cancelling the task that awaits the write, after a batch, with or without it.
  /// - Returns: how many rows the collection has more than before.
  /// - Throws: as `set(_:metadata:for:)`; `transactionFailed` if the sequence or a coder changes rows; what `progress`
  ///   throws.
  @inlinable @discardableResult
  public func load(
    _ rows: some Sequence<(String, Object)>, progress: ((StorageProgress) throws -> Void)? = nil
  ) throws -> Int {
    try load(rows, batchByteCount: nil, progress) { ($0.0, $0.1, nil) }
  }

  /// Stores many objects with metadata; a row whose metadata are nil has none afterwards. Else as in the other form.
  @inlinable @discardableResult
  public func load(
    _ rows: some Sequence<(String, Object, Metadata?)>, progress: ((StorageProgress) throws -> Void)? = nil
  ) throws -> Int {
    try load(rows, batchByteCount: nil, progress) { $0 }
  }

  /// Stores many objects that all have metadata. Else as in the other forms.
  @inlinable @discardableResult
  public func load(
    _ rows: some Sequence<(String, Object, Metadata)>, progress: ((StorageProgress) throws -> Void)? = nil
  ) throws -> Int {
    try load(rows, batchByteCount: nil, progress) { ($0.0, $0.1, $0.2) }
  }

  /// Either form, with batches of any size.
  @inlinable func load<Element>(
    _ rows: some Sequence<Element>, batchByteCount: Int?, _ progress: ((StorageProgress) throws -> Void)?,
    _ parts: (Element) -> (String, Object, Metadata?)
  ) throws -> Int {
    let load = try RowLoad(
      handle.rows, expectedCount: rows.underestimatedCount, batchByteCount: batchByteCount, progress)
    for element in rows {
      let (key, object, metadata) = parts(element)
      if load.storesOneByOne {
        try set(object, metadata: metadata, for: key)
        try load.noteStored()
      } else {
        try unsafe withUnsafePointer(to: object) { object in
          guard let metadata else { return try unsafe load.add(key, UnsafeRawPointer(object), nil) }
          try unsafe withUnsafePointer(to: metadata) { metadata in
            try unsafe load.add(key, UnsafeRawPointer(object), UnsafeRawPointer(metadata))
          }
        }
      }
    }
    return try load.finish()
  }
}
