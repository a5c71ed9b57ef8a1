// Prefaulting: first touches of fresh memory, on a thread of its own.

internal import Synchronization

/// A thread that has a few slabs ready for a pool which is about to take many.
///
/// The system clears memory when it is touched first. That is nearly half of what replaying a long log into fresh slots
/// costs, and needs nothing of what the replay knows; so another thread touches, and stays a few slabs ahead. On a
/// machine with one processor nothing is gained and nothing lost.
///
/// Invariant: between `start` and `stop`, slabs that are ready and signals of `wanted` that are not served yet are no
/// more than `leadCount` together.
final class SlabPrefaulter: Sendable {
  private let pool: SlotPool
  private let thread: ThreadPool
  private let wanted = Semaphore()
  private let isStopping = Atomic<Bool>(false)

  /// How many slabs are ready at the most: 16 MiB.
  private static let leadCount = 8

  /// A prefaulter that does nothing yet.
  init(_ pool: SlotPool, _ starter: ThreadStarter) {
    self.pool = pool
    thread = ThreadPool(starter)
  }

  /// Starts the thread. If the system has none to give, the pool does without.
  func start() {
    let wanted = wanted
    pool.noteTaken { wanted.signal() }
    for _ in 0..<Self.leadCount { wanted.signal() }
    _ = thread.enqueue { [self] in
      while true {
        wanted.wait()
        // Without memory, or within sight of the budget, the pool goes on by itself.
        guard !isStopping.load(ordering: .acquiring), pool.prepareSlab() else { return }
      }
    }
  }

  /// Ends the thread, and gives back what it has made ready and nobody has taken.
  func stop() {
    isStopping.store(true, ordering: .releasing)
    pool.noteTaken(nil)
    wanted.signal()
    thread.stop()
    pool.releasePrepared()
  }
}
