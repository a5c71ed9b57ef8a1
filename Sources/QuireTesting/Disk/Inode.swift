// One file of the simulated disk: what programs see, what a power cut would leave for certain, and what lies between.

/// How the bytes of the disk are divided.
package enum DiskGeometry {
  /// The unit of the page cache, of stale pages and of bursts.
  package static let pageByteCount = 4096
  /// The smallest unit that a crash tears.
  package static let sectorByteCount = 512
}

/// What the drive does with a write although it confirms it.
package enum DriveLie: Hashable, Sendable {
  /// Nothing is written.
  case lost
  /// The bytes are written, but to this offset of the same file.
  case misdirected(to: Int)
}

/// A change that a program made and no sync has confirmed.
struct PendingOperation: Sendable {
  enum Kind: Sendable {
    case write
    case resize
  }

  var kind: Kind
  /// The number of the disk operation that made it, in order over all files.
  var sequence: Int
  /// Where the bytes go; the new length of a resize.
  var offset: Int
  /// The bytes of a write in the arena beside the list.
  var start = 0
  var count = 0
  var lie: DriveLie?

  var end: Int { offset + count }
}

/// What becomes of unsynced changes when a sync fails.
package enum SyncFailure: Hashable, Sendable, CaseIterable {
  /// They stay visible, but no later sync writes them (ext4: the cached pages count as clean).
  case forgets
  /// The same, but a later write to the same 4 KiB page makes them pending again, as the page cache does.
  case forgetsUntilTouched
  /// Reads see the durable bytes again (Btrfs).
  case reverts
}

/// A range whose reads fail.
struct UnreadableRange: Sendable {
  var range: Range<Int>
  /// Whether a fault plan drew it; such ranges last as long as the plan, others until they are written.
  var isDrawn: Bool
}

/// A lock that an open file holds.
struct HeldLock: Sendable {
  var handle: Int
  var isExclusive: Bool
  var processID: Int32
}

/// The state of one file.
///
/// Invariants:
/// 1. Without failed syncs and overlays, `live` = `durable` with the pending operations applied in order.
/// 2. Pending operations are in the order of their sequence numbers; their bytes lie in `pendingBytes`.
/// 3. An unused inode has no names, no open files and no bytes.
struct Inode: Sendable {
  /// What reads see.
  var live = DiskBytes()
  /// What the last successful sync left, and what is therefore on the disk whatever happens.
  private(set) var durable = DiskBytes()
  private(set) var pending: [PendingOperation] = []
  private(set) var pendingBytes: [UInt8] = []
  /// Changes that a failed sync forgot and that may become pending again, cut at page boundaries.
  private var forgotten: [PendingOperation] = []
  private var forgottenBytes: [UInt8] = []
  private(set) var history = PageHistory()
  var unreadable: [UnreadableRange] = []
  var locks: [HeldLock] = []
  var linkCount = 0
  var openCount = 0
  var isUsed = true
  /// Writes since the disk was made, for tests that count them.
  private(set) var writeCount = 0

  /// Changes bytes in the live view and remembers the change. O(bytes), not O(file).
  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, sequence: Int, lie: DriveLie?) {
    let range = offset..<offset + bytes.count
    if !forgotten.isEmpty { remember(touching: range, sequence: sequence) }
    live.write(bytes, at: offset)
    pending.append(
      PendingOperation(
        kind: .write, sequence: sequence, offset: offset, start: pendingBytes.count, count: bytes.count, lie: lie))
    pendingBytes.append(contentsOf: bytes)
    writeCount += 1
    if !unreadable.isEmpty { unreadable.removeAll { $0.range.overlaps(range) } }
  }

  /// Changes the length in the live view and remembers the change.
  mutating func resize(to byteCount: Int, sequence: Int) {
    live.setCount(byteCount)
    pending.append(PendingOperation(kind: .resize, sequence: sequence, offset: byteCount))
    forgotten.removeAll { $0.end > byteCount }
  }

  /// Makes the pending changes durable, all of them or those up to a number. O(pending bytes).
  mutating func synchronize(sequence: Int, upTo covered: Int? = nil) {
    if let covered, let last = pending.last, last.sequence > covered {
      return synchronizeSome(sequence: sequence, upTo: covered)
    }
    var lies = false
    for operation in pending {
      apply(operation, sequence: sequence)
      lies = lies || operation.lie != nil
    }
    if lies {
      for operation in pending {
        guard let lie = operation.lie else { continue }
        refresh(operation.offset..<operation.end)
        if case .misdirected(let target) = lie { refresh(target..<target + operation.count) }
      }
    }
    clearPending()
  }

  /// Makes the pending changes up to a number durable; the others stay pending, and so does what a drive lies about.
  private mutating func synchronizeSome(sequence: Int, upTo covered: Int) {
    let count = pending.prefix { $0.sequence <= covered && $0.lie == nil }.count
    for operation in pending.prefix(count) { apply(operation, sequence: sequence) }
    pending.removeFirst(count)
  }

  /// Loses all pending changes as `failure` says.
  ///
  /// `survives` is asked for each sector whether the disk got it before it failed.
  mutating func failToSynchronize(
    _ failure: SyncFailure, sequence: Int, survives: (_ sector: Int) -> Bool
  ) {
    if failure == .reverts {
      live = durable
      clearPending()
      return
    }
    for operation in pending where operation.kind == .write {
      for piece in Self.pieces(of: operation, byteCount: DiskGeometry.sectorByteCount) {
        if survives(piece.offset / DiskGeometry.sectorByteCount) { apply(piece, sequence: sequence) }
      }
      if failure == .forgetsUntilTouched { forget(operation) }
    }
    clearPending()
  }

  /// Puts a drive's changed bytes in place of the durable ones, and shows them to readers, as a cold cache would.
  mutating func overlay(_ bytes: [UInt8], at offset: Int) {
    bytes.withUnsafeBytes { durable.write($0, at: offset) }
    if live.count < durable.count && pending.isEmpty { live.setCount(durable.count) }
    refresh(offset..<offset + bytes.count)
  }

  /// Cuts or extends the file behind everybody's back, durably.
  mutating func overlayLength(_ byteCount: Int) {
    durable.setCount(byteCount)
    live.setCount(byteCount)
  }

  /// Drops clean cached bytes: reads see what the disk has, under what is still pending.
  ///
  /// The length of an open file is not cached bytes: it lives with the open file, and goes with it.
  mutating func evictCache() {
    let count = live.count
    defer { if openCount > 0, live.count < count { live.setCount(count) } }
    live = durable
    for operation in pending {
      switch operation.kind {
      case .resize: live.setCount(operation.offset)
      case .write: Self.copy(operation, of: pendingBytes, into: &live, at: operation.offset)
      }
    }
    forgotten.removeAll(keepingCapacity: true)
    forgottenBytes.removeAll(keepingCapacity: true)
  }

  /// Makes `bytes` the durable and only content, after a power cut.
  mutating func settle(_ bytes: DiskBytes) {
    durable = bytes
    live = bytes
    clearPending()
    forgotten = []
    forgottenBytes = []
  }

  /// How many versions of durable pages are remembered.
  mutating func limitHistory(to pageCount: Int) { history.limit(to: pageCount) }

  /// Gives up all bytes, names and locks.
  mutating func retire() {
    self = Inode()
    isUsed = false
  }
}

