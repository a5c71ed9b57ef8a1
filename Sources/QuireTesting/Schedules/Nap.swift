// Pauses and times of a test's threads.

internal import Dispatch
internal import QuireStorage

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A pause of the calling thread, and the clock that it goes by: the schedule's if the thread belongs to one.
package enum Nap {
  /// The time in nanoseconds; it never goes back.
  package static var now: UInt64 {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.now }
    #endif
    return DispatchTime.now().uptimeNanoseconds
  }

  /// Sleeps for about so many microseconds.
  package static func sleep(microseconds: Int) {
    #if DEBUG
      if let thread = ThreadSeam.current {
        _ = thread.wait(until: { false }, deadline: thread.now + UInt64(microseconds) * 1000)
        return
      }
    #endif
    usleep(UInt32(microseconds))
  }
}
