// What follows when somebody else has changed the files of the open database.

extension EngineCore {
  /// Looks at the data file and at the log; two system calls. Whatever has happened to them stops all writing: what is
  /// written now would be found by nobody, or would belong to somebody else.
  ///
  /// - Throws: `fileChanged`.
  func checkFiles() throws(StorageError) {
    try checkDataFile()
    guard let segment = withLog({ $0?.current }) else { return }
    do throws(StorageError) {
      try watch.check(segment.file, byteCount: segment.descriptor.byteCount)
    } catch {
      try stop(error)
    }
  }

  /// The same for the data file alone.
  func checkDataFile() throws(StorageError) {
    do throws(StorageError) { try watch.check() } catch { try stop(error) }
  }

  /// A sync that has failed may have taken the file's new length back: that is what stopped writing then.
  private func stop(_ error: StorageError) throws(StorageError) -> Never {
    try queue.checkFailure()
    queue.fail(error)
    throw error
  }

  /// Whether the data file is still found under its path: only then are the log files beside it ours to remove.
  var hasOwnFiles: Bool {
    do throws(StorageError) {
      try checkDataFile()
      return true
    } catch {
      return false
    }
  }
}