// MARK: - Parts

extension Inode {
  /// The parts of a write that lie in units of `byteCount` bytes of the file.
  static func pieces(of operation: PendingOperation, byteCount: Int) -> [PendingOperation] {
    var pieces: [PendingOperation] = []
    var offset = operation.offset
    while offset < operation.end {
      let end = min(operation.end, (offset / byteCount + 1) * byteCount)
      var piece = operation
      piece.offset = offset
      piece.start = operation.start + offset - operation.offset
      piece.count = end - offset
      pieces.append(piece)
      offset = end
    }
    return pieces
  }

  /// Makes one pending change durable, remembering the pages it replaces.
  private mutating func apply(_ operation: PendingOperation, sequence: Int) {
    guard operation.kind == .write else {
      durable.setCount(operation.offset)
      return
    }
    var offset = operation.offset
    switch operation.lie {
    case .lost, .misdirected:
      // The file system knows the new length all the same.
      if durable.count < operation.end { durable.setCount(operation.end) }
      guard case .misdirected(let target) = operation.lie else { return }
      offset = target
    case nil: break
    }
    history.save(offset..<offset + operation.count, of: durable, sequence: sequence)
    Self.copy(operation, of: pendingBytes, into: &durable, at: offset)
  }

  /// Puts the bytes of a write, which lie in `arena`, into `target`.
  private static func copy(
    _ operation: PendingOperation, of arena: [UInt8], into target: inout DiskBytes, at offset: Int
  ) {
    arena.withUnsafeBytes { bytes in
      let part = bytes[operation.start..<operation.start + operation.count]
      target.write(UnsafeRawBufferPointer(rebasing: part), at: offset)
    }
  }

  /// Shows the durable bytes of a range again, under what is pending there.
  private mutating func refresh(_ range: Range<Int>) {
    let end = min(range.upperBound, durable.count)
    if live.count < end && pending.isEmpty { live.setCount(end) }
    let shown = range.lowerBound..<max(range.lowerBound, min(end, live.count))
    if shown.isEmpty { return }
    durable.bytes(shown).withUnsafeBytes { live.write($0, at: shown.lowerBound) }
    for operation in pending where operation.kind == .write && operation.lie == nil {
      var part = operation
      let range = shown.clamped(to: operation.offset..<operation.end)
      if range.isEmpty { continue }
      part.start += range.lowerBound - operation.offset
      part.offset = range.lowerBound
      part.count = range.count
      Self.copy(part, of: pendingBytes, into: &live, at: part.offset)
    }
  }

  private mutating func forget(_ operation: PendingOperation) {
    for var piece in Self.pieces(of: operation, byteCount: DiskGeometry.pageByteCount) {
      let bytes = pendingBytes[piece.start..<piece.start + piece.count]
      piece.start = forgottenBytes.count
      forgottenBytes.append(contentsOf: bytes)
      forgotten.append(piece)
    }
  }

  /// Makes forgotten changes pending again where a page of theirs becomes dirty anew.
  private mutating func remember(touching range: Range<Int>, sequence: Int) {
    let pages =
      range.lowerBound / DiskGeometry.pageByteCount...(range.upperBound - 1) / DiskGeometry.pageByteCount
    for piece in forgotten where pages.contains(piece.offset / DiskGeometry.pageByteCount) {
      var operation = piece
      operation.sequence = sequence
      operation.start = pendingBytes.count
      pendingBytes.append(contentsOf: forgottenBytes[piece.start..<piece.start + piece.count])
      pending.append(operation)
    }
    forgotten.removeAll { pages.contains($0.offset / DiskGeometry.pageByteCount) }
    if forgotten.isEmpty { forgottenBytes.removeAll(keepingCapacity: true) }
  }

  private mutating func clearPending() {
    pending.removeAll(keepingCapacity: true)
    pendingBytes.removeAll(keepingCapacity: true)
  }
}
