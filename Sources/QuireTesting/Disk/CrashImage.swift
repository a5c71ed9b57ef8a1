// Crash images: what a disk may hold after a power cut, and after the mere end of a process.
//
// What was synced stays. Of what was not, each sector of each write is drawn by itself, and damage is confined to the
// bytes that the write touches: we assume power-safe overwrite, as the design does, unless a test takes that away.
// Lengths and names are drawn apart from the bytes.

extension Inode {
  /// The content of the file after a crash.
  func crashed(_ draw: inout CrashDraw) -> DiskBytes {
    if pending.isEmpty { return durable }
    var image = durable
    var lengths = [durable.count]
    var sequences = [-1]
    var length = durable.count
    for operation in pending {
      let before = length
      switch operation.kind {
      case .resize:
        if operation.offset < image.count && draw.isCutWritten(by: operation) {
          image.setCount(operation.offset)
        }
        length = operation.offset
      case .write:
        crash(operation, &image, &draw)
        length = max(length, operation.end)
      }
      if length != before {
        lengths.append(length)
        sequences.append(operation.sequence)
      }
    }
    image.setCount(lengths[draw.version(sequences, isLength: true)])
    return image
  }

  /// Lets one write reach `image` sector by sector.
  private func crash(_ operation: PendingOperation, _ image: inout DiskBytes, _ draw: inout CrashDraw) {
    if image.count < operation.end { image.setCount(operation.end) }
    var target = operation.offset
    switch operation.lie {
    case .lost: return
    case .misdirected(let offset):
      target = offset
      if image.count < target + operation.count { image.setCount(target + operation.count) }
    case nil: break
    }
    pendingBytes.withUnsafeBytes { source in
      var done = 0
      while done < operation.count {
        let sectorEnd = ((target + done) / draw.sectorByteCount + 1) * draw.sectorByteCount
        let end = min(operation.count, sectorEnd - target)
        let new = UnsafeRawBufferPointer(rebasing: source[operation.start + done..<operation.start + end])
        let fate = draw.fate(of: operation, byteCount: new.count)
        if case .old = fate {
          // The page stays shared with the disk that crashed.
        } else if draw.damagesWholeSectors, fate.isDamage {
          let whole = max(0, sectorEnd - draw.sectorByteCount)..<min(sectorEnd, image.count)
          image.withMutableBytes(whole) { crash($0, new, fate, &draw) }
        } else {
          image.withMutableBytes(target + done..<target + end) { crash($0, new, fate, &draw) }
        }
        done = end
      }
    }
  }

  /// Gives one piece of a write its fate.
  private func crash(
    _ place: UnsafeMutableRawBufferPointer, _ new: UnsafeRawBufferPointer, _ fate: SectorFate, _ draw: inout CrashDraw
  ) {
    switch fate {
    case .old: break
    case .new: place.copyMemory(from: new)
    case .newFront(let count):
      place.copyMemory(from: UnsafeRawBufferPointer(rebasing: new[..<min(count, new.count)]))
    case .newBack(let start):
      let start = min(start, new.count)
      UnsafeMutableRawBufferPointer(rebasing: place[start...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: new[start...]))
    case .zero: place.initializeMemory(as: UInt8.self, repeating: 0)
    case .garbage: draw.fillWithGarbage(place, from: durable)
    }
  }
}

extension DiskState {
  /// The state after a power cut, and what the cut did.
  func crashed(_ mode: CrashMode) -> (state: DiskState, report: CrashReport, unitCount: Int) {
    var draw = CrashDraw(mode, sequences: pendingSequences)
    draw.damagesWholeSectors = !isPowerSafe
    var image = self
    image.restart()
    for index in inodes.indices where inodes[index].isUsed {
      image.inodes[index].settle(inodes[index].crashed(&draw))
    }
    image.names = crashedNames(&draw)
    image.durableNames = image.names
    image.pendingNames = []
    image.settleLinks()
    return (image, draw.report, draw.unitCount)
  }

  /// The state after all processes ended: the page cache lives on, and what was pending still is.
  func killed() -> DiskState {
    var image = self
    image.restart()
    image.settleLinks()
    return image
  }

  /// The state without anybody at it, all else as it is.
  func withoutOpenFiles() -> DiskState {
    var image = self
    image.closeAll()
    image.settleLinks()
    return image
  }

  /// From the first pending change to one behind the last.
  private var pendingSequences: Range<Int> {
    var first = Int.max
    var last = -1
    for inode in inodes {
      first = min(first, inode.pending.first?.sequence ?? Int.max)
      last = max(last, inode.pending.last?.sequence ?? -1)
    }
    first = min(first, pendingNames.first?.sequence ?? Int.max)
    last = max(last, pendingNames.last?.sequence ?? -1)
    return first <= last ? first..<last + 1 : 0..<0
  }

  /// Each name that is pending gets one of its meanings, independently of the others.
  private func crashedNames(_ draw: inout CrashDraw) -> NameTable {
    var result = durableNames
    var seen: [String] = []
    for change in pendingNames where !seen.contains(change.path) {
      seen.append(change.path)
      let changes = pendingNames.filter { $0.path == change.path }
      let version = draw.version([-1] + changes.map(\.sequence), isLength: false)
      if version > 0 { result[change.path] = changes[version - 1].inode }
    }
    return result
  }
}
