// How large log segments are, which files hold them, and which files go.

internal import Synchronization

/// What checkpoints in a row have found of their segments, all of them mostly empty.
struct SegmentUse {
  /// How many there were; one that has found next to nothing counts twice.
  var streak = 0
  /// The most that one of them has found used, in bytes.
  var largest = 0
}

/// How large segments are made.
struct SegmentSizing {
  /// A size for the next one, in bytes.
  var desiredByteCount: Int
  /// How much of their segments the last checkpoints have found used.
  var use = SegmentUse()
}

extension LogManager {
  /// How many checkpoints in a row must find their segment mostly empty before the next one made is smaller.
  private static let shrinkStreak = 4
  /// A segment that is used to less than one part in so many is mostly empty.
  private static let emptyShare = 4

  // MARK: Size

  /// A segment has filled between two checkpoints: the next one that is made is twice as long as the newest, and no
  /// longer one of a log at rest, since a burst has begun. No checkpoint runs.
  func growSegments(_ permit: borrowing WriterPermit) {
    let newest = with { ($0?.next ?? $0?.current)?.descriptor.byteCount ?? 0 }
    assert(writerLock.isHeldByThisThread, "segments grow without the writer lock")
    let largest = largestSegmentByteCount
    let usual = Self.initialSegmentByteCount(options, environment)
    changeSizing(permit) { sizing in
      sizing.use = SegmentUse()
      sizing.desiredByteCount = min(largest, max(sizing.desiredByteCount, newest * 2, usual))
    }
  }

  /// Looks at a freeze how much of the log has been used since the one before. Where checkpoints come for
  /// other reasons than a full log, several times in a row, a size will do that the fullest would not have found mostly
  /// empty: after a load has made segments long, deletes, which log little, should not leave them so.
  func noteSegmentUse(_ log: LogWriter, _ permit: borrowing WriterPermit) {
    let size = log.current.descriptor.byteCount
    let used = Int(clamping: log.current.descriptor.lsn(at: log.position).rawValue &- frozenLSN.rawValue)
    // A log that has become longer has filled a segment at least.
    let isWellUsed = used > size / Self.emptyShare || isLengthened
    let initial = Self.initialSegmentByteCount(options, environment)
    changeSizing(permit) { sizing in
      if isWellUsed {
        sizing.use = SegmentUse()
        return
      }
      sizing.use.streak += used < size / (Self.emptyShare * Self.emptyShare) ? 2 : 1
      sizing.use.largest = max(sizing.use.largest, used)
      guard sizing.use.streak >= Self.shrinkStreak else { return }
      let wanted = LogLayout.align(sizing.use.largest * Self.emptyShare, to: LogLayout.blockByteCount)
      sizing.use = SegmentUse()
      // Shorter ones are for a time in which nobody writes; and where those are wished for, they stay so.
      let smallest = min(size, initial, sizing.desiredByteCount)
      sizing.desiredByteCount = max(smallest, min(sizing.desiredByteCount, wanted, size / 2 & ~7))
    }
  }

  /// Makes the next segments those of a log at rest. No checkpoint runs.
  func resetSegmentSize(_ permit: borrowing WriterPermit) {
    let smallest = smallestSegmentByteCount
    changeSizing(permit) { sizing in sizing = SegmentSizing(desiredByteCount: smallest) }
  }

  /// The size of segments while nobody writes.
  private var smallestSegmentByteCount: Int {
    Self.restingSegmentByteCount(options, environment, dataByteCount: dataByteCount)
  }

  /// What the log takes when nobody writes, in bytes: two segments, of which one is ready for the next commits.
  var restingByteCount: Int { Self.usualSegmentCount * smallestSegmentByteCount }

  /// What the files of the log take, in bytes.
  var byteCount: Int { meta.current.segments.reduce(0) { $0 + $1.byteCount } }

  /// Whether the segment in use is one of a log at rest, and three quarters of it are used: a few more commits would
  /// have the log grow.
  func isRestingAndMostlyUsed(_ permit: borrowing WriterPermit) -> Bool {
    let usual = Self.initialSegmentByteCount(options, environment)
    return with { log in
      guard let log, log.next != nil else { return false }
      let size = log.current.descriptor.byteCount
      return size < usual && log.position >= size / 4 * 3
    }
  }

