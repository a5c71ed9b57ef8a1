// Opening after a crash without writing home first what the log holds.

extension Recovery {
  /// Lets the log go on in a fresh segment behind what recovery has replayed, and leaves it to a checkpoint beside the
  /// first transactions to write that home.
  ///
  /// What is proven durable stays where it is. What is not is copied to the fresh segment and synced, and only then
  /// does a meta page name that segment and say where the old one ends: an opening by the page before it finds the
  /// log as it was. As when a log becomes longer, a record that marks the new page durable is synced before any commit
  /// is: the page before it would not lead there, and must not pass for as good. The segment gets its header last:
  /// found without a page that names it, it would else be taken for the log of one that is lost.
  ///
  /// The meta page says of the trees, and of where the log begins, what the newest one says. Everything that anybody
  /// sees is durable, as after `finish`; what it trades for the speed of opening is a longer way to get there.
  ///
  /// - Returns: false, and nothing has been done, if the log is short, so that writing it home takes no time, or if
  ///   it must not go on: `finish` is then needed.
  /// - Throws: `inputOutput`, `failStop`.
  func continueLog(_ permit: borrowing WriterPermit) throws(StorageError) -> Bool {
    let logByteCount = scan.records.reduce(0) { $0 + $1.header.recordByteCount }
    guard logByteCount >= core.environment.continuedLogByteCount, core.hasOwnFiles, core.meta.isProven,
      let cut = reader.cut(scan),
      cut.tailByteCount <= Self.copiedTailByteCount, cut.segment + 3 <= Limits.segmentsInMetaPage
    else { return false }
    var named = Array(core.meta.current.segments[...cut.segment])
    named[cut.segment].byteCount = cut.offset
    guard let fresh = describeSegments(behind: named[cut.segment], cut, logByteCount) else { return false }
    guard let log = try makeLog(fresh, behind: cut) else { return false }
    do throws(StorageError) {
      let durableLSN = try copy(cut.tail, to: log)
      try core.log.checkFiles()
      var page = core.meta.current
      page.checkpointNumber += 1
      page.segments = named + fresh
      try core.writeMeta(page)
      try appendMark(log, durableLSN)
      try core.logFiles.writeHeader(fresh[0], to: log.current.file)
    } catch {
      log.close()
      throw error
    }
    // Both slots lead to the same trees now, and nothing older can be fallen back to.
    core.allocator.prove(core.meta.current.checkpointNumber)
    core.hasContinuedLog = true
    core.log.changeSizing(permit) { sizing in sizing.desiredByteCount = fresh[1].byteCount }
    core.queue.noteRecovered(log.endLSN)
    core.log.start(log, permit)
    beginSettling(permit)
    return true
  }

  /// Begins the checkpoint that writes home what was replayed.
  private func beginSettling(_ permit: borrowing WriterPermit) {
    // No commit of this life has made sure of places for these pages. Without them the checkpoint takes what there is,
    // and tells of the full disk; the next writer makes another try.
    do throws(StorageError) { try core.checkpointer.reservePlaces(permit) } catch {}
    guard !core.checkpointer.isRunning, !core.queue.hasStopped else { return }
    core.checkpointer.begin(permit)
    core.checkpointer.dispatch()
  }

  /// More than that is not copied. A group of commits is far less; commits that did not wait for the disk may be more.
  private static let copiedTailByteCount = 1 << 20

