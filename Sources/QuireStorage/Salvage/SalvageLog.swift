// The log of a damaged database, as far as it verifies.

/// Reads the log that a meta page names and keeps what it says of each tree.
///
/// Nothing is applied behind the first record that does not verify: what is delivered is a state that once was.
struct SalvageLog {
  /// By id, settled.
  private(set) var changes: [TreeID: SalvageChanges] = [:]
  /// Trees that the log has made, and not dropped again.
  private(set) var created: [TreeID: (keyKind: KeyKind, name: String?)] = [:]
  private(set) var dropped: Set<TreeID> = []
  /// Trees of whose entries in the data file none is left.
  private(set) var cleared: Set<TreeID> = []
  /// What of the log is lost.
  private(set) var losses: [SalvageLoss] = []
  /// The commit that it leads to.
  private(set) var csn: CSN
  /// The end of what was applied; nil if nothing was.
  private(set) var end: LSN?
  private(set) var commitCount = 0
  /// The row id that is given next, as far as the log speaks of it; at least 1.
  private(set) var nextRowID: Int64 = 1
  /// Holds the memory that the changes point to.
  private var reader: LogReader?

  /// Reads the log of `meta`. Touches every byte of its segments.
  ///
  /// - Parameter known: records up to this commit are passed over.
  init(_ meta: MetaPage, _ logFiles: LogFiles, after known: CSN? = nil) {
    csn = max(meta.csn, known ?? meta.csn)
    checkStrays(meta, logFiles)
    guard !meta.isComplete else { return }
    var meta = meta
    let files = openSegments(of: &meta, logFiles)
    defer { for file in files { file.close() } }
    guard !meta.segments.isEmpty else { return }
    do throws(StorageError) {
      let reader = try LogReader(meta, files: files)
      let scan = try reader.scan()
      self.reader = reader
      apply(scan, reader, after: known ?? CSN(0))
      checkEnd(of: scan, reader, path: logFiles.databasePath)
    } catch {
      lose(.log, "The log cannot be read: \(error.message)")
    }
  }

  private mutating func lose(_ kind: SalvageLoss.Kind, _ reason: String) {
    losses.append(
      SalvageLoss(kind: kind, tree: nil, page: nil, lower: nil, upper: nil, count: nil, reason: reason))
  }

  /// Files that are newer than the meta page tell that it is not the newest.
  private mutating func checkStrays(_ meta: MetaPage, _ logFiles: LogFiles) {
    do throws(StorageError) { try logFiles.checkStrays(meta) } catch {
      guard error.code == .damagedMetaPage else { return }
      lose(.metaPage, "A log is newer than the meta page: what came after \(meta.csn) or is in that log is lost.")
    }
  }

  // MARK: Files

  /// Opens the segments up to the first that is not there in full, and takes the others out of `meta`.
  private mutating func openSegments(of meta: inout MetaPage, _ logFiles: LogFiles) -> [any File] {
    var files: [any File] = []
    for (index, segment) in meta.segments.enumerated() {
      let path = logFiles.path(segment.fileIndex)
      guard let (file, byteCount) = open(path, logFiles.fileSystem) else {
        lose(.log, "Log segment \(segment.number) cannot be opened: what it and those behind it hold is lost.")
        meta.segments.removeSubrange(index...)
        return files
      }
      if let (kind, reason) = headerDefect(file, segment, logFiles.databaseID) {
        file.close()
        lose(kind, reason)
        meta.segments.removeSubrange(index...)
        return files
      }
      files.append(file)
      guard byteCount < segment.byteCount else { continue }
      lose(.log, "Log segment \(segment.number) has \(byteCount) of \(segment.byteCount) bytes.")
      meta.segments[index].byteCount = byteCount & ~7
      meta.segments.removeSubrange((index + 1)...)
      return files
    }
    return files
  }

