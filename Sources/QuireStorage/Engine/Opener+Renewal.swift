// A database that nobody has written to yet, whose name the disk may have forgotten.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

extension Opener {
  /// Files that are longer are not looked through: a database without rows is two pages, and behind them what a first
  /// commit that failed had allocated.
  private static var longestUntouchedFile: Int { 64 << 20 }

  /// Notes behind the second meta page, which nobody has written yet, that the disk knows the file's name. Whoever sees
  /// the note, synced or not, knows that the sync of the folder came before it; without it, the next opening makes the
  /// name anew.
  func noteDurableName(_ file: any File, pageSize: Int) {
    // Power that fails may damage a whole sector of 4 KiB. The first meta page must not be in it; smaller pages are for
    // tests.
    guard pageSize >= 4096 else { return }
    [1 as UInt8].withUnsafeBytes { bytes in
      do throws(StorageError) { try file.writeFully(bytes, at: pageSize + MetaPage.byteCount) } catch {}
    }
  }

  /// Whether a file that is owned is still as it was made: no meta page but the first, no log, no byte anywhere else,
  /// and no note of a durable name. Its maker was killed before the name was durable, or no sync of the folder went
  /// well.
  func isUntouched(_ file: any File, _ meta: MetaPages) throws(StorageError) -> Bool {
    let page = meta.current
    guard page == MetaPage(pageSize: page.pageSize, databaseID: page.databaseID), meta.predecessor == nil,
      firstLogPath == nil
    else { return false }
    return try isZero(file, from: MetaPage.byteCount)
  }

  /// Whether all bytes from an offset to the end are zero.
  private func isZero(_ file: any File, from start: Int) throws(StorageError) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    var offset = start
    while offset < Self.longestUntouchedFile {
      let outcome: Result<Int, StorageError> = bytes.withUnsafeMutableBytes { buffer in
        do throws(StorageError) { return .success(try file.readUpTo(buffer, at: offset)) } catch {
          return .failure(error)
        }
      }
      let count = try outcome.get()
      if count == 0 { return true }
      guard bytes.prefix(count).allSatisfy({ $0 == 0 }) else { return false }
      offset += count
    }
    return false
  }

  /// Puts a new file with the same meta page in the place of one that nobody has written to, so that the name is a
  /// change that the disk has yet to learn, and makes it durable.
  ///
  /// The name that is there may be one that no sync makes durable: its maker was killed before the sync of the folder,
  /// or that sync failed and forgot it. Commits would be acknowledged, and a power cut would leave their log without
  /// its data file. If this fails, the next opening does it again.
  ///
  /// The caller owns the file. Whoever has opened it by its name and waits for the lock finds a file without a name.
  ///
  /// - Returns: false if the path leads to another file by now, of which nothing is known.
  func renew(_ file: any File, _ page: MetaPage) throws(StorageError) -> Bool {
    guard try isStillNamed(file) else { return false }
    return try make(page) { (copy, temporary) throws(StorageError) in
      do throws(SystemError) {
        try copy.synchronize()
        _ = lock(copy)
        try environment.fileSystem.rename(temporary, to: path)
        try environment.fileSystem.synchronizeDirectory(of: path)
        return true
      } catch {
        throw StorageError(writing: error, path: path)
      }
    }
  }

  /// Whether the path leads to this file, which another opener may have renewed before this one owned it. As long as
  /// the file is owned nobody else renews it.
  private func isStillNamed(_ file: any File) throws(StorageError) -> Bool {
    do throws(SystemError) {
      let named: any File
      do throws(SystemError) { named = try environment.fileSystem.open(path, .readOnly) } catch {
        if error.code == ENOENT { return false }
        throw error
      }
      defer { named.close() }
      return try named.status().identity == file.status().identity
    } catch {
      throw StorageError(opening: error, path: path)
    }
  }
}
