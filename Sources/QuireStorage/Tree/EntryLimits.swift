// How long keys and values may be.

/// The longest entries of a database, which depend on the size of its pages.
struct EntryLimits {
  /// The most bytes of a key.
  let keyByteCount: Int
  /// The most bytes of an entry that stands in a leaf: a longer value goes to an extent.
  let entryByteCount: Int

  init(pageSize: Int) {
    keyByteCount = Limits.keyByteCount(pageSize: pageSize)
    entryByteCount = Limits.entryByteCount(pageSize: pageSize)
  }

  /// Throws if an entry is longer than the engine stores.
  @inline(__always) func check(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    if key.count > keyByteCount { throw keyTooLong(key) }
    if value.count > Limits.valueByteCount { throw valueTooLong(value) }
  }

  /// Whether the value does not fit beside the key, and goes to an extent.
  @inline(__always) func isLong(_ key: SearchKey, _ value: UnsafeRawBufferPointer) -> Bool {
    key.count &+ value.count > entryByteCount
  }

  @inline(never) private func keyTooLong(_ key: SearchKey) -> StorageError {
    StorageError(.keyTooLong, "The key has \(key.count) bytes; the longest has \(keyByteCount). Shorten or hash it.")
  }

  @inline(never) private func valueTooLong(_ value: UnsafeRawBufferPointer) -> StorageError {
    StorageError(
      .valueTooLong,
      """
      The value has \(value.count) bytes; the longest has \(Limits.valueByteCount). Divide it among several entries.
      """)
  }
}