  /// Why a file is not the segment that the meta page names; nil if nothing says so. A header that does not verify, or
  /// is of an older segment, may not have been written in full: records verify without it.
  private func headerDefect(
    _ file: any File, _ segment: SegmentDescriptor, _ databaseID: DatabaseID
  ) -> (kind: SalvageLoss.Kind, reason: String)? {
    do throws(StorageError) {
      let header = try LogFiles.read(file, LogLayout.segmentHeaderByteCount, at: 0)
      guard let (owner, found) = LogLayout.segment(inHeader: header) else { return nil }
      if owner != databaseID {
        return (
          kind: .log, reason: "Log segment \(segment.number) is of another database (\(owner)): what it held is lost."
        )
      }
      guard found.number > segment.number else { return nil }
      return (
        kind: .metaPage,
        reason: """
        Log segment \(found.number) is newer than the meta page, which names \(segment.number) in its place: what is \
        between the two is lost.
        """
      )
    } catch {
      return (
        kind: .log, reason: "Log segment \(segment.number) cannot be read: what it and those behind it hold is lost."
      )
    }
  }

  private func open(_ path: String, _ fileSystem: any FileSystem) -> (any File, Int)? {
    do throws(SystemError) {
      let file = try fileSystem.open(path, .readOnly)
      do throws(SystemError) {
        let status = try file.status()
        if status.isRegularFile, status.byteCount >= 2 * LogLayout.blockByteCount { return (file, status.byteCount) }
      } catch {
        file.close()
        throw error
      }
      file.close()
      return nil
    } catch {
      return nil
    }
  }

  // MARK: Records

  private mutating func apply(_ scan: LogScan, _ reader: LogReader, after known: CSN) {
    var order = 0
    // The records of the commit that has begun.
    var first = 0
    for (index, record) in scan.records.enumerated() {
      if let defect = scan.defect, index >= defect.record { break }
      guard record.header.kind == .commit else { continue }
      let commit = scan.records[first...index]
      assert(commit.dropLast().allSatisfy { $0.header.kind != .commit }, "two commits are taken for one")
      first = index + 1
      if record.header.csn > known {
        if let broken = commit.first(where: { Self.isBroken(reader.committedBody(of: $0)) }) {
          lose(
            .log,
            """
            A record of the log breaks the format, at \(broken.header.lsn): \(record.header.csn), which it is of, and \
            what follows is not applied.
            """)
          break
        }
        for part in commit {
          var operations = LogOperationReader(reader.committedBody(of: part))
          while let operation = operations.next() {
            order += 1
            take(operation, order)
          }
        }
        commitCount += 1
        csn = record.header.csn
      }
      end = LSN(record.header.lsn.rawValue + UInt64(record.header.recordByteCount))
    }
    for tree in changes.keys { changes[tree]?.settle() }
  }

  private static func isBroken(_ body: UnsafeRawBufferPointer) -> Bool {
    var operations = LogOperationReader(body)
    while operations.next() != nil {}
    return operations.isDamaged
  }

  private mutating func take(_ operation: LogOperation, _ order: Int) {
    switch operation {
    case .put(let tree, let key, let value):
      changes[tree, default: SalvageChanges(key.kind)].put(key, value, order: order)
    case .delete(let tree, let key):
      changes[tree, default: SalvageChanges(key.kind)].put(key, nil, order: order)
    case .createTree(let tree, let kind, let name):
      created[tree] = (kind, String(validating: name, as: UTF8.self))
      changes[tree] = SalvageChanges(kind)
    case .dropTree(let tree):
      created[tree] = nil
      changes[tree] = nil
      dropped.insert(tree)
    case .nextRowID(let next): nextRowID = max(nextRowID, next)
    case .deleteRange(let tree, let lower, let upper):
      guard let kind = (lower ?? upper)?.kind else {
        cleared.insert(tree)
        changes[tree]?.removeAll()
        return
      }
      changes[tree, default: SalvageChanges(kind)].deleteRange(from: lower, to: upper, order: order)
    }
  }

  // MARK: The end

  /// What stands behind the last record that was applied.
  private mutating func checkEnd(of scan: LogScan, _ reader: LogReader, path: String) {
    do throws(StorageError) { try reader.checkMarks(scan, path: path) } catch {
      let kind: SalvageLoss.Kind = error.code == .damagedMetaPage ? .metaPage : .log
      return lose(kind, "What was committed after \(csn) is lost. \(error.message)")
    }
    guard losses.isEmpty, reader.hasTrace(behind: scan) else { return }
    lose(
      .log,
      """
      Behind \(scan.endLSN), where the log ends with \(csn), something stands that does not verify: commits that a \
      crash cut off, or damaged ones.
      """)
  }
}

extension LogOperation.SearchKeyBytes {
  fileprivate var kind: KeyKind {
    switch self {
    case .bytes: .bytes
    case .int64: .int64
    }
  }
}
