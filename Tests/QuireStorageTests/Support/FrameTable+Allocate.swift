// Frames one at a time; the engine takes them in batches.

import QuireStorage

extension FrameTable {
  /// Reserves an index and enters the page in `slot` under it.
  func allocate(slot: UnsafeMutableRawPointer, birth: UInt64) throws -> FrameIndex {
    var indexes: [FrameIndex] = []
    try reserve(1, into: &indexes)
    assign(indexes[0], slot: slot, birth: birth)
    return indexes[0]
  }
}
