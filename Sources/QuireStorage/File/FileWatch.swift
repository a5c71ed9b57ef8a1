// Noticing what others do to the files of an open database.

internal import CQuirePlatform

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import Synchronization

/// Looks at the files of an open database from outside, by their paths: whether they are still there, still the same
/// and still as long as they were made.
///
/// Nobody is acknowledged a commit in a file that has lost its name, and no log file is removed beside a data file
/// that is not ours. A file that is deleted a moment after it was looked at cannot be told from one deleted a moment
/// after the commit.
package final class FileWatch: Sendable {
  private let fileSystem: any FileSystem
  private let file: any File
  /// The least length that the data file has.
  private let leastByteCount: Atomic<Int>
  private let lastLook = Atomic<UInt64>(0)
  /// How long commits that wait for no disk go on without a look.
  private static let intervalNanoseconds: UInt64 = 10_000_000

  /// Watches a data file of at least this length.
  package init(_ fileSystem: any FileSystem, _ file: any File, byteCount: Int) {
    self.fileSystem = fileSystem
    self.file = file
    leastByteCount = Atomic(byteCount)
  }

  /// Notes that the data file has become at least this long. For the writer, or the checkpoint that runs.
  package func noteGrowth(to byteCount: Int) { leastByteCount.max(byteCount, ordering: .relaxed) }

  /// Notes that the data file is about to be cut to this length.
  package func noteCut(to byteCount: Int) { leastByteCount.store(byteCount, ordering: .sequentiallyConsistent) }

  /// Looks at the data file. One system call.
  ///
  /// - Throws: `fileChanged`.
  package func check() throws(StorageError) {
    let byteCount = leastByteCount.load(ordering: .relaxed)
    guard let change = fileSystem.change(of: file, byteCount: byteCount) else { return }
    // Cut by ourselves in between: that was noted before it was done.
    if case .truncated(let rest) = change, rest >= leastByteCount.load(ordering: .sequentiallyConsistent) { return }
    throw StorageError(change, file, byteCount: byteCount)
  }

  /// Looks at a log file of at least this length. One system call.
  ///
  /// - Throws: `fileChanged`.
  package func check(_ log: any File, byteCount: Int) throws(StorageError) {
    if let change = fileSystem.change(of: log, byteCount: byteCount) {
      throw StorageError(change, log, byteCount: byteCount)
    }
  }

  /// Whether some time has passed since this last said so: for those that cannot afford a system call each time.
  package func isDue() -> Bool {
    let now = Self.nanoseconds
    guard now &- lastLook.load(ordering: .relaxed) >= Self.intervalNanoseconds else { return false }
    lastLook.store(now, ordering: .relaxed)
    return true
  }

  /// A clock that is some milliseconds behind and costs a tenth of one that is not: every commit looks at it.
  private static var nanoseconds: UInt64 {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.now }
    #endif
    #if canImport(Darwin)
      return clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW_APPROX)
    #else
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
      return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(bitPattern: Int64(time.tv_nsec))
    #endif
  }
}

extension StorageError {
  fileprivate init(_ change: FileChange, _ file: any File, byteCount: Int) {
    let event: String
    var offset: Int?
    switch change {
    case .gone: event = "deleted or moved"
    case .replaced: event = "replaced by another file"
    case .truncated(let rest):
      event = "cut from \(byteCount) or more to \(rest) bytes"
      offset = rest
    }
    self.init(
      .fileChanged,
      """
      This file was \(event) while the database was open. Nothing more is written; save what can still be read, close \
      the database, and put the file back or restore a backup.
      """, path: file.path, offset: offset)
  }
}
