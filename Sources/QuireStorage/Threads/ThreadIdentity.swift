// Telling threads apart.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The identity of the calling thread.
enum ThreadIdentity {
  /// A number that no other living thread of the process has; never zero.
  @inline(__always) static var current: UInt {
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.identity }
    #endif
    #if canImport(Glibc)
      return UInt(pthread_self())
    #else
      return UInt(bitPattern: pthread_self())
    #endif
  }
}
