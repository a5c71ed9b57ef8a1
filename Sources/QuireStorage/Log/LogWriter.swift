// Appending to the log, and making it durable.

internal import Synchronization

/// An open segment.
package final class OpenSegment: @unchecked Sendable {
  // Sendable: safe because everything is constant but `writtenByteCount`, which changes under the engine's log latch.
  package let descriptor: SegmentDescriptor
  package let file: any File
  /// Up to where the blocks of the file have been written, and not only allocated; at least what records take.
  @exclusivity(unchecked) var writtenByteCount: Int

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
/// Appending, switching and naming segments borrow the permit of the engine's log latch; syncing is the business of
/// the flush leader, of which there is one at a time. What the two share is atomic, but for the list of
/// files, which is behind a mutex and which an append looks at only when it may be the first to a file.
///
/// Invariants:
/// 1. `current` has room from `offset` on, where nothing of this life of the segment has been written.
/// 2. `chain` and `endLSN` are those of the last record appended, `lastCSN` that of the last commit.
/// 3. `newest`, and before it `older`, oldest first, list every file that holds bytes which no sync has covered. There
///    is nothing in `older` without `newest`.
/// 4. `enteredNumber` is that of `newest`, or `none` while a sync finds out whether that may go.
/// 5. While `isUnsettled`, no record is appended but the mark of the checkpoint that settles it.
package final class LogWriter: @unchecked Sendable {
  // Sendable: safe because everything outside the mutex is touched under the engine's log latch only.
  private struct Unsynced {
    var older: [OpenSegment] = []
    var newest: OpenSegment?
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
  /// Whether a commit by checkpoint has begun, and nobody knows yet whether it is one: whether the next record follows
  /// it or the commit before it.
  @exclusivity(unchecked) package private(set) var isUnsettled = false
  /// The LSN behind the last record that is no part: what readers and those who wait depend on ends there.
  @exclusivity(unchecked) package private(set) var commitLSN: LSN
  private let unsynced = Latch(Unsynced())
  private let enteredNumber = Atomic<UInt64>(LogWriter.none)
  /// Appends begun and finished: where they differ, one is between its write call and `endWord`.
  private let begun = Atomic<Int>(0)
  private let finished = Atomic<Int>(0)
  private let endWord: Atomic<UInt64>
  /// The highest checkpoint that an appended record marks as durable.
  private let markedCheckpoint = Atomic<UInt64>(0)
  private let bytesAppended = Atomic<Int>(0)
  private let syncs = Atomic<Int>(0)
  /// Where the last sync began, and how many bytes there were between syncs, on average over the last few.
  private let syncedLSN: Atomic<UInt64>
  private let averageGroup = Atomic<Int>(0)

  /// No segment has this number.
  private static let none = UInt64.max

  /// Starts at `offset` of `current`.
  package init(current: OpenSegment, next: OpenSegment, offset: Int, chain: UInt64, lastCSN: CSN) {
    self.current = current
    self.next = next
    self.offset = offset
    self.chain = chain
    self.lastCSN = lastCSN
    commitLSN = current.descriptor.lsn(at: offset)
    syncedLSN = Atomic(current.descriptor.lsn(at: offset).rawValue)
    endWord = Atomic(current.descriptor.lsn(at: offset).rawValue)
  }

  /// The LSN behind the last record.
  package var endLSN: LSN { LSN(endWord.load(ordering: .acquiring)) }
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

  /// Appends a record; it has room. A part gets the number after that of the last one, a commit
  /// counts for all parts of the buffer's transaction.
  ///
  /// - Returns: the LSN behind the record: durable once a sync has covered it.
  package func append(
    _ buffer: LogBuffer, kind: LogRecordKind, csn: CSN, durableLSN: LSN, durableCheckpoint: UInt64,
    startsBlock: Bool = false, _ permit: borrowing LogPermit
  ) throws(AppendFailure) -> LSN {
    assert(!isUnsettled || kind == .mark, "a record was appended that nobody knows the predecessor of")
    assert(csn >= lastCSN, "a record is older than the one before it")
    assert(kind != .mark || csn == lastCSN, "a mark stands behind the newest commit")
    assert(kind == .mark || csn > lastCSN, "a commit has the number of the one before it")
    assert(!buffer.isGivenUp, "a record that was given up is not appended")
    if startsBlock { offset = LogLayout.align(offset, to: LogLayout.blockByteCount) }
    let header = LogRecordHeader(
      kind: kind, bodyByteCount: buffer.bodyByteCount, lsn: current.descriptor.lsn(at: offset), csn: csn,
      previousCSN: lastCSN, chain: chain, durableLSN: durableLSN, durableCheckpoint: durableCheckpoint,
      partNumber: buffer.partCount + (kind == .part ? 1 : 0), hasUndo: buffer.hasUndo)
    let record = buffer.seal(header, seed: LogLayout.seed(current.descriptor, offset: offset))
    precondition(record.count <= current.descriptor.byteCount - offset, "a log record was appended without room")
    assert(offset >= LogLayout.firstRecordOffset, "a record lies in the header of its segment")
    assert(offset % 8 == 0 && record.count % 8 == 0, "records are made of whole words")
    // Entered before the write: a sync that begins meanwhile covers more than it must, never less.
    begun.store(begun.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
    if enteredNumber.load(ordering: .sequentiallyConsistent) != current.descriptor.number { enterCurrent() }
    if offset &+ record.count > current.writtenByteCount {
      let isLong = kind == .part || buffer.partCount > 0
      do throws(StorageError) { try writeAhead(of: record.count, isLong: isLong) } catch { throw .unknown(error) }
    }
    do throws(StorageError) { try current.file.writeFully(record, at: offset) } catch { throw refused(record, error) }
    // One caller at a time changes it.
    bytesAppended.store(bytesAppended.load(ordering: .relaxed) &+ record.count, ordering: .relaxed)
    offset += record.count
    chain = LogBuffer.chain(ofSealed: record)
    let endLSN = current.descriptor.lsn(at: offset)
    if kind != .part {
      lastCSN = csn
      endsWithMark = kind == .mark
      commitLSN = endLSN
    }
    if durableCheckpoint > markedCheckpoint.load(ordering: .relaxed) {
      markedCheckpoint.store(durableCheckpoint, ordering: .releasing)
    }
    assert(endLSN.rawValue > endWord.load(ordering: .relaxed), "the log has become shorter")
    assert(commitLSN <= endLSN, "a commit ends behind the log")
    endWord.store(endLSN.rawValue, ordering: .releasing)
    finished.store(finished.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    return endLSN
  }

  /// What a write that failed means. One that found no space has left the record out or torn, as a crash would: file
  /// systems that write each change to a new place refuse it also where blocks were allocated. Recovery stops at such a
  /// record, unless others follow it; so it goes before any can. Read back, since what was refused may be there all the
  /// same.
  ///
  /// - Returns: `refused` if a crash cannot bring the record back, and what comes next may be appended.
  @inline(never) private func refused(_ record: UnsafeRawBufferPointer, _ error: StorageError) -> AppendFailure {
    finished.store(finished.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    guard error.code == .diskFull else { return .unknown(error) }
    do throws(StorageError) {
      let found = try LogFiles.read(current.file, record.count, at: offset)
      if !found.elementsEqual(record) {
        let headerByteCount = LogLayout.headerByteCount
        // With the header, and not with the rest, it would be taken for the torn end of the log whatever follows.
        if found.prefix(headerByteCount).elementsEqual(record.prefix(headerByteCount)) {
          try LogFiles.write([UInt8](repeating: 0, count: headerByteCount)[...], to: current.file, at: offset)
        }
        return .refused(error)
      }
    } catch {}
    return .unknown(
      StorageError(
        .inputOutput,
        "The disk is full, and nobody knows whether it has kept the commit that it refused. Free some space.",
        path: error.path, offset: error.offset, systemError: error.systemError))
  }

  /// Lists the current file as one to sync, if it is not.
  @inline(never) private func enterCurrent() {
    unsynced.withLock { unsynced in
      defer { enteredNumber.store(current.descriptor.number, ordering: .sequentiallyConsistent) }
      if let segment = unsynced.newest {
        assert(segment.descriptor.number <= current.descriptor.number, "the log has gone back to an older segment")
        if segment.descriptor.number == current.descriptor.number { return }
        unsynced.older.append(segment)
      }
      unsynced.newest = current
    }
  }

  /// Writes zeros behind where a record is about to go, so that the flush after it makes many blocks written ones, and
  /// not each flush one: the file system's journal has to take note of that, which costs half a flush.
  ///
  /// A long record is its own remedy, and so are many short ones between two flushes: then zeros would be as many bytes
  /// again, for a flush that has as many blocks to take note of with them as without.
  ///
  /// - Parameter isLong: whether the record is one of several of its transaction, however short: the next such
  ///   transaction would write over the zeros.
  @inline(never) private func writeAhead(of byteCount: Int, isLong: Bool) throws(StorageError) {
    let end = offset + byteCount
    let unsynced = Int(clamping: current.descriptor.lsn(at: end).rawValue &- syncedLSN.load(ordering: .relaxed))
    let group = max(unsynced, averageGroup.load(ordering: .relaxed))
    guard byteCount < Self.longRecordByteCount, group < Self.longGroupByteCount, !isLong else {
      current.writtenByteCount = end
      return
    }
    try writeZeros(behind: end)
  }

  @inline(never) private func writeZeros(behind end: Int) throws(StorageError) {
    assert(end <= current.descriptor.byteCount, "zeros go behind the end of the segment")
    // Without memory for them every flush takes half as long again, and that is all.
    var count = Self.zeros == nil ? 0 : min(Self.zeroByteCount, current.descriptor.byteCount - end)
    do throws(StorageError) {
      if count > 0 { try current.file.writeFully(UnsafeRawBufferPointer(start: Self.zeros, count: count), at: end) }
    } catch {
      guard error.code == .diskFull else { throw error }
      // A full disk may have room for the record all the same.
      count = 0
    }
    current.writtenByteCount = end + count
  }

  private static let zeroByteCount = 256 << 10
  /// Fresh memory of the system, never given back: nobody fills it, and all of it may be one page.
  // nonisolated(unsafe): safe because nobody ever writes there.
  nonisolated(unsafe) private static let zeros: UnsafeRawPointer? =
    (try? VirtualMemory.reserve(byteCount: zeroByteCount)).map { UnsafeRawPointer($0.base) }
  private static let longRecordByteCount = 32 << 10
  private static let longGroupByteCount = 128 << 10

  /// Appends an empty record that marks what is durable, in a block of its own: proof and proven must not share
  /// a block that one fault could take (hazard A12). Nil if the segment has no block left.
  package func appendMark(
    _ buffer: LogBuffer, durableLSN: LSN, durableCheckpoint: UInt64, _ permit: borrowing LogPermit
  ) throws(AppendFailure) -> LSN? {
    let block = LogLayout.align(offset, to: LogLayout.blockByteCount)
    guard block + LogLayout.blockByteCount <= current.descriptor.byteCount else { return nil }
    assert(block >= offset, "a mark would overwrite a record")
    offset = block
    buffer.reset()
    return try append(
      buffer, kind: .mark, csn: lastCSN, durableLSN: durableLSN, durableCheckpoint: durableCheckpoint, permit)
  }

  /// Notes a commit by checkpoint, which is to reach the disk without a record: the next record's predecessor, so that
  /// no recovery can step over it. At the freeze of its checkpoint, under the same hold of the latch: what came in
  /// between would be the first record behind the new meta page, and follow the commit before.
  package func beginUnloggedCommit(_ csn: CSN, _ permit: borrowing LogPermit) {
    assert(!isUnsettled, "one commit by checkpoint at a time")
    lastCSN = csn
    isUnsettled = true
  }

  /// The commit by checkpoint has ended.
  ///
  /// - Parameter remaining: the newest commit there is, itself or the one before it.
  package func endUnloggedCommit(remaining csn: CSN, _ permit: borrowing LogPermit) {
    assert(csn <= lastCSN, "what remains is the commit by checkpoint or the one before it")
    lastCSN = csn
    isUnsettled = false
  }

  /// Goes on at the start of the next segment, which there is.
  package func switchSegment(_ permit: borrowing LogPermit) {
    guard let segment = next else { preconditionFailure("there is no segment to switch to") }
    assert(segment.descriptor.firstLSN >= endLSN, "the next segment begins within this one")
    assert(segment.descriptor.number > current.descriptor.number, "the next segment is an older one")
    assert(segment.descriptor.fileIndex != current.descriptor.fileIndex, "a segment follows itself in one file")
    written[current.descriptor.fileIndex] = current.writtenByteCount
    current = segment
    next = nil
    offset = LogLayout.firstRecordOffset
  }

  /// Up to where the blocks of a file were written when the log left it; nil if it has not been in it.
  func writtenByteCount(ofFile fileIndex: Int) -> Int? { written[fileIndex] }

  /// Names the segment after the current one.
  package func setNext(_ segment: OpenSegment, _ permit: borrowing LogPermit) { next = segment }

  /// Makes everything appended before the call durable, oldest segment first (hazard A2). One caller at a time.
  ///
  /// - Parameter watch: looks whether what was synced can be found again.
  /// - Returns: the LSN up to which the log is durable now, and the newest checkpoint that a record below marks.
  package func synchronize(_ watch: FileWatch? = nil) throws(StorageError) -> (durable: LSN, markedCheckpoint: UInt64) {
    // In this order: an append that is not finished has begun, and the file of every record below `end` is listed.
    let finishedCount = finished.load(ordering: .acquiring)
    let end = LSN(endWord.load(ordering: .acquiring))
    let markedCheckpoint = markedCheckpoint.load(ordering: .acquiring)
    let begunCount = begun.load(ordering: .sequentiallyConsistent)
    let start = unsynced.withLock { $0 }
    for segment in start.older { try synchronize(segment, watch) }
    if let segment = start.newest { try synchronize(segment, watch) }
    unsynced.withLock { unsynced in
      if !start.older.isEmpty { unsynced.older.removeFirst(start.older.count) }
      // The last file stays listed if anything may have been written to it since: the sync need not have covered it.
      // An append says that it has begun and then looks at the number; here it is the other way round, so that either
      // its beginning is seen here, or it comes to enter its file again and waits for the end of this.
      guard let newest = unsynced.newest else { return }
      enteredNumber.store(Self.none, ordering: .sequentiallyConsistent)
      if finishedCount == begunCount, begun.load(ordering: .sequentiallyConsistent) == begunCount {
        unsynced.newest = nil
      } else {
        enteredNumber.store(newest.descriptor.number, ordering: .sequentiallyConsistent)
      }
    }
    noteGroup(upTo: end)
    return (end, markedCheckpoint)
  }

  private func synchronize(_ segment: OpenSegment, _ watch: FileWatch?) throws(StorageError) {
    do throws(SystemError) { try segment.file.synchronize() } catch {
      throw StorageError(synchronizing: error, path: segment.file.path)
    }
    try watch?.check(segment.file, byteCount: segment.descriptor.byteCount)
    syncs.wrappingAdd(1, ordering: .relaxed)
  }

  private func noteGroup(upTo end: LSN) {
    let before = syncedLSN.exchange(end.rawValue, ordering: .relaxed)
    let group = Int(clamping: end.rawValue &- min(before, end.rawValue))
    // The newest counts for half: a checkpoint flushes a whole segment, and next to nothing a moment later.
    averageGroup.store((averageGroup.load(ordering: .relaxed) &+ group) / 2, ordering: .relaxed)
  }

  /// Checks the invariants; returns what is broken. Not after a failure, which may leave an append half done.
  package func checkInvariants(_ permit: borrowing LogPermit) -> String? {
    guard offset >= LogLayout.firstRecordOffset, offset <= current.descriptor.byteCount, offset % 8 == 0 else {
      return "the next record goes to \(offset) of \(current.descriptor.byteCount) bytes"
    }
    if endLSN > current.descriptor.lsn(at: offset) { return "the last record ends behind where the next one goes" }
    if commitLSN > endLSN { return "a commit ends behind the log" }
    if begun.load(ordering: .relaxed) != finished.load(ordering: .relaxed) { return "an append has not ended" }
    if let next, next.descriptor.number <= current.descriptor.number { return "the next segment is an older one" }
    return unsynced.withLock { unsynced in
      guard let newest = unsynced.newest else {
        let isNone = enteredNumber.load(ordering: .sequentiallyConsistent) == Self.none
        return unsynced.older.isEmpty && isNone ? nil : "older files are to be synced, and not the newest"
      }
      let numbers = unsynced.older.map(\.descriptor.number) + [newest.descriptor.number]
      if zip(numbers, numbers.dropFirst()).contains(where: { $0 >= $1 }) { return "files to sync are out of order" }
      let entered = enteredNumber.load(ordering: .sequentiallyConsistent)
      return [Self.none, newest.descriptor.number].contains(entered) ? nil : "file \(entered) is to be synced twice"
    }
  }

  /// Closes the files.
  package func close() {
    current.file.close()
    next?.file.close()
  }
}
