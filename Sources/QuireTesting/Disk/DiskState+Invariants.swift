// The disk's check of itself, for its own tests: a simulator that is broken proves nothing.

extension DiskState {
  /// The first of the invariants that does not hold, in their order.
  func brokenInvariant() -> String? {
    let pending = pendingNames.filter { $0.inode != nil }.map { (path: $0.path, inode: $0.inode ?? 0) }
    for (path, inode) in names.entries + durableNames.entries + pending {
      if !inodes.indices.contains(inode) || !inodes[inode].isUsed { return "\(path) leads to no inode" }
    }
    for (index, inode) in inodes.enumerated() {
      if inode.linkCount != names.entries.count(where: { $0.inode == index }) { return "inode \(index): links" }
      if inode.locks.count > 1 && inode.locks.contains(where: \.isExclusive) { return "inode \(index): locks" }
      if !inode.isUsed && (inode.openCount > 0 || inode.live.count > 0) { return "inode \(index): unused but alive" }
      if let text = inode.brokenInvariant() { return "inode \(index): \(text)" }
    }
    return inodes.reduce(0) { $0 + $1.live.count } == usedByteCount ? nil : "used bytes"
  }
}

extension Inode {
  /// The same for one file.
  func brokenInvariant() -> String? {
    if zip(pending, pending.dropFirst()).contains(where: { $0.sequence > $1.sequence }) { return "order of changes" }
    if pending.contains(where: { $0.start + $0.count > pendingBytes.count }) { return "bytes of changes" }
    return live.brokenInvariant() ?? durable.brokenInvariant()
  }
}

extension SimulatedDisk {
  /// What is wrong with the disk itself; nil if all is well.
  package func brokenInvariant() -> String? { withState { $0.brokenInvariant() } }
}
