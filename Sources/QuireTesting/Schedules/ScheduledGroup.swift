// Threads of a schedule that one of it starts and waits for.

#if DEBUG
  internal import QuireStorage
  internal import Synchronization

  /// Threads of a schedule.
  package enum ScheduledGroup {
    private final class Count: Sendable {
      let left: Atomic<Int>
      init(_ count: Int) { left = Atomic(count) }
    }

    /// Runs each of `bodies` as a thread of the schedule that the caller belongs to, and returns when all have ended.
    package static func run(_ bodies: [@Sendable () -> Void]) {
      guard let caller = ThreadSeam.current else { preconditionFailure("the caller belongs to no schedule") }
      let count = Count(bodies.count)
      for body in bodies {
        caller.start {
          body()
          count.left.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        }
      }
      _ = caller.wait(until: { count.left.load(ordering: .sequentiallyConsistent) == 0 }, deadline: nil)
    }
  }
#endif
