// Short pauses of threads that look again and again, and the clock that they go by.

internal import CQuirePlatform
internal import Dispatch

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A pause of a thread that waits for a moment and looks again, and the clock that it goes by. In debug builds a
/// schedule has a clock of its own, and pauses take no other time than that.
package enum Pause {
  /// The time since the machine started; it never goes back.
  static var time: DispatchTime {
    #if DEBUG
      if let thread = ThreadSeam.current { return DispatchTime(uptimeNanoseconds: thread.now) }
    #endif
    return .now()
  }

  /// The same in nanoseconds.
  package static var nanoseconds: UInt64 { time.uptimeNanoseconds }

  /// The same in microseconds.
  static var now: UInt64 { nanoseconds / 1000 }

  /// Sleeps for about so many microseconds: some systems take several times as long, so that who has to keep to a time
  /// looks at the clock.
  package static func sleep(microseconds: UInt32) {
    #if DEBUG
      if let thread = ThreadSeam.current {
        _ = thread.wait(until: { false }, deadline: thread.now + UInt64(microseconds) * 1000)
        return
      }
    #endif
    usleep(microseconds)
  }

  /// Lets another thread have the processor.
  static func yield() {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.spin() }
    #endif
    sched_yield()
  }

  /// Spends a few nanoseconds, as the processor is told, on waiting for another core.
  @inline(__always) static func relax() {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.spin() }
    #endif
    quire_relax()
  }
}
