// Damage to files that are open and have no name: temporary ones, which no path leads to.

extension SimulatedDisk {
  /// Flips one bit of the open file without a name, 0 being the lowest, as readers see it. False if there is none, or
  /// if it does not reach that far.
  @discardableResult package func flipBitOfUnnamedFile(_ bit: Int, at offset: Int) -> Bool {
    withUnnamedInode { inode in
      guard let byte = inode.live.byte(at: offset) else { return false }
      withUnsafeBytes(of: byte ^ (1 << UInt8(bit & 7))) { inode.live.write($0, at: offset) }
      return true
    }
  }

  /// Cuts the open file without a name, as readers see it. False if there is none, or if it is no longer than that.
  @discardableResult package func cutUnnamedFile(to byteCount: Int) -> Bool {
    withUnnamedInode { inode in
      guard inode.live.count > byteCount else { return false }
      inode.live.setCount(byteCount)
      return true
    }
  }

  private func withUnnamedInode(_ body: (inout Inode) -> Bool) -> Bool {
    withState { state in
      let found = state.inodes.firstIndex { $0.isUsed && $0.linkCount == 0 && $0.openCount > 0 }
      guard let found else { return false }
      let before = state.inodes[found].live.count
      defer { state.usedByteCount += state.inodes[found].live.count - before }
      return body(&state.inodes[found])
    }
  }
}
