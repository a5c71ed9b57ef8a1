// Reading a tree: lookup, rank, n-th entry. One page per level; no allocation, no lock, no reference count.

/// Reads over the pages of one store. A plain value: see `PageAccess`.
package struct TreeReader {
  let access: PageAccess

  /// Reads the pages of `store`, which must outlive the value.
  package init(_ store: PageStore) {
    access = store.access
    pageSize = store.pageSize
  }

  /// Whether readers must not keep addresses between their calls, as memory is short.
  package var lendsCopies: Bool { access.lendsCopies }
  /// The size of a page in bytes.
  package let pageSize: Int

  /// The page that a reference names.
  @inline(__always) package func page(
    _ reference: PageReference, checksum: @autoclosure () -> UInt64, level: Int
  ) throws(StorageError) -> PageBytes {
    try access.page(reference, checksum: checksum(), level: level)
  }

  /// The child of a branch.
  @inline(__always) package func child(_ page: PageBytes, _ index: Int, level: Int) throws(StorageError) -> PageBytes {
    try self.page(
      PageReference(rawValue: page.references[index]), checksum: page.checksums[index], level: level)
  }

  /// The value of `key`, or nil. Touches one page per level.
  @inline(__always) package func value(_ key: SearchKey, in root: TreeRoot) throws(StorageError) -> BorrowedValue? {
    if root.reference.isNone { return nil }
    var level = root.level
    var page = try page(root.reference, checksum: root.checksum, level: level)
    while level > 0 {
      level &-= 1
      page = try child(page, page.childIndex(key), level: level)
    }
    let position = page.leafSearch(key)
    guard position.isFound else { return nil }
    return BorrowedValue(page.leafCell(position.index))
  }

  /// Reads a part of an extent's value into memory of the caller's.
  func readExtent(
    _ extent: ExtentReference, _ range: Range<Int>, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    try access.readExtent(extent, range, into: target)
  }

  /// The number of entries below `key`, and whether `key` is one of the tree. Touches one page per level.
  package func rank(of key: SearchKey, in root: TreeRoot) throws(StorageError) -> (rank: Int, isFound: Bool) {
    if root.reference.isNone { return (0, false) }
    var level = root.level
    var page = try page(root.reference, checksum: root.checksum, level: level)
    var rank = 0
    while level > 0 {
      level -= 1
      let index = page.childIndex(key)
      rank += page.countBelow(childrenBefore: index)
      page = try child(page, index, level: level)
    }
    let position = page.leafSearch(key)
    return (rank + position.index, position.isFound)
  }
}
