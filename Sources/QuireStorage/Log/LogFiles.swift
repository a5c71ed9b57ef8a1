// The files that log segments live in: making them, finding them, giving them up.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The log files of one database, named `NAME-log0` to `NAME-log7`.
package struct LogFiles: Sendable {
  let fileSystem: any FileSystem
  package let databasePath: String
  package let databaseID: DatabaseID

  /// Names the files; none is opened or made.
  package init(fileSystem: any FileSystem, databasePath: String, databaseID: DatabaseID) {
    self.fileSystem = fileSystem
    self.databasePath = databasePath
    self.databaseID = databaseID
  }

  /// The path of a log file.
  package func path(_ fileIndex: Int) -> String { Self.path(fileIndex, of: databasePath) }

  static func path(_ fileIndex: Int, of databasePath: String) -> String { "\(databasePath)-log\(fileIndex)" }

  private static let zeroByteCount = 1 << 20

  /// Makes the file of a new segment: filled with zeros, synced, and its name durable, so that a segment that a meta
  /// page names is always there in full, and its blocks are allocated before the first commit.
  ///
  /// - Parameter isFilled: false to allocate the blocks and leave them unwritten. That takes no time, and each flush
  ///   that comes to new blocks then takes longer, as the file system must note that they are written: it is for those
  ///   who write much at once.
  /// - Parameter hasHeader: false to leave the header to `writeHeader`: for a segment that gets records before a meta
  ///   page names it, and would be taken for a newer one than any that is named.
  /// - Returns: the segment, open.
  package func create(
    _ segment: SegmentDescriptor, isFilled: Bool = true, hasHeader: Bool = true
  ) throws(StorageError) -> OpenSegment {
    let path = path(segment.fileIndex)
    // A file of this name belongs to nobody: it is what a crash left of an earlier attempt, or a segment that no meta
    // page has named since.
    try remove(segment.fileIndex)
    let file: any File
    do throws(SystemError) {
      file = try fileSystem.open(path, .createNew)
    } catch {
      throw StorageError(writing: error, path: path)
    }
    let writtenByteCount: Int
    do throws(StorageError) {
      // A segment whose space nobody promises would end all writing when the disk is full.
      let isAllocated = isFilled ? false : try file.allocateFully(from: 0, count: segment.byteCount)
      writtenByteCount = isAllocated ? LogLayout.segmentHeaderByteCount : segment.byteCount
      if !isAllocated { try writeZeros(file, 0..<segment.byteCount) }
      if hasHeader { try writeHeader(segment, to: file) }
      do throws(SystemError) { try file.synchronize() } catch {
        // A file system that looks for space only now may find none. The file goes, and nothing depends on it yet.
        let isFull = error.code == ENOSPC || error.code == EDQUOT
        throw isFull ? StorageError(writing: error, path: path) : StorageError(synchronizing: error, path: path)
      }
      do throws(SystemError) { try fileSystem.synchronizeDirectory(of: path) } catch {
        throw StorageError(synchronizing: error, path: path)
      }
    } catch {
      file.close()
      do throws(SystemError) { try fileSystem.unlink(path) } catch {}
      throw error
    }
    return OpenSegment(descriptor: segment, file: file, writtenByteCount: writtenByteCount)
  }

  private func writeZeros(_ file: any File, _ range: Range<Int>) throws(StorageError) {
    let zeros = [UInt8](repeating: 0, count: min(Self.zeroByteCount, range.count))
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = min(zeros.count, range.upperBound - offset)
      try Self.write(zeros[..<count], to: file, at: offset)
      offset += count
    }
  }

  /// Makes a log file longer and syncs it; what it holds stays as it is.
  ///
  /// - Returns: whether the new blocks have been written, with zeros: only where they cannot be allocated otherwise.
  package func extend(_ file: any File, from byteCount: Int, to newByteCount: Int) throws(StorageError) -> Bool {
    do throws(StorageError) {
      let isAllocated = try file.allocateFully(from: byteCount, count: newByteCount - byteCount)
      if !isAllocated { try writeZeros(file, byteCount..<newByteCount) }
      do throws(SystemError) { try file.synchronize() } catch {
        throw StorageError(synchronizing: error, path: file.path)
      }
      return !isAllocated
    } catch {
      // A file that stays too long is in nobody's way.
      do throws(SystemError) { try file.resize(to: byteCount) } catch {}
      throw error
    }
  }

  /// Writes a segment's header. Recovery does not trust it; it tells people which database a file belongs to.
  package func writeHeader(_ segment: SegmentDescriptor, to file: any File) throws(StorageError) {
    try Self.write(LogLayout.segmentHeader(segment, databaseID: databaseID)[...], to: file, at: 0)
  }

  /// Writes `bytes` at `offset`.
  static func write(_ bytes: ArraySlice<UInt8>, to file: any File, at offset: Int) throws(StorageError) {
    let result: Result<Void, StorageError> = bytes.withUnsafeBytes { buffer in
      do throws(StorageError) { return .success(try file.writeFully(buffer, at: offset)) } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Opens the file of a segment that a meta page names.
  ///
  /// - Throws: `missingLog` if it is not there, too short, or belongs to another database.
  package func open(_ segment: SegmentDescriptor, _ mode: OpenMode) throws(StorageError) -> any File {
    let path = path(segment.fileIndex)
    let file: any File
    do throws(SystemError) {
      file = try fileSystem.open(path, mode)
    } catch {
      guard error.code == ENOENT else {
        if error.code == EISDIR || error.code == ENXIO { throw notAFile(segment) }
        throw StorageError(opening: error, path: path)
      }
      throw StorageError(
        .missingLog,
        """
        Log segment \(segment.number) is missing. The log stands beside the name that the data file was last opened \
        by: if that has other names (hard links), or was moved or copied alone, open it by that name, or put the log \
        beside it. If the log is lost, restore a backup.
        """, path: path, lsn: segment.firstLSN, systemError: error)
    }
    do throws(StorageError) {
      try check(file, segment)
      return file
    } catch {
      file.close()
      throw error
    }
  }

  private func notAFile(_ segment: SegmentDescriptor) -> StorageError {
    StorageError(
      .missingLog,
      """
      What stands in the place of log segment \(segment.number) is not a regular file. Put the log back beside the \
      data file, or restore a backup.
      """, path: path(segment.fileIndex), lsn: segment.firstLSN)
  }

  private func check(_ file: any File, _ segment: SegmentDescriptor) throws(StorageError) {
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch {
      throw StorageError(.inputOutput, "The log cannot be examined.", path: file.path, systemError: error)
    }
    guard status.isRegularFile else { throw notAFile(segment) }
    guard status.byteCount >= segment.byteCount else {
      throw StorageError(
        .missingLog,
        "Log segment \(segment.number) has \(status.byteCount) of \(segment.byteCount) bytes. Restore a backup.",
        path: file.path, lsn: segment.firstLSN)
    }
    let header = try Self.read(file, LogLayout.segmentHeaderByteCount, at: 0)
    // A header that does not verify may be torn by a crash while the segment was taken into use, and one that names an
    // older segment not have been written: they are not needed. A newer one is written when the meta page that names
    // it is durable. One of another database is another database's file.
    guard let (owner, found) = LogLayout.segment(inHeader: header) else { return }
    if owner == databaseID {
      if found.number > segment.number { throw newer(found, file.path, nil) }
      return
    }
    throw StorageError(
      .missingLog,
      "This is the log of another database (\(owner)). Put back the log that belongs to \(databasePath).",
      path: file.path, lsn: segment.firstLSN)
  }

  /// Removes a log file that no meta page names; it is no error if it is not there.
  package func remove(_ fileIndex: Int) throws(StorageError) {
    let path = path(fileIndex)
    do throws(SystemError) {
      try fileSystem.unlink(path)
    } catch {
      if error.code != ENOENT { throw StorageError(writing: error, path: path) }
    }
  }
}
