// Log files that no meta page names, and what they tell of the data file beside them.

extension LogFiles {
  /// Looks at the log files that the newest meta page does not name. What a crash leaves is older than that page, or
  /// has no record yet. One that is newer and has a record was named by a meta page that is gone: the data file is an
  /// older copy, or has lost its newest meta page; to open it would be to forget commits, and to remove the proof of
  /// it. So is one of another database in the way: it is not ours to remove.
  ///
  /// - Throws: `damagedMetaPage`, `missingLog`, `inputOutput`. Nothing has been changed.
  package func checkStrays(_ meta: MetaPage) throws(StorageError) {
    let named = Set(meta.segments.map(\.fileIndex))
    for fileIndex in 0..<Limits.segmentFileCount where !named.contains(fileIndex) {
      guard exists(fileIndex) else { continue }
      try checkStray(fileIndex, meta)
    }
  }

  /// Whether there is a log file of this number.
  package func exists(_ fileIndex: Int) -> Bool { fileSystem.exists(path(fileIndex)) }

  private func checkStray(_ fileIndex: Int, _ meta: MetaPage) throws(StorageError) {
    let path = path(fileIndex)
    let file: any File
    do throws(SystemError) { file = try fileSystem.open(path, .readOnly) } catch {
      throw StorageError(opening: error, path: path)
    }
    defer { file.close() }
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch {
      throw StorageError(.inputOutput, "The log cannot be examined. Try again.", path: path, systemError: error)
    }
    // What is no file of ours is replaced when its turn comes, or cannot be, which is told then.
    guard status.isRegularFile, status.byteCount >= LogLayout.firstRecordOffset + LogLayout.headerByteCount,
      let (owner, segment) = LogLayout.segment(inHeader: try Self.read(file, LogLayout.segmentHeaderByteCount, at: 0)),
      try hasRecord(file, segment)
    else { return }
    guard owner == databaseID else {
      throw StorageError(
        .missingLog,
        """
        This is the log of another database (\(owner)), which may need it. Put it back there, or move it away from \
        \(databasePath).
        """, path: path, lsn: segment.firstLSN)
    }
    if segment.firstLSN >= meta.lsn { throw newer(segment, path, meta) }
  }

  /// Whether the first record of the segment has been written.
  private func hasRecord(_ file: any File, _ segment: SegmentDescriptor) throws(StorageError) -> Bool {
    let bytes = try Self.read(file, LogLayout.headerByteCount, at: LogLayout.firstRecordOffset)
    return bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return false }
      return LogRecordHeader.decode(base, seed: LogLayout.seed(segment, offset: LogLayout.firstRecordOffset)) != nil
    }
  }

  /// The error for a log that is newer than the data file.
  func newer(_ segment: SegmentDescriptor, _ path: String, _ meta: MetaPage?) -> StorageError {
    let checkpoint = meta.map { " of checkpoint \($0.checkpointNumber)" } ?? ""
    return StorageError(
      .damagedMetaPage,
      """
      The log, segment \(segment.number), is newer than the newest meta page\(checkpoint) of \(databasePath): that is \
      an older copy, or has been damaged. Put back the data file that belongs to the log; or restore a backup, and \
      move the log away.
      """, path: path, lsn: segment.firstLSN)
  }

  /// The `count` bytes at `offset`.
  static func read(_ file: any File, _ count: Int, at offset: Int) throws(StorageError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result: Result<Void, StorageError> = bytes.withUnsafeMutableBytes { buffer in
      do throws(StorageError) { return .success(try file.readFully(into: buffer, at: offset)) } catch {
        return .failure(error)
      }
    }
    try result.get()
    return bytes
  }
}
