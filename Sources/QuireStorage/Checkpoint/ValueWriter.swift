// Writing values of one page home: in the order of their places, in long runs.

/// Writes values that have been kept in memory to their places.
///
/// Works in steps of one buffer, as `PageWriter` does.
///
/// While it writes, no place that it writes to may be given out to somebody else. A checkpoint writes what its own map
/// calls used, and the snapshot that it has announced keeps those places as they are; the writer, when memory is short,
/// writes all there are, as nobody but a checkpoint or itself is given places; and what readers of old snapshots need
/// is kept by announcing these.
final class ValueWriter {
  private let store: PageStore
  private let buffer: UnsafeMutableRawPointer
  private let bufferPages: Int
  /// Where the next step goes on.
  private var cursor: UInt64 = 0
  private var starter = WriteStarter(startByteCount: ValueWriter.startByteCount)
  /// How many values were written.
  private(set) var writtenCount = 0

  /// After how much the disk is asked to begin. Values are written while transactions commit: what the system holds
  /// back goes to the disk with the flush of one of them, which then waits for all of it.
  private static let startByteCount = 1 << 20

  /// A writer for the values of `store`. Its buffer is as large as what there is to be written, within limits.
  init(_ store: PageStore) {
    self.store = store
    bufferPages = max(1, min(PageWriter.bufferByteCount / store.pageSize, store.unwrittenCount))
    buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferPages * store.pageSize, alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// Writes the next values among those that `isWanted` picks from ascending places; false if there are none left.
  ///
  /// - Throws: `diskFull`, `inputOutput`: what has not been written stays as it was.
  func step(_ isWanted: ([UInt64]) -> [UInt64]) throws(StorageError) -> Bool {
    while true {
      let found = store.unwrittenNumbers(from: cursor, limit: bufferPages)
      guard let last = found.last else { return false }
      let wanted = isWanted(found)
      try write(wanted)
      cursor = last + 1
      if !wanted.isEmpty { return true }
    }
  }

  /// Writes all values that wait.
  func writeAll() throws(StorageError) {
    while try step({ $0 }) {}
  }

  /// Writes the values at `numbers`, which ascend, as far as they wait.
  func write(_ numbers: some Sequence<UInt64>) throws(StorageError) {
    var start: UInt64 = 0
    var count = 0
    for number in numbers {
      if count > 0, number != start + UInt64(count) || count == bufferPages {
        try flush(start, count)
        count = 0
      }
      guard store.copyUnwrittenPage(number, into: buffer + count * store.pageSize) else { continue }
      if count == 0 { start = number }
      count += 1
    }
    if count > 0 { try flush(start, count) }
  }

  private func flush(_ start: UInt64, _ count: Int) throws(StorageError) {
    assert(start >= 2 && count > 0 && count <= bufferPages, "values are written where none can be")
    let (offset, byteCount) = (Int(start) * store.pageSize, count * store.pageSize)
    try store.file.writeFully(UnsafeRawBufferPointer(start: buffer, count: byteCount), at: offset)
    store.noteWritten(byteCount)
    store.noteHome(start..<(start + UInt64(count)))
    starter.note(offset..<(offset + byteCount), of: store.file)
    writtenCount += count
  }
}

/// Makes the disk begin with what has been written while the rest is prepared, so that the last sync finds little
/// to wait for.
struct WriteStarter {
  /// What has been written since the disk was last asked to begin, and where.
  private var range = 0..<0
  private var byteCount = 0

  /// How much is written before the disk is asked to begin: small checkpoints leave it to the sync.
  private let startByteCount: Int

  init(startByteCount: Int) { self.startByteCount = startByteCount }

  /// Notes that `written` has been handed to the system.
  mutating func note(_ written: Range<Int>, of file: any File) {
    range =
      range.isEmpty
      ? written : min(range.lowerBound, written.lowerBound)..<max(range.upperBound, written.upperBound)
    byteCount += written.count
    guard byteCount >= startByteCount else { return }
    file.startWriting(range)
    (range, byteCount) = (0..<0, 0)
  }
}
