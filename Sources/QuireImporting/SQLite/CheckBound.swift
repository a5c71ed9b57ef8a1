// A bound on what SQLite computes while it looks for damage.

import CSQLite3

/// A bound on what SQLite computes while it looks at all pages of a file, in proportion to the file. For one thread.
final class CheckBound {
  private let handle: OpaquePointer
  private let longest: Int32
  /// When the check ends, done or not.
  private let deadline: ContinuousClock.Instant

  /// No stored value is longer than the file; one that is computed may be so long, and a little one in any case.
  private static let leastLength = 1 << 20
  /// What a slow disk reads in a second.
  private static let slowestByteCount = 4 << 20
  private static let leastTime = 10
  /// After how many of SQLite's steps the time is looked at.
  private static let stepCount: Int32 = 1000

  /// Bounds what is done with an open file of so many bytes, until ``end()``.
  init(_ handle: OpaquePointer, fileByteCount: Int) {
    self.handle = handle
    deadline = .now + .seconds(Self.leastTime + fileByteCount / Self.slowestByteCount)
    let length = min(max(fileByteCount, Self.leastLength), Int(Int32.max))
    // SQLite takes no more than it was built for.
    longest = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(length))
    let context = Unmanaged.passUnretained(self).toOpaque()
    let isOver: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
      guard let context else { return 0 }
      let bound = Unmanaged<CheckBound>.fromOpaque(context).takeUnretainedValue()
      return ContinuousClock.now < bound.deadline ? 0 : 1
    }
    sqlite3_progress_handler(handle, Self.stepCount, isOver, context)
  }

  /// Takes the bound away.
  func end() {
    sqlite3_progress_handler(handle, 0, nil, nil)
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longest)
  }

  deinit { end() }
}