  private var largestSegmentByteCount: Int { logAllowance }

  /// How long a segment may become, and the log without a checkpoint: as long as the data, as far as the limit allows.
  /// Random changes touch nearly every page between two checkpoints; with a log in proportion each of them still writes
  /// about as much as was logged, where with a short log every checkpoint would write all data for a little log. Not
  /// longer than half of the cache beyond the usual: recovery has the log in memory.
  ///
  /// A small footprint has room for an eleventh of the data.
  var logAllowance: Int {
    if options.diskFootprint == .small { return min(options.logLimit & ~7, space.smallFootprint.logByteCount) }
    return max(usualLogByteCount, min(longestLogByteCount, dataByteCount & ~7))
  }

  /// What there is of data, in the file and in memory.
  var dataByteCount: Int { (Int(allocator.pageCount) + store.frames.dirtyCount) * store.pageSize }

  /// How long the log may become at the most.
  var longestLogByteCount: Int {
    if options.diskFootprint == .small { return logAllowance }
    return max(usualLogByteCount, min(options.logLimit, options.cacheSize / 2, environment.longestLogByteCount) & ~7)
  }

  private var usualLogByteCount: Int {
    let initial = Self.initialSegmentByteCount(options, environment)
    return min(options.logLimit, max(environment.usualLogByteCount, initial)) & ~7
  }

  /// The size of the first segments, and of those after a quiet time once a burst of commits has begun. Sizes are
  /// multiples of 8, as records are.
  static func initialSegmentByteCount(_ options: StorageOptions, _ environment: StorageEnvironment) -> Int {
    min(options.logLimit, environment.initialSegmentByteCount) & ~7
  }

  /// The size of the segments that a quiet time leaves: one part in 64 of the data, so that they
  /// are not most of what a small database takes on the disk.
  static func restingSegmentByteCount(
    _ options: StorageOptions, _ environment: StorageEnvironment, dataByteCount: Int
  ) -> Int {
    let part = LogLayout.align(dataByteCount / 64, to: LogLayout.blockByteCount)
    let wanted = max(environment.restingSegmentByteCount, part)
    return min(initialSegmentByteCount(options, environment), wanted)
  }

  /// How many segments the log has when nothing has made it longer: one in use, and the next.
  private static let usualSegmentCount = 2
  /// How many times as long as the log the next segment is; and for a transaction that fills segments alone.
  private static let usualGrowth = 4
  private static let streamedGrowth = 8

  /// Whether the newest meta page names more segments than usual: the log has filled one since the last checkpoint, and
  /// the next checkpoint leaves files that nobody needs.
  var isLengthened: Bool { meta.current.segments.count > Self.usualSegmentCount }

  /// The size of another segment; nil if the meta page has no room for it, or the log would exceed its limit, so that
  /// recovery never has more to replay than what two segments of the largest size hold.
  ///
  /// Where there is much data the log grows steeply, because a meta page names few segments: a burst that comes after a
  /// quiet time finds short ones, and would else pay for a checkpoint of all that it touches long before the log is as
  /// long as it may be. A transaction that fills segments alone gets a long one, however little data there is yet: it
  /// had better find room in the log than write its pages home while it runs.
  func additionalByteCount(behind last: SegmentDescriptor) -> Int? {
    let named = meta.current.segments
    let total = named.reduce(0) { $0 + $1.byteCount }
    let isStreamed = context.log.partCount > 0
    let room = ((isStreamed ? longestLogByteCount : logAllowance) - total) & ~7
    guard named.count < Limits.segmentsInMetaPage, named.last == last, desiredSegmentByteCount <= room else {
      return nil
    }
    let wanted = isStreamed ? Self.streamedGrowth * total : min(Self.usualGrowth * total, dataByteCount)
    return min(room, max(desiredSegmentByteCount, wanted & ~7))
  }

  // MARK: Making

