// Complete transfers over the primitives of a file, with errors that name the file and the place.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension File {
  /// Reads exactly `buffer.count` bytes. Pages touched: none of the pool's.
  ///
  /// - Throws: `truncatedFile` if the file ends before, `inputOutput` if the call fails.
  package func readFully(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) {
    let count = try readUpTo(buffer, at: offset)
    guard count == buffer.count else {
      throw StorageError(
        .truncatedFile,
        "The file ends at byte \(offset + count), \(buffer.count - count) bytes early. \(StorageError.restoring)",
        path: path, offset: offset)
    }
  }

  /// Reads until `buffer` is full or the file ends; returns how many bytes were read.
  package func readUpTo(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      do throws(SystemError) {
        let count = try readSome(into: rest, at: offset + done)
        if count == 0 { return done }
        done += count
      } catch {
        if error.code == EINTR { continue }
        throw StorageError(
          .inputOutput, "Reading failed. Check the disk; the call may be repeated.", path: path,
          offset: offset + done, systemError: error)
      }
    }
    return done
  }

  /// Writes all of `buffer`.
  ///
  /// - Throws: `diskFull` when the disk, the quota or the file size limit is exhausted, `inputOutput` otherwise. What
  ///   the file holds between `offset` and the end of `buffer` is then unknown.
  package func writeFully(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
      do throws(SystemError) {
        let count = try writeSome(rest, at: offset + done)
        // A file that accepts nothing without an error would loop for ever.
        guard count > 0 else { throw SystemError(code: EIO, call: "pwrite") }
        done += count
      } catch {
        if error.code == EINTR { continue }
        throw StorageError(writing: error, path: path, offset: offset + done)
      }
    }
  }

  /// Gives `count` bytes from `offset` on blocks of their own.
  ///
  /// - Throws: `diskFull` when the disk, the quota or the file size limit is exhausted, `inputOutput` otherwise. The
  ///   file may then be longer than before.
  @discardableResult
  package func allocateFully(from offset: Int, count: Int) throws(StorageError) -> Bool {
    while true {
      do throws(SystemError) { return try allocate(from: offset, count: count) } catch {
        if error.code != EINTR { throw StorageError(writing: error, path: path, offset: offset) }
      }
    }
  }
}

extension StorageError {
  /// The error for a file of a database that cannot be opened.
  package init(opening error: SystemError, path: String) {
    let (code, text): (Code, String) =
      switch error.code {
      case ENOENT: (.notFound, "There is no database here. Check the path.")
      case EISDIR, ENXIO: (.notADatabase, "This is not a regular file. Check the path.")
      case ENOTDIR: (.notADatabase, "A part of this path is not a folder. Check the path.")
      case ENAMETOOLONG: (.invalidOption, Self.tooLong(path))
      case EROFS:
        (.readOnly, "The file stands where nothing can be written. Open it with isReadOnly, or move it.")
      case EACCES, EPERM:
        (.inputOutput, "This process may not open the file. Change its rights; to read it, isReadOnly is enough.")
      case EMFILE, ENFILE:
        (.inputOutput, "There are too many open files. Close some, or raise the limit, and try again.")
      default: (.inputOutput, "The file cannot be opened. Check the path and the permissions.")
      }
    self.init(code, text, path: path, systemError: error)
  }

  /// The error for a failed write, truncation or creation.
  package init(writing error: SystemError, path: String, offset: Int? = nil) {
    switch error.code {
    case ENOSPC, EDQUOT, EFBIG:
      self.init(
        .diskFull, "There is no space left for this file. Free some space and try again; nothing was lost.",
        path: path, offset: offset, systemError: error)
    case EMFILE, ENFILE:
      self.init(
        .inputOutput, "There are too many open files. Close some, or raise the limit; nothing was lost.", path: path,
        offset: offset, systemError: error)
    case ENAMETOOLONG: self.init(.invalidOption, Self.tooLong(path), path: path, systemError: error)
    case ENOENT:
      self.init(
        .inputOutput, "The folder of this file does not exist. Make it, or check the path.", path: path,
        systemError: error)
    case EISDIR, ENOTEMPTY:
      self.init(
        .inputOutput, "A folder stands where a file of the database goes. Move it away.", path: path, offset: offset,
        systemError: error)
    case EROFS:
      self.init(
        .readOnly, "The file stands where nothing can be written. Open it with isReadOnly, or move it.", path: path,
        offset: offset, systemError: error)
    default:
      self.init(
        .inputOutput, "Writing failed. Check the disk and the permissions.", path: path, offset: offset,
        systemError: error)
    }
  }

  /// What to say of a path that the system calls too long.
  private static func tooLong(_ path: String) -> String {
    let count =
      path.utf8.count
      - (path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.distance(from: path.startIndex, to: $0) + 1 } ?? 0)
    guard count > Limits.fileNameByteCount else {
      return "The path has \(path.utf8.count) bytes, more than the system takes. Choose a shorter one."
    }
    return
      "The name of the file has \(count) bytes; a name has at most \(Limits.fileNameByteCount). Choose a shorter one."
  }

  /// The error for a failed sync, which is final until the database is opened again: the system may have dropped what
  /// it could not write, and say of the next sync that all is well. What failed before the sync itself, such as opening
  /// the folder that is to be synced, is not final.
  package init(synchronizing error: SystemError, path: String) {
    guard error.isFailedSync else {
      self.init(writing: error, path: path)
      return
    }
    self.init(
      .failStop,
      "The disk could not confirm that writes are durable. Open the database again; until then nothing is written.",
      path: path, systemError: error)
  }
}
