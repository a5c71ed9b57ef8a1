// Moving long values: copied to free places in front, or behind the end of the file if the front is to be emptied.

/// What a relocation moves, and where to.
package struct RelocationPlan {
  /// Pages of trees at this place or above are copied; the next checkpoint gives them places in front.
  package var limit: UInt64
  /// Extents at this place or above, or below it if `evacuates`, are copied.
  package var extentLimit: UInt64
  /// Whether extents go behind the end of the file, so that the places in front become one piece.
  package var evacuates = false
  /// About how many pages of trees may be copied.
  package var pageLimit: Int
  /// How many pages of extents may be copied; room for as many has been made sure of.
  package var extentPageLimit: Int
  /// About how many leaves may be looked at for what they refer to.
  package var leafLimit = 4096

  /// Puts the parts together.
  package init(limit: UInt64, extentLimit: UInt64, evacuates: Bool = false, pageLimit: Int, extentPageLimit: Int) {
    self.limit = limit
    self.extentLimit = extentLimit
    self.evacuates = evacuates
    self.pageLimit = pageLimit
    self.extentPageLimit = extentPageLimit
  }

  func moves(_ extent: ExtentReference) -> Bool {
    evacuates ? extent.first.rawValue < extentLimit : extent.first.rawValue >= extentLimit
  }
}

/// How far the extents of one step have come.
struct ExtentMoves {
  /// Pages that have been copied.
  var pageCount = 0
  /// Pages of an extent that was too long for what was left of the step; 0 if there was none.
  var wanted = 0
  /// Leaves that were read for what they refer to.
  var leafCount = 0
}

extension TreeEditor {
  /// Moves the extents of the leaf at the end of the path, which is made private when the first one has found a place.
  ///
  /// - Returns: false if the step has no room for the next extent; `moves.wanted` then says what it needs.
  /// - Throws: what reading and writing values throws. The transaction must then be rolled back.
  func relocateExtents(
    _ root: inout TreeRoot, _ plan: RelocationPlan, _ moves: inout ExtentMoves,
    checkWritable: () throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    var isPrivate = false
    for index in 0..<path[depth - 1].page.count {
      let cell = path[depth - 1].page.leafCell(index)
      guard cell.isExtent, plan.moves(cell.extent) else { continue }
      let extent = cell.extent
      let count = extent.layout(pageSize: pageSize).pageCount
      guard moves.pageCount + count <= plan.extentPageLimit else {
        moves.wanted = count
        return false
      }
      guard let place = place(for: extent, count, plan) else { continue }
      // From here on the place is given back by whatever gives up the transaction, or the copying of the value.
      let copy = try copyExtent(extent, of: store, to: place, checkWritable: checkWritable)
      moves.pageCount += count
      if !isPrivate {
        try makePathPrivate(&root)
        isPrivate = true
      }
      let target = UnsafeMutableRawPointer(mutating: path[depth - 1].page.leafCell(index).value)
      try copy.withBytes { (bytes) throws(StorageError) in
        if let base = bytes.baseAddress { target.copyMemory(from: base, byteCount: bytes.count) }
      }
      supersedeExtent(extent)
    }
    return true
  }

  private func place(for extent: ExtentReference, _ count: Int, _ plan: RelocationPlan) -> PageNumber? {
    if plan.evacuates { return allocator?.allocateAtEnd(count) }
    return allocator?.allocateAhead(count, below: extent.first.rawValue)
  }
}
