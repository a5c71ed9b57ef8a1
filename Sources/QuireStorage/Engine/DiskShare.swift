// What a database takes of a small disk for its log and for its reserve.

/// On a disk of some size the log begins with segments of 1 MiB and a MiB is kept for deletes; on a disk of 4 MiB that
/// would be all there is. So each has a share, which is less than the usual only on disks that are small.
extension StorageEnvironment {
  /// Of the disk: for the first two segments each, for a log that has grown, and for transactions that only remove.
  private static let segmentShare = 64
  private static let logShare = 16
  private static let reserveShare = 32
  /// The shortest segment that the log begins with: room for a few transactions, and for a checkpoint's mark.
  static let leastSegmentByteCount = 32 << 10

  /// These surroundings on a disk that has `byteCount` bytes for the database, what that takes already included.
  func fitted(toDisk byteCount: Int) -> StorageEnvironment {
    var fitted = self
    let least = min(initialSegmentByteCount, Self.leastSegmentByteCount)
    fitted.initialSegmentByteCount = min(initialSegmentByteCount, max(least, byteCount / Self.segmentShare))
    let log = max(fitted.initialSegmentByteCount, byteCount / Self.logShare)
    fitted.usualLogByteCount = min(usualLogByteCount, log)
    fitted.longestLogByteCount = min(longestLogByteCount, log)
    fitted.reserveByteCount = min(reserveByteCount, byteCount / Self.reserveShare)
    return fitted
  }
}
