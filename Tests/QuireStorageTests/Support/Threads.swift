// Real threads for tests: unlike tasks they may block, and there are as many as asked for.

import QuireStorage
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What to run on a thread.
private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Threads that run together, and what they had to complain about.
final class ThreadGroup: @unchecked Sendable {
  // Sendable: safe because the handles are touched by the thread that made the group only.
  private var handles: [pthread_t] = []
  private let complaints = Latch<[String]>([])

  /// Starts a thread; what `body` throws becomes a complaint.
  func start(_ body: @escaping @Sendable () throws -> Void) {
    let box = ThreadBody { [self] in
      do { try body() } catch { complain("\(error)") }
    }
    let argument = Unmanaged.passRetained(box).toOpaque()
    #if canImport(Darwin)
      var handle: pthread_t?
      pthread_create(&handle, nil, { runThreadBody($0) }, argument)
      if let handle { handles.append(handle) }
    #else
      var handle = pthread_t()
      pthread_create(&handle, nil, { $0.flatMap(runThreadBody) }, argument)
      handles.append(handle)
    #endif
  }

  /// Notes that something is wrong.
  func complain(_ text: String) { complaints.withLock { $0.append(text) } }

  /// Waits for all threads; returns what they complained about.
  func join() -> [String] {
    for handle in handles { pthread_join(handle, nil) }
    handles = []
    return complaints.withLock { $0 }
  }
}

private func runThreadBody(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
  return nil
}

/// A flag that tells threads to come to an end.
final class StopFlag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

/// The seconds of a clock that only goes forward.
func secondsNow() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