  /// A segment that is ready to be named by a meta page.
  struct NextSegment {
    let segment: OpenSegment
    /// Whether its file is one that has just been made.
    let isNewFile: Bool
  }

  /// Finds or makes the file of the segment after the current one; nil if there is no log. On the checkpoint's thread.
  ///
  /// The file of a segment that this checkpoint makes superfluous takes the next turn, the largest of them; a log that
  /// has become longer without a checkpoint leaves others, which go when the checkpoint is proven. The newest meta page
  /// still needs that segment: its file may become longer now, but shorter only when the checkpoint is proven.
  func prepareNextSegment() throws(StorageError) -> NextSegment? {
    guard let current = with({ $0?.current.descriptor }) else { return nil }
    let old = meta.current.segments.filter { $0.fileIndex != current.fileIndex }.max { $0.byteCount < $1.byteCount }
    var descriptor = SegmentDescriptor(
      number: current.number + 1, salt: environment.random(), byteCount: desiredSegmentByteCount,
      firstLSN: current.endLSN, fileIndex: old?.fileIndex ?? (current.fileIndex + 1) % Limits.segmentFileCount)
    assert(descriptor.fileIndex != current.fileIndex, "a segment follows itself in one file")
    assert(descriptor.byteCount % 8 == 0, "segments are made of whole words")
    guard let old else {
      let made = try withFinalSyncs { () throws(StorageError) in try logFiles.create(descriptor) }
      return NextSegment(segment: made, isNewFile: true)
    }
    let file = try logFiles.open(old, .readWrite)
    // What was made in a hurry may have blocks that were never written.
    var written = with { $0?.writtenByteCount(ofFile: old.fileIndex) } ?? old.byteCount
    do throws(StorageError) {
      if old.byteCount < descriptor.byteCount {
        let isFilled = try withFinalSyncs { () throws(StorageError) in
          try logFiles.extend(file, from: old.byteCount, to: descriptor.byteCount)
        }
        if isFilled, written >= old.byteCount { written = descriptor.byteCount }
      }
    } catch {
      guard error.code == .diskFull else {
        file.close()
        throw error
      }
      // A full disk must not keep the checkpoint from giving space back: the smaller segment does for another turn.
      descriptor.byteCount = old.byteCount
    }
    return NextSegment(
      segment: OpenSegment(
        descriptor: descriptor, file: file, writtenByteCount: min(written, descriptor.byteCount)),
      isNewFile: false)
  }

  /// Cuts the file of a segment to its size: at the end of a checkpoint, when nothing needs the rest.
  func cut(_ segment: OpenSegment) {
    do throws(SystemError) {
      if try segment.file.status().byteCount > segment.descriptor.byteCount {
        try segment.file.resize(to: segment.descriptor.byteCount)
      }
    } catch {
      // Its next turn has another try.
    }
  }

