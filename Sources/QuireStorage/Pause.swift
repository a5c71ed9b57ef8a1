// Short pauses of threads that look again and again.

internal import Dispatch

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A pause of a thread that waits for a moment and looks again, and the clock that it goes by.
enum Pause {
  /// The time since the machine started, in microseconds; it never goes back.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1000 }

  /// Sleeps for about so many microseconds: some systems take several times as long, so that who has to keep to a time
  /// looks at the clock.
  static func sleep(microseconds: UInt32) { usleep(microseconds) }
}
