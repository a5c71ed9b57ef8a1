// What a lying disk and careless people do: damage that no power cut explains. The engine has to notice it.
//
// All of it is durable at once and seen by reads at once, as if nothing were cached. None of it is an operation.

extension SimulatedDisk {
  // MARK: Bytes

  /// Flips one bit, 0 being the lowest. False if the file does not reach that far.
  @discardableResult package func flipBit(_ bit: Int, at offset: Int, of path: String) -> Bool {
    withInode(path) { inode in
      guard let byte = inode.durable.byte(at: offset) else { return false }
      inode.overlay([byte ^ (1 << UInt8(bit & 7))], at: offset)
      return true
    } ?? false
  }

  /// Replaces bytes, extending the file if needed.
  package func overwrite(_ bytes: [UInt8], at offset: Int, of path: String) {
    _ = withInode(path) { $0.overlay(bytes, at: offset) }
  }

  /// Replaces at most a page of bytes by noise.
  package func burst(at offset: Int, byteCount: Int, of path: String, seed: UInt64) {
    precondition(byteCount <= DiskGeometry.pageByteCount)
    var random = SeededRandom(seed: seed)
    _ = withInode(path) { inode in
      var noise = [UInt8](repeating: 0, count: max(0, min(byteCount, inode.durable.count - offset)))
      noise.withUnsafeMutableBytes { random.fill($0) }
      inode.overlay(noise, at: offset)
    }
  }

  /// Copies bytes of the disk to another place of the same file: the right page in the wrong place.
  package func duplicate(_ range: Range<Int>, to offset: Int, of path: String) {
    _ = withInode(path) { inode in inode.overlay(inode.durable.bytes(range), at: offset) }
  }

  /// How many older durable versions of the 4 KiB page around `offset` are remembered.
  package func staleVersionCount(at offset: Int, of path: String) -> Int {
    withInode(path) { $0.history.versions(of: offset / DiskGeometry.pageByteCount).count } ?? 0
  }

  /// Puts an older durable version of the 4 KiB page around `offset` back: 1 is what stood there before the newest sync
  /// that changed it. False if that version is not remembered.
  @discardableResult package func makeStale(at offset: Int, of path: String, versionsBack: Int = 1) -> Bool {
    withInode(path) { inode in
      let page = offset / DiskGeometry.pageByteCount
      let versions = inode.history.versions(of: page)
      guard versions.indices.contains(versionsBack - 1) else { return false }
      let offset = page * DiskGeometry.pageByteCount
      let byteCount = min(DiskGeometry.pageByteCount, max(0, inode.durable.count - offset))
      inode.overlay(Array(versions[versionsBack - 1].prefix(byteCount)), at: offset)
      return true
    } ?? false
  }

  /// Lets the drive confirm a coming write to `path` and not do it, or do it elsewhere. Programs see their bytes until
  /// the file is synced; from then on they see what the drive has.
  package func lie(_ lie: DriveLie, aboutNextWriteOf path: String, skipping skipCount: Int = 0) {
    withState { $0.faults.add(lie, path: path, skipCount: skipCount) }
  }

  /// Makes reads of a range fail with EIO until it is written.
  package func makeUnreadable(_ range: Range<Int>, of path: String) {
    _ = withInode(path) { $0.unreadable.append(UnreadableRange(range: range, isDrawn: false)) }
  }

  /// Drops the page cache: bytes that a failed sync forgot are no longer seen.
  package func evictCache() {
    withState { state in
      for index in state.inodes.indices where state.inodes[index].isUsed { state.inodes[index].evictCache() }
      state.settleLinks()
    }
  }

  /// How many older pages each new file remembers (32 at first); also clears what is remembered.
  package func limitHistory(to pageCount: Int) {
    withState { state in
      state.historyPageCount = pageCount
      for index in state.inodes.indices { state.inodes[index].limitHistory(to: pageCount) }
    }
  }

  // MARK: Whole files

  /// Cuts the file, or extends it with zeros.
  package func setLength(_ byteCount: Int, of path: String) { _ = withInode(path) { $0.overlayLength(byteCount) } }

  /// Extends the file with noise.
  package func extendWithNoise(by byteCount: Int, of path: String, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var noise = [UInt8](repeating: 0, count: byteCount)
    noise.withUnsafeMutableBytes { random.fill($0) }
    _ = withInode(path) { $0.overlay(noise, at: $0.durable.count) }
  }

  /// Deletes the name durably. Files that are open stay, without a name.
  package func remove(_ path: String) { withState { $0.remove(path) } }
}

extension DiskState {
  /// Takes a name away durably.
  mutating func remove(_ path: String) {
    let before = names[path]
    names[path] = nil
    durableNames[path] = nil
    pendingNames.removeAll { $0.path == path }
    settleLinks()
    if let before { retireIfUnreachable(before) }
  }
}
