// The free map on disk: a radix tree of pages, bits in its leaves.
//
//   piece (PageKind.freeMapLeaf)     48...  one bit per page of the file, lowest first: 1 is free
//   branch (PageKind.freeMapBranch)  48...  pairs of page number and checksum; page number 0: all pages below are used
//
// The level in the page header is 0 for pieces and one more for each level of branches.

/// Sizes of the free map.
package enum FreeMapFormat {
  /// Pages that one piece speaks for.
  package static func bitsPerPiece(pageSize: Int) -> Int { (pageSize - PageLayout.headerByteCount) * 8 }
  /// Children of one branch.
  package static func fanOut(pageSize: Int) -> Int { (pageSize - PageLayout.headerByteCount) / 16 }
  /// Bytes of one child in a branch.
  package static let childByteCount = 16

  /// The level of the root that a map of `pieces` pieces needs.
  package static func rootLevel(pieces: Int, pageSize: Int) -> Int {
    var level = 0
    var capacity = 1
    while capacity < pieces {
      capacity *= fanOut(pageSize: pageSize)
      level += 1
    }
    return level
  }
}
