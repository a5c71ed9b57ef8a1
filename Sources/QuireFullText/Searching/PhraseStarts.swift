// Where a phrase may begin in a field.

extension RawBuffer<UInt32> {
  /// Keeps those of the starts, which ascend, that a position follows.
  ///
  /// - Parameters:
  ///   - offset: how far behind its start the position stands.
  ///   - isOne: whether it is enough to find one.
  ///   - forEachPosition: calls what it is given with the positions, which ascend, until that returns false.
  @inline(__always)
  func keepStarts(
    followedAt offset: UInt32, isOne: Bool, _ forEachPosition: ((UInt32) -> Bool) throws -> Void
  ) rethrows {
    let (offset, count, base) = unsafe (UInt64(offset), self.count, self.base)
    var (kept, next) = (0, 0)
    try forEachPosition { position in
      while unsafe next < count && UInt64(base[next]) &+ offset < UInt64(position) { next &+= 1 }
      if next == count { return false }
      if unsafe UInt64(base[next]) &+ offset == UInt64(position) {
        unsafe base[kept] = base[next]
        (kept, next) = (kept &+ 1, next &+ 1)
        return !isOne
      }
      return true
    }
    setCount(kept)
  }
}
