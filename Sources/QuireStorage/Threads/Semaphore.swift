// Threads that sleep until another one wakes them.

internal import Dispatch

#if DEBUG
  internal import Synchronization

  /// Counts signals, and lets a thread sleep until there is one for it. In debug builds both are steps of a schedule.
  ///
  /// Invariant: `count` is the number of signals that nobody has taken. The system's semaphore has as many, but for the
  /// moment between the two, in which no thread of a schedule is stopped.
  final class Semaphore: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let count = Synchronization.Atomic<Int>(0)

    /// A semaphore without a signal.
    init() {}

    func signal() {
      ThreadSeam.step()
      count.wrappingAdd(1, ordering: .sequentiallyConsistent)
      semaphore.signal()
    }

    /// Sleeps until there is a signal, and takes it.
    func wait() { _ = wait(deadline: nil) }

    /// The same until `deadline` at the longest; false if that came first.
    func wait(until deadline: DispatchTime) -> Bool { wait(deadline: deadline) }

    private func wait(deadline: DispatchTime?) -> Bool {
      if let thread = ThreadSeam.current {
        thread.step()
        guard thread.wait(until: isSignalled, deadline: deadline?.uptimeNanoseconds) else { return false }
        semaphore.wait()
      } else if let deadline {
        if semaphore.wait(timeout: deadline) == .timedOut { return false }
      } else {
        semaphore.wait()
      }
      count.wrappingSubtract(1, ordering: .sequentiallyConsistent)
      return true
    }

    private func isSignalled() -> Bool { count.load(ordering: .sequentiallyConsistent) > 0 }
  }
#else
  /// Counts signals, and lets a thread sleep until there is one for it.
  struct Semaphore: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// A semaphore without a signal.
    init() {}

    func signal() { semaphore.signal() }

    /// Sleeps until there is a signal, and takes it.
    func wait() { semaphore.wait() }

    /// The same until `deadline` at the longest; false if that came first.
    func wait(until deadline: DispatchTime) -> Bool { semaphore.wait(timeout: deadline) == .success }
  }
#endif
