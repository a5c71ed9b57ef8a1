// Appending to the log, and making it durable.

internal import Synchronization

/// An open segment.
package struct OpenSegment: Sendable {
  package var descriptor: SegmentDescriptor
  package let file: any File
  /// Up to where the blocks of the file have been written, and not only allocated; at least what records take.
  var writtenByteCount: Int

  /// Takes over the open file of a segment; `LogWriter.close` closes it.
  ///
  /// - Parameter writtenByteCount: all of it if nothing is said.
  package init(descriptor: SegmentDescriptor, file: any File, writtenByteCount: Int? = nil) {
    self.descriptor = descriptor
    self.file = file
    self.writtenByteCount = writtenByteCount ?? descriptor.byteCount
  }
}

/// The end of the log.
///
/// Appending, switching and naming segments is done under the engine's log latch, one caller at a time; syncing is the
/// business of the flush leader, of which there is one at a time. What the two share is behind a mutex.
///
/// Invariants:
/// 1. `current` has room from `offset` on, where nothing of this life of the segment has been written.
/// 2. `chain` and `endLSN` are those of the last record appended, `lastCSN` that of the last commit.
/// 3. `unsynced` lists, oldest first, every file that holds bytes which no sync has covered.
package final class LogWriter: @unchecked Sendable {
  // Sendable: safe because everything outside the mutex is touched under the engine's log latch only.
  private struct Shared {
    var unsynced: [OpenSegment] = []
    var endLSN: LSN
    /// Appends begun and finished: where they differ, one is between its write call and `endLSN`.
    var begun = 0
    var finished = 0
    /// The highest checkpoint that an appended record testifies to.
    var testified: UInt64 = 0
  }

  // Under one latch, and nothing here calls back: the checks for overlapping access would find nothing, and cost a
  // tenth of a commit that does not wait for the disk.
  @exclusivity(unchecked) package private(set) var current: OpenSegment
  /// The segment that the log goes on in after a switch; nil between a switch and the next checkpoint.
  @exclusivity(unchecked) package private(set) var next: OpenSegment?
  @exclusivity(unchecked) package private(set) var chain: UInt64
  @exclusivity(unchecked) package private(set) var lastCSN: CSN
  @exclusivity(unchecked) private var offset: Int
  /// By the index of the file.
  @exclusivity(unchecked) private var written: [Int: Int] = [:]
  /// Whether no commit has been appended since the last mark.
  @exclusivity(unchecked) package private(set) var endsWithMark = false
  /// The LSN behind the last record that is no part: what readers and those who wait depend on ends there.
  @exclusivity(unchecked) package private(set) var commitLSN: LSN
  private let shared: Latch<Shared>
  private let bytesAppended = Atomic<Int>(0)
  private let syncs = Atomic<Int>(0)

  /// Starts at `offset` of `current`.
  package init(current: OpenSegment, next: OpenSegment, offset: Int, chain: UInt64, lastCSN: CSN) {
    self.current = current
    self.next = next
    self.offset = offset
    self.chain = chain
    self.lastCSN = lastCSN
    commitLSN = current.descriptor.lsn(at: offset)
    shared = Latch(Shared(endLSN: current.descriptor.lsn(at: offset)))
  }

  /// The LSN behind the last record.
  package var endLSN: LSN { shared.withLock { $0.endLSN } }
  /// Bytes handed to write calls since opening.
  package var appendedByteCount: Int { bytesAppended.load(ordering: .relaxed) }
  /// Successful syncs since opening.
  package var syncCount: Int { syncs.load(ordering: .relaxed) }
  /// Where the next record goes in the current segment.
  package var position: Int { offset }

  /// Whether a record with such a body fits the rest of the current segment.
  ///
  /// - Parameter startsBlock: whether the record would start at the next block.
  package func hasRoom(forBody byteCount: Int, startsBlock: Bool) -> Bool {
    let start = startsBlock ? LogLayout.align(offset, to: LogLayout.blockByteCount) : offset
    return LogLayout.recordByteCount(body: byteCount) <= current.descriptor.byteCount - start
  }

  /// Whether a record with such a body would fit an empty segment of this size.
  package static func fits(body byteCount: Int, segmentByteCount: Int) -> Bool {
    LogLayout.recordByteCount(body: byteCount) <= segmentByteCount - LogLayout.firstRecordOffset
  }

  /// Appends a record; it has room. Under the log latch. A part gets the number after that of the last one, a commit
  /// counts for all parts of the buffer's transaction.
  ///
  /// - Returns: the LSN behind the record: durable once a sync has covered it.
  /// - Throws: what the write call failed with; how much of the record is in the file is then unknown, and nothing may
  ///   be appended any more.
  package func append(
    _ buffer: LogBuffer, kind: LogRecordKind, csn: CSN, durableLSN: LSN, durableCheckpoint: UInt64,
    startsBlock: Bool = false
  ) throws(StorageError) -> LSN {
    if startsBlock { offset = LogLayout.align(offset, to: LogLayout.blockByteCount) }
    let header = LogRecordHeader(
      kind: kind, bodyByteCount: buffer.bodyByteCount, lsn: current.descriptor.lsn(at: offset), csn: csn,
      previousCSN: lastCSN, chain: chain, durableLSN: durableLSN, durableCheckpoint: durableCheckpoint,
      partNumber: buffer.partCount + (kind == .part ? 1 : 0), hasUndo: buffer.hasUndo)
    let record = buffer.seal(header, seed: LogLayout.seed(current.descriptor, offset: offset))
    precondition(record.count <= current.descriptor.byteCount - offset, "a log record was appended without room")
    // Entered before the write: a sync that begins meanwhile covers more than it must, never less.
    let segment = current
    shared.withLock { shared in
      if shared.unsynced.last?.file !== segment.file { shared.unsynced.append(segment) }
      shared.begun += 1
    }
    if offset &+ record.count > current.writtenByteCount {
      try writeAhead(of: record.count, isLong: kind == .part || buffer.partCount > 0)
    }
    try segment.file.writeFully(record, at: offset)
    bytesAppended.wrappingAdd(record.count, ordering: .relaxed)
    offset += record.count
    chain = LogBuffer.chain(ofSealed: record)
    let endLSN = current.descriptor.lsn(at: offset)
    if kind != .part {
      lastCSN = csn
      endsWithMark = kind == .mark
      commitLSN = endLSN
    }
    shared.withLock { shared in
      shared.endLSN = endLSN
      shared.finished += 1
      shared.testified = max(shared.testified, durableCheckpoint)
    }
    return endLSN
  }

  /// Writes zeros behind where a record is about to go, so that the flush after it makes many blocks written ones, and
  /// not each flush one: the file system's journal has to take note of that, which costs half a flush. A long record
  /// is its own remedy.
  ///
  /// - Parameter isLong: whether the record is one of several of its transaction, however short: the next such
  ///   transaction would write over the zeros.
  @inline(never) private func writeAhead(of byteCount: Int, isLong: Bool) throws(StorageError) {
    let end = offset + byteCount
    guard byteCount < Self.longRecordByteCount, !isLong else {
      current.writtenByteCount = end
      return
    }
    let count = min(Self.zeros.count, current.descriptor.byteCount - end)
    if count > 0 {
      let outcome: Result<Void, StorageError> = Self.zeros.withUnsafeBytes { zeros in
        do throws(StorageError) {
          return .success(try current.file.writeFully(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: end))
        } catch {
          return .failure(error)
        }
      }
      try outcome.get()
    }
    current.writtenByteCount = end + count
  }

  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)
  private static let longRecordByteCount = 32 << 10

  /// Appends an empty record that testifies to what is durable, in a block of its own: proof and proven must not share
  /// a block that one fault could take (hazard A12). Nil if the segment has no block left.
  package func appendMark(
    _ buffer: LogBuffer, durableLSN: LSN, durableCheckpoint: UInt64
  ) throws(StorageError) -> LSN? {
    let block = LogLayout.align(offset, to: LogLayout.blockByteCount)
    guard block + LogLayout.blockByteCount <= current.descriptor.byteCount else { return nil }
    offset = block
    buffer.reset()
    return try append(
      buffer, kind: .mark, csn: lastCSN, durableLSN: durableLSN, durableCheckpoint: durableCheckpoint)
  }

  /// Notes a commit that reached the disk without a record: the next record's predecessor, so that no recovery can step
  /// over it.
  package func noteUnloggedCommit(_ csn: CSN) { lastCSN = csn }

  /// Goes on at the start of the next segment, which there is. Under the log latch.
  package func switchSegment() {
    guard let segment = next else { preconditionFailure("there is no segment to switch to") }
    written[current.descriptor.fileIndex] = current.writtenByteCount
    current = segment
    next = nil
    offset = LogLayout.firstRecordOffset
  }

  /// Up to where the blocks of a file were written when the log left it; nil if it has not been in it.
  func writtenByteCount(ofFile fileIndex: Int) -> Int? { written[fileIndex] }

  /// Names the segment after the current one.
  package func setNext(_ segment: OpenSegment) { next = segment }

  /// Makes everything appended before the call durable, oldest segment first (hazard A2). One caller at a time.
  ///
  /// - Parameter watch: looks whether what was synced can be found again.
  /// - Returns: the LSN up to which the log is durable now, and the newest checkpoint that a record below testifies to.
  package func synchronize(_ watch: FileWatch? = nil) throws(StorageError) -> (durable: LSN, testified: UInt64) {
    let start = shared.withLock { $0 }
    let segments = start.unsynced
    for segment in segments {
      do throws(SystemError) { try segment.file.synchronize() } catch {
        throw StorageError(synchronizing: error, path: segment.file.path)
      }
      try watch?.check(segment.file, byteCount: segment.descriptor.byteCount)
      syncs.wrappingAdd(1, ordering: .relaxed)
    }
    shared.withLock { shared in
      // The last file stays entered if anything may have been written to it since: the sync need not have covered it.
      let isQuiet = start.begun == start.finished && shared.begun == start.begun
      shared.unsynced.removeFirst(isQuiet ? segments.count : max(0, segments.count - 1))
    }
    return (start.endLSN, start.testified)
  }

  /// Closes the files.
  package func close() {
    current.file.close()
    next?.file.close()
  }
}
