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
