// Telling threads apart.

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The identity of the calling thread.
enum ThreadIdentity {
  /// A number that no other living thread of the process has; never zero.
  @inline(__always) static var current: UInt {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.identity }
    #endif
    #if canImport(Darwin)
      return UInt(bitPattern: pthread_self())
    #else
      return UInt(pthread_self())
    #endif
  }
}
