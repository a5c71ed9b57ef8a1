// Threads of the system's.

internal import CQuirePlatform

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Starts threads; tests put in one that has none to give.
package struct ThreadStarter: Sendable {
  /// Starts a thread that runs the closure and ends with it. Throws what the system has against another thread.
  package typealias Start = @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void

  package let start: Start

  /// Starts threads by `start`.
  package init(_ start: @escaping Start) { self.start = start }

  /// Starts threads of the system's; in debug builds, where the caller belongs to a schedule, threads of that.
  package static let system = ThreadStarter { body throws(SystemError) in
    #if DEBUG
      if let thread = ThreadSeam.current { return thread.start(body) }
    #endif
    try startThread(body)
  }

  /// The stack of every thread of the engine's, in bytes. Those that run closures of the app's must have room for its
  /// calls and for values inside one another, which take several KiB each where nothing is optimized.
  /// The system gives memory to what is touched only. What it reserves by itself differs: half a MiB on one system,
  /// what the shell's limit says on another.
  package static let stackByteCount = 4 << 20

  /// Starts a thread of the system's, whatever the caller belongs to.
  package static func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var attributes = pthread_attr_t()
    var result = pthread_attr_init(&attributes)
    guard result == 0 else { throw SystemError(code: result, call: "pthread_attr_init") }
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    result = pthread_attr_setstacksize(&attributes, stackByteCount)
    guard result == 0 else { throw SystemError(code: result, call: "pthread_attr_setstacksize") }
    let argument = Unmanaged.passRetained(ThreadBody(body))
    #if canImport(Darwin)
      var thread: pthread_t?
      result = pthread_create(&thread, &attributes, { runThread($0) }, argument.toOpaque())
    #elseif canImport(Musl)
      var thread: pthread_t?
      result = pthread_create(&thread, &attributes, { $0.flatMap(runThread) }, argument.toOpaque())
    #elseif canImport(Android)
      var thread = pthread_t()
      result = pthread_create(&thread, &attributes, threadMain, argument.toOpaque())
    #else
      var thread = pthread_t()
      result = pthread_create(&thread, &attributes, { $0.flatMap(runThread) }, argument.toOpaque())
    #endif
    guard result == 0 else {
      argument.release()
      throw SystemError(code: result, call: "pthread_create")
    }
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

#if canImport(Android)
  /// What threads begin with. Whether the argument and the result may be null is another matter in each version of the
  /// headers: the compiler takes the function that fits. Nobody asks for the result.
  private func threadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    runThread(argument) ?? argument
  }

  private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    argument.flatMap(runThread)
  }
#endif

private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  // The body's references end with this call, and before the thread does.
  Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
  return nil
}
