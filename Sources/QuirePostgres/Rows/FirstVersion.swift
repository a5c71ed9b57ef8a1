// The versions that rows in PostgreSQL begin with.

#if Postgres
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif
  internal import Synchronization

  /// Makes versions for rows that are new: the time in microseconds since 1970, which has room in a JSON number.
  ///
  /// Versions grow by one with each change, which takes longer than a microsecond. So who has read a row does not take
  /// another one for it that was stored under its key when it had been removed: that one has begun later.
  enum FirstVersion {
    /// The last one of this process, which its clock may be put back behind.
    private static let last = Mutex<Int64>(0)

    /// A version that is greater than all before it.
    static func next() -> Int64 {
      let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
      return last.withLock { last in
        last = max(last + 1, now)
        return last
      }
    }
  }
#endif