  /// Two segments behind `last`: one for the tail and the mark, in which nothing else will stand, because the
  /// checkpoint goes on in the other; nil if there are no files for them that no meta page may need.
  ///
  /// The other has a quarter of the length of the log that was replayed: so much was written before the crash, and
  /// writers wait for the checkpoint when it is full.
  private func describeSegments(
    behind last: SegmentDescriptor, _ cut: LogCut, _ logByteCount: Int
  ) -> [SegmentDescriptor]? {
    let used = core.meta.current.segments + (core.meta.predecessor?.segments ?? [])
    let taken = Set(used.map(\.fileIndex))
    let free = (0..<Limits.segmentFileCount).filter { !taken.contains($0) }
    guard free.count >= 2 else { return nil }
    let byteCount = max(core.log.desiredSegmentByteCount, min(core.log.logAllowance / 2, logByteCount / 4) & ~7)
    let number = (used.map(\.number).max() ?? last.number) + 1
    // The mark has a block of its own.
    let tail = LogLayout.align(cut.tailByteCount, to: LogLayout.blockByteCount)
    let first = SegmentDescriptor(
      number: number, salt: core.environment.random(),
      byteCount: LogLayout.firstRecordOffset + tail + LogLayout.blockByteCount, firstLSN: last.endLSN,
      fileIndex: free[0])
    let second = SegmentDescriptor(
      number: number + 1, salt: core.environment.random(), byteCount: byteCount, firstLSN: first.endLSN,
      fileIndex: free[1])
    return [first, second]
  }

  /// A longer segment is allocated and not filled with zeros, so that opening does not wait for them.
  private static let filledByteCount = 1 << 20

  /// Makes the files of both; nil if the disk is full.
  private func makeLog(_ segments: [SegmentDescriptor], behind cut: LogCut) throws(StorageError) -> LogWriter? {
    var made: [OpenSegment] = []
    do throws(StorageError) {
      made.append(try core.logFiles.create(segments[0], hasHeader: false))
      made.append(try core.logFiles.create(segments[1], isFilled: segments[1].byteCount <= Self.filledByteCount))
    } catch {
      // No meta page names the first one: its space goes back to a disk that is full.
      for segment in made {
        segment.file.close()
        do throws(StorageError) { try core.logFiles.remove(segment.descriptor.fileIndex) } catch {}
      }
      guard error.code == .diskFull else { throw error }
      return nil
    }
    return LogWriter(
      current: made[0], next: made[1], offset: LogLayout.firstRecordOffset, chain: cut.chain, lastCSN: cut.csn)
  }

  /// Writes the commits that nothing proves to the fresh segment, and syncs it.
  ///
  /// - Returns: the LSN up to which the log is durable then: behind the last of them, or the cut. Not where the next
  ///   record goes, which a torn mark would then say of itself.
  private func copy(_ tail: [LogScan.Record], to log: LogWriter) throws(StorageError) -> LSN {
    var durableLSN = log.current.descriptor.firstLSN
    if tail.isEmpty { return durableLSN }
    let buffer = LogBuffer()
    // Nobody else has the log yet.
    let latch = LogLatch()
    for record in tail {
      buffer.reset()
      buffer.append(operations: reader.committedBody(of: record))
      do throws(AppendFailure) {
        durableLSN = try latch.withLock { (alone: borrowing LogPermit) throws(AppendFailure) in
          try log.append(
            buffer, kind: .commit, csn: record.header.csn, durableLSN: log.current.descriptor.firstLSN,
            durableCheckpoint: core.meta.current.checkpointNumber, alone)
        }
      } catch { throw error.reason }
    }
    _ = try log.synchronize()
    return durableLSN
  }

  /// Appends the mark that says that the meta page is durable, and syncs it.
  private func appendMark(_ log: LogWriter, _ durableLSN: LSN) throws(StorageError) {
    do throws(StorageError) {
      let lsn: LSN?
      do throws(AppendFailure) {
        lsn = try LogLatch().withLock { (alone: borrowing LogPermit) throws(AppendFailure) in
          try log.appendMark(
            LogBuffer(), durableLSN: durableLSN, durableCheckpoint: core.meta.current.checkpointNumber, alone)
        }
      } catch { throw error.reason }
      precondition(lsn != nil, "the fresh segment was made with room for the mark")
      _ = try log.synchronize()
    } catch {
      core.queue.fail(error)
      throw error
    }
  }
}
