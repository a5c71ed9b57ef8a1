// Frames one at a time; the engine takes them in batches.

import QuireStorage

extension FrameTable {
  /// Reserves an index and enters the page in `slot` under it.
  func allocate(slot: UnsafeMutableRawPointer, birth: UInt64) throws -> FrameIndex {
    var index = FrameIndex(0)
    try reserve(1, into: &index)
    assign(index, slot: slot, birth: birth)
    return index
  }
}
