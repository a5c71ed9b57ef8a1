// Opening after a crash without writing home first what the log holds.

extension EngineCore {
  /// Has the log go on in a fresh segment behind what recovery has replayed, and leaves it to a checkpoint beside the
  /// first transactions to write that home.
  ///
  /// What is proven durable stays where it is. What is not is copied to the fresh segment and synced, and only then
  /// does a meta page name that segment and say where the old one ends: whoever reads by the page before it finds the
  /// log as it was. As when a log becomes longer, a record that testifies to the new page is durable before any commit
  /// is: the page before it would not lead there, and must not pass for as good. The segment gets its header last:
  /// found without a page that names it, it would else be taken for the log of one that is lost.
  ///
  /// The meta page says of the trees, and of where the log begins, what the newest one says. Everything that anybody
  /// sees is durable, as after `finishRecovery`; what it trades for the speed of opening is a longer way to get there.
  ///
  /// - Returns: false, and nothing has been done, if the log is short, so that writing it home takes no time, or if
  ///   it must not go on: `finishRecovery` is then needed.
  /// - Throws: `inputOutput`, `failStop`.
  func continueLog(_ scan: LogScan, _ reader: LogReader) throws(StorageError) -> Bool {
    let logByteCount = scan.records.reduce(0) { $0 + $1.header.recordByteCount }
    guard logByteCount >= environment.continuedLogByteCount, hasOwnFiles, meta.isProven, let cut = reader.cut(scan),
      cut.tailByteCount <= Self.copiedTailByteCount, cut.segment + 3 <= Limits.segmentsInMetaPage
    else { return false }
    var named = Array(meta.current.segments[...cut.segment])
    named[cut.segment].byteCount = cut.offset
    guard let fresh = describeSegments(behind: named[cut.segment], holding: cut.tailByteCount) else { return false }
    guard let log = try makeLog(fresh, behind: cut) else { return false }
    do throws(StorageError) {
      try copy(cut.tail, reader, to: log)
      try checkFiles()
      var page = meta.current
      page.checkpointNumber += 1
      page.segments = named + fresh
      try writeMeta(page)
      try testify(log)
      try logFiles.writeHeader(fresh[0], to: log.current.file)
    } catch {
      log.close()
      throw error
    }
    // Both slots lead to the same trees now, and nothing older can be fallen back to.
    allocator.prove(meta.current.checkpointNumber)
    hasContinuedLog = true
    frozenPosition = log.position
    queue.noteRecovered(log.endLSN)
    setLog(log)
    try writerLock.lock()
    beginCheckpoint()
    writerLock.unlock()
    dispatchCheckpoint()
    return true
  }

  /// More than that is not copied. A group of commits is far less; commits that did not wait for the disk may be more.
  private static let copiedTailByteCount = 1 << 20

  /// Two segments behind `last`, the first with room for a tail of so many bytes; nil if there are no files for them
  /// that no meta page may need, or if they would be too long.
  private func describeSegments(
    behind last: SegmentDescriptor, holding tailByteCount: Int
  ) -> [SegmentDescriptor]? {
    let used = meta.current.segments + (meta.predecessor?.segments ?? [])
    let taken = Set(used.map(\.fileIndex))
    let free = (0..<Limits.segmentFileCount).filter { !taken.contains($0) }
    // The mark behind the tail has a block of its own.
    let byteCount =
      desiredSegmentByteCount + LogLayout.align(tailByteCount, to: LogLayout.blockByteCount) + LogLayout.blockByteCount
    guard free.count >= 2, byteCount <= Limits.segmentByteCounts.upperBound else { return nil }
    let number = (used.map(\.number).max() ?? last.number) + 1
    let first = SegmentDescriptor(
      number: number, salt: environment.random(), byteCount: byteCount, firstLSN: last.endLSN, fileIndex: free[0])
    let second = SegmentDescriptor(
      number: number + 1, salt: environment.random(), byteCount: desiredSegmentByteCount, firstLSN: first.endLSN,
      fileIndex: free[1])
    return [first, second]
  }

  /// Makes the files of both; nil if the disk is full.
  private func makeLog(_ segments: [SegmentDescriptor], behind cut: LogCut) throws(StorageError) -> LogWriter? {
    var made: [OpenSegment] = []
    do throws(StorageError) {
      made.append(try logFiles.create(segments[0], hasHeader: false))
      made.append(try logFiles.create(segments[1]))
    } catch {
      // No meta page names the first one: its space goes back to a disk that is full.
      for segment in made {
        segment.file.close()
        do throws(StorageError) { try logFiles.remove(segment.descriptor.fileIndex) } catch {}
      }
      guard error.code == .diskFull else { throw error }
      return nil
    }
    return LogWriter(
      current: made[0], next: made[1], offset: LogLayout.firstRecordOffset, chain: cut.chain, lastCSN: cut.csn)
  }

  /// Writes the commits that nothing proves to the fresh segment, and syncs it.
  private func copy(_ tail: [LogScan.Record], _ reader: LogReader, to log: LogWriter) throws(StorageError) {
    let buffer = LogBuffer()
    for record in tail {
      buffer.reset()
      buffer.append(operations: reader.committedBody(of: record))
      _ = try log.append(
        buffer, kind: .commit, csn: record.header.csn, durableLSN: LSN(log.current.descriptor.firstLSN.rawValue),
        durableCheckpoint: meta.current.checkpointNumber)
    }
    _ = try log.synchronize()
  }

  /// Appends the mark that testifies to the meta page, and syncs it.
  private func testify(_ log: LogWriter) throws(StorageError) {
    do throws(StorageError) {
      let lsn = try log.appendMark(
        LogBuffer(), durableLSN: log.endLSN, durableCheckpoint: meta.current.checkpointNumber)
      precondition(lsn != nil, "the fresh segment was made with room for the mark")
      _ = try log.synchronize()
    } catch {
      queue.fail(error)
      throw error
    }
  }
}
