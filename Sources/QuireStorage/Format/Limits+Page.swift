// The limits that follow from the page format.

extension Limits {
  /// The longest key that fits pages of this size: the documented limit, less in the tiny pages of tests.
  package static func keyByteCount(pageSize: Int) -> Int {
    min(keyByteCount, entryByteCount(pageSize: pageSize) - 36)
  }

  /// The most bytes that key and value of one entry may take together inside a leaf: three entries fit any page, so
  /// that a full page can always be split. A value with which an entry takes more stands in an extent; the longest key
  /// leaves room for the reference.
  package static func entryByteCount(pageSize: Int) -> Int {
    (pageSize - PageLayout.headerByteCount) / 3 - PageLayout.entryOverhead
  }
}
