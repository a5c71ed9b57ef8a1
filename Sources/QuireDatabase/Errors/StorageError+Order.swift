// What walks through trees meet in files whose checksums are right and whose content is not.

internal import QuireStorage

extension StorageError {
  /// The error for keys, or counts of pages, that contradict each other.
  static func keysOutOfOrder() -> StorageError {
    StorageError(
      .damagedPage, "The keys of a tree are out of order, or its counts are wrong. \(StorageError.restoring)")
  }
}
