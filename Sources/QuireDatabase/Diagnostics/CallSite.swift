// Where in an app's code something was called, and what time it is.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A place in the source code: who began a transaction, or took a snapshot.
///
/// Made of literals; costs a few words, and no memory.
public struct CallSite: Sendable, CustomStringConvertible {
  /// Module and file, as `#fileID` has them.
  public let fileID: StaticString
  /// The line.
  public let line: UInt

  /// The place of the call, if nothing else is said.
  @inlinable public init(fileID: StaticString = #fileID, line: UInt = #line) {
    self.fileID = fileID
    self.line = line
  }

  public var description: String { "\(fileID):\(line)" }

  /// Where the text of `fileID` is, which stays as long as the process.
  var fileAddress: UInt { fileID.hasPointerRepresentation ? unsafe UInt(bitPattern: fileID.utf8Start) : 0 }
}

/// Time that only goes forward, in nanoseconds.
enum MonotonicClock {
  /// To the nanosecond or so; some 20 ns.
  static var now: UInt64 { read(precise) }

  /// To a few milliseconds; a few nanoseconds.
  static var coarse: UInt64 { read(approximate) }

  #if canImport(Darwin)
    private static let precise = CLOCK_MONOTONIC_RAW
    private static let approximate = CLOCK_MONOTONIC_RAW_APPROX
    private static func read(_ clock: clockid_t) -> UInt64 { clock_gettime_nsec_np(clock) }
  #else
    private static let precise = CLOCK_MONOTONIC
    private static let approximate = CLOCK_MONOTONIC_COARSE
    private static func read(_ clock: clockid_t) -> UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(clock, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
  #endif
}

/// The time of day, which somebody may set.
enum WallClock {
  /// Microseconds since 1970; some 20 ns.
  static var now: Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec / 1000)
  }
}

extension Duration {
  /// In nanoseconds; the longest if there are too many, none if it is negative.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000)).partialValue
  }
}
