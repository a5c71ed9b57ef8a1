// How long keys and values may be.

extension WriteContext {
  /// Throws if an entry is longer than the engine stores.
  @inline(__always) func checkLengths(_ key: SearchKey, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    if key.count > keyLimit { throw keyTooLong(key) }
    if value.count > Limits.valueByteCount { throw valueTooLong(value) }
  }

  /// Whether the value does not fit beside the key, and goes to an extent.
  @inline(__always) func isLong(_ key: SearchKey, _ value: UnsafeRawBufferPointer) -> Bool {
    key.count &+ value.count > entryLimit
  }

  @inline(never) private func keyTooLong(_ key: SearchKey) -> StorageError {
    StorageError(.keyTooLong, "The key has \(key.count) bytes; the longest has \(keyLimit). Shorten or hash it.")
  }

  @inline(never) private func valueTooLong(_ value: UnsafeRawBufferPointer) -> StorageError {
    StorageError(
      .valueTooLong,
      """
      The value has \(value.count) bytes; the longest has \(Limits.valueByteCount). Divide it among several entries.
      """)
  }
}