  /// Runs what makes a log file or makes it longer. A sync that fails there is as final as any other: of what the
  /// system may have dropped, such as the name of the file, the next sync would say that it is durable.
  func withFinalSyncs<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
    do throws(StorageError) { return try body() } catch {
      if error.code == .failStop { queue.fail(error) }
      throw error
    }
  }

  /// Makes the first two segments and a meta page that names them: before the first record after an opening. No
  /// checkpoint runs, and there is no log.
  ///
  /// The file may have become longer because nobody has proven yet that its own free places are free; on a full disk,
  /// the log takes that space.
  func activate(_ permit: borrowing WriterPermit) throws(StorageError) {
    do throws(StorageError) { return try makeFirstSegments(permit) } catch {
      guard error.code == .diskFull, !queue.hasStopped, try space.provePlaces(permit) else { throw error }
    }
    space.cutFile(keeping: 0, permit)
    try makeFirstSegments(permit)
  }

  private func makeFirstSegments(_ permit: borrowing WriterPermit) throws(StorageError) {
    try checkFiles()
    try MetaPageFallback(meta: meta, logFiles: logFiles).chooseMetaSlot()
    // Not in files that the meta page before the newest may still need.
    let taken = Set((meta.predecessor?.segments ?? []).map(\.fileIndex))
    // The process that made the data file may have been killed before its name was durable. A crash that kept the name
    // of a log and lost that of the data file would leave what looks like a deleted database.
    try withFinalSyncs { () throws(StorageError) in
      do throws(SystemError) { try environment.fileSystem.synchronizeDirectory(of: file.path) } catch {
        throw StorageError(synchronizing: error, path: file.path)
      }
    }
    assert(!exists, "a log begins where there is one")
    assert(writerLock.isHeldByThisThread, "a log begins without the writer lock")
    let segments = try createFirstSegments(taken: taken, permit)
    var page = meta.current
    assert(segments.count == 2 && segments[0].descriptor.endLSN == segments[1].descriptor.firstLSN, "the log has a gap")
    page.checkpointNumber += 1
    page.segments = segments.map(\.descriptor)
    page.logOffset = LogLayout.firstRecordOffset
    page.lsn = segments[0].descriptor.lsn(at: LogLayout.firstRecordOffset)
    try writeMeta(page)
    removeFiles(except: page.segments + (meta.predecessor?.segments ?? []))
    start(
      LogWriter(
        current: segments[0], next: segments[1], offset: page.logOffset, chain: page.chain, lastCSN: page.csn),
      permit)
  }

  /// Makes the files of the first two segments: shorter ones where the disk has no room for the usual ones, so that at
  /// least deletes can be logged. What was allocated behind the end of the data file goes before that.
  private func createFirstSegments(
    taken: Set<Int>, _ permit: borrowing WriterPermit
  ) throws(StorageError) -> [OpenSegment] {
    while true {
      do throws(StorageError) { return try createFirstSegments(desiredSegmentByteCount, taken: taken) } catch {
        let shorter = desiredSegmentByteCount / 2 & ~7
        guard error.code == .diskFull, shorter >= StorageEnvironment.leastSegmentByteCount else { throw error }
        changeSizing(permit) { sizing in sizing.desiredByteCount = shorter }
        space.cutFile(keeping: 0, permit)
      }
    }
  }

  private func createFirstSegments(_ byteCount: Int, taken: Set<Int>) throws(StorageError) -> [OpenSegment] {
    var taken = taken
    var number = (meta.predecessor?.segments.map(\.number).max() ?? 0) + meta.current.checkpointNumber << 8
    var firstLSN = meta.current.lsn
    var segments: [OpenSegment] = []
    do throws(StorageError) {
      for _ in 0..<2 {
        let fileIndex = (0..<Limits.segmentFileCount).first { !taken.contains($0) } ?? 0
        assert(!taken.contains(fileIndex), "a segment is made in a file that is needed")
        taken.insert(fileIndex)
        let descriptor = SegmentDescriptor(
          number: number, salt: environment.random(), byteCount: byteCount, firstLSN: firstLSN, fileIndex: fileIndex)
        segments.append(try withFinalSyncs { () throws(StorageError) in try logFiles.create(descriptor) })
        number += 1
        firstLSN = descriptor.endLSN
      }
      return segments
    } catch {
      // No meta page names the first one: its space goes back to a disk that is full.
      for segment in segments {
        segment.file.close()
        do throws(StorageError) { try logFiles.remove(segment.descriptor.fileIndex) } catch {}
      }
      throw error
    }
  }

  // MARK: Removing

  /// Removes log files that no meta page names.
  func removeFiles(except named: [SegmentDescriptor]) {
    let kept = Set((named + (with { $0.map { [$0.current.descriptor] } } ?? [])).map(\.fileIndex))
    for fileIndex in 0..<Limits.segmentFileCount where !kept.contains(fileIndex) {
      // A file that cannot be removed is in nobody's way; the next one that is made has another try.
      do throws(StorageError) { try logFiles.remove(fileIndex) } catch {}
    }
  }

  /// Removes all log files, when both meta pages are durable and need none: after a recovery, and at a clean close.
  func removeAllFiles() {
    for fileIndex in 0..<Limits.segmentFileCount {
      do throws(StorageError) { try logFiles.remove(fileIndex) } catch {}
    }
  }
}
