// One writer at a time, in the order in which they came.

internal import CQuirePlatform
internal import DequeModule
internal import Dispatch
internal import Synchronization

/// The lock that makes writers one after the other.
///
/// It is always held by a thread, never by a task: a lock handed to a task that has no thread to run on deadlocks as
/// soon as the threads that could run it wait for the same lock. Async callers therefore write on a thread of the
/// engine's.
///
/// Writers get it in the order in which they have asked. Whoever gives it up while others wait hands it to the first of
/// them, and whoever asks then waits behind the last: no thread that writes without a pause keeps another one out. To
/// wake a sleeping thread takes longer than a small commit does, so the one whose turn is next is woken before it has
/// come, and looks for it for a moment before it sleeps again.
///
/// Invariants:
/// 1. `word` is 0 while nobody holds the lock; else it is the identity of the thread that does, and its lowest bit says
///    that there are waiters. The identity is the address of something larger than a byte, whose lowest bit is 0.
/// 2. There are waiters only while somebody holds the lock, and both change under the latch, together.
package final class WriterLock: Sendable {
  /// A thread that waits for its turn.
  private final class Waiter: Sendable {
    enum State {
      static let awake = 0
      static let asleep = 1
      static let granted = 2
    }

    let thread: UInt
    private let state = Atomic<Int>(State.awake)
    private let semaphore = DispatchSemaphore(value: 0)

    init(_ thread: UInt) { self.thread = thread }

    /// Waits for the turn.
    ///
    /// - Parameter isNext: whether it comes next, and is worth looking for.
    func wait(isNext: Bool) {
      var looks = isNext ? WriterLock.lookCount : 0
      while true {
        while looks > 0 {
          if state.load(ordering: .acquiring) == State.granted { return }
          quire_relax()
          looks -= 1
        }
        let (sleeps, _) = state.compareExchange(
          expected: State.awake, desired: State.asleep, ordering: .acquiringAndReleasing)
        if !sleeps { return }
        semaphore.wait()
        if state.load(ordering: .acquiring) == State.granted { return }
        looks = WriterLock.lookCount
      }
    }

    /// The turn has come.
    func grant() {
      if state.exchange(State.granted, ordering: .acquiringAndReleasing) == State.asleep { semaphore.signal() }
    }

    /// The turn comes next.
    func rouse() {
      let (wasAsleep, _) = state.compareExchange(
        expected: State.asleep, desired: State.awake, ordering: .acquiringAndReleasing)
      if wasAsleep { semaphore.signal() }
    }
  }

  /// How often a waiter looks before it sleeps: for some microseconds, which is what small transactions take.
  private static let lookCount = 200
  private static let waiterBit: UInt = 1

  private let word = Atomic<UInt>(0)
  private let waiters = Latch(Deque<Waiter>())

  /// A lock that nobody holds.
  package init() {}

  /// Whether the calling thread holds the lock.
  package var isHeldByThisThread: Bool {
    word.load(ordering: .relaxed) & ~Self.waiterBit == ThreadIdentity.current
  }

  /// How many threads wait.
  package var waiterCount: Int { waiters.withLock { $0.count } }

  /// Waits for the lock. One atomic operation if it is free.
  ///
  /// - Throws: `nestedWrite` at once if this thread holds it: waiting would never end.
  package func lock() throws(StorageError) {
    let thread = ThreadIdentity.current
    let (isTaken, found) = word.compareExchange(expected: 0, desired: thread, ordering: .acquiring)
    if isTaken { return }
    if found & ~Self.waiterBit == thread { throw Self.nestedError() }
    wait(thread)
  }

  /// Takes the lock if nobody has it.
  package func lockIfFree() -> Bool {
    word.compareExchange(expected: 0, desired: ThreadIdentity.current, ordering: .acquiring).exchanged
  }

  /// Throws `nestedWrite` if this thread holds the lock.
  package func checkNotHeld() throws(StorageError) {
    if isHeldByThisThread { throw Self.nestedError() }
  }

  /// Gives the lock up. Only the thread that holds it may.
  package func unlock() {
    let (isFree, _) = word.compareExchange(expected: ThreadIdentity.current, desired: 0, ordering: .releasing)
    if !isFree { handOver() }
  }

  private static func nestedError() -> StorageError {
    StorageError(
      .nestedWrite,
      "A write transaction was begun inside another on the same thread. Pass the transaction along instead.")
  }

  @inline(never) private func wait(_ thread: UInt) {
    let waiter = Waiter(thread)
    let place = waiters.withLock { waiters -> Int? in
      while true {
        let found = word.load(ordering: .relaxed)
        if found == 0 {
          // Given up meanwhile, so nobody waits.
          if word.compareExchange(expected: 0, desired: thread, ordering: .acquiring).exchanged { return nil }
          continue
        }
        let (isMarked, _) = word.compareExchange(
          expected: found, desired: found | Self.waiterBit, ordering: .relaxed)
        guard isMarked else { continue }
        waiters.append(waiter)
        return waiters.count - 1
      }
    }
    if let place { waiter.wait(isNext: place == 0) }
  }

  /// Makes the first waiter the one who holds the lock.
  @inline(never) private func handOver() {
    let (first, second) = waiters.withLock { waiters -> (Waiter, Waiter?) in
      guard let first = waiters.popFirst() else { preconditionFailure("the lock is given up by who does not hold it") }
      word.store(first.thread | (waiters.isEmpty ? 0 : Self.waiterBit), ordering: .releasing)
      return (first, waiters.first)
    }
    first.grant()
    second?.rouse()
  }
}
