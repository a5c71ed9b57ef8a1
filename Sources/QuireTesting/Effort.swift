// How the time that something takes grows with what it is done to.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Measures growth: the processor time of the calling thread alone, so that whatever else runs on the machine counts
/// for little.
package enum Effort {
  /// How many times as long the work takes for `factor · count` as for `count`: of three runs of each, the shortest.
  ///
  /// - Parameter prepare: makes, for a number of things, the work that is measured; what it does itself is not.
  package static func growth(
    of count: Int, by factor: Int, _ prepare: (Int) throws -> () throws -> Void
  ) throws -> Double {
    var (small, large) = (Double.infinity, Double.infinity)
    for _ in 0..<3 {
      small = min(small, try seconds(prepare(count)))
      large = min(large, try seconds(prepare(count * factor)))
    }
    return large / small
  }

  /// The processor time of this thread that `work` takes.
  package static func seconds(_ work: () throws -> Void) throws -> Double {
    let start = now
    try work()
    return now - start
  }

  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
