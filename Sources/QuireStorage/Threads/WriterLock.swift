// One writer at a time, in the order in which they came.

internal import DequeModule
internal import Dispatch
internal import Synchronization

/// Evidence that the calling thread holds a writer lock. What must not run without the lock borrows it, so that the
/// compiler sees to it; it takes no space and no time. It does not say of which engine the lock is: an engine hands its
/// permits to its own components only.
///
/// Invariant: there is one for each time that the lock is held, from `lock` to `unlock`, and the copies that `withHeld`
/// lends for the time of a call.
package struct WriterPermit: ~Copyable {
  fileprivate init() {}

  deinit { assertionFailure("a writer permit ends by unlock or forget") }

  /// Ends the permit and leaves the lock as it is: in a child forked from the process that holds it.
  package consuming func forget() { discard self }
}

/// The lock that makes writers one after the other.
///
/// It is always held by a thread, never by a task: a lock handed to a task that has no thread to run on deadlocks as
/// soon as the threads that could run it wait for the same lock. Async callers therefore write on a thread of the
/// engine's.
///
/// Threads wait in a line, in the order of arrival: once in a slice of half a millisecond, the thread that gives the
/// lock up hands it to the first in line. No thread that writes without a pause keeps another one out for longer
/// than a slice, or a transaction where that takes longer, for each that came before it. Between two such turns the
/// lock is free for those who are awake while the first in line wakes up, because to wake a sleeping thread takes as
/// long as ten small commits: with a turn after each, four threads that commit without a pause took three to five times
/// as long. Locks that are "eventually fair" go about it like this.
///
/// Invariants:
/// 1. `word` is the identity of the thread that holds the lock, or 0; its lowest bit says that there are waiters. The
///    identity is the address of something larger than a byte, whose lowest bit is 0.
/// 2. The bit changes under the latch, together with the waiters. So does the holder while the bit is set, except that
///    a thread that is awake may take a free lock.
/// 3. While the lock is free, the first waiter is awake, or is being woken, and will look.
package final class WriterLock: Sendable {
  /// A thread that waits in line.
  private struct Waiter {
    let thread: UInt
    let semaphore: Semaphore
    /// Whether it sleeps, and nobody has woken it yet.
    var isAsleep = true
  }

  /// Those who wait, in the order in which they came.
  private struct Line {
    var waiters = Deque<Waiter>()
    /// From when on the next turn is that of the first in line, in nanoseconds.
    var nextTurn: UInt64 = 0

    /// The thread to wake now that the first in line may have to look.
    mutating func wakeFirst() -> Semaphore? {
      guard waiters[0].isAsleep else { return nil }
      waiters[0].isAsleep = false
      return waiters[0].semaphore
    }
  }

  /// How often a thread looks before it sleeps: for some microseconds, which is what small transactions take.
  private static let lookCount = 200
  /// How long those who are awake may go first, in nanoseconds: some ten times as long as to wake a thread.
  package static let sliceNanoseconds: UInt64 = 500_000
  private static let waiterBit: UInt = 1

  private let word = Atomic<UInt>(0)
  private let line = Latch(Line())

  /// A lock that nobody holds.
  package init() {}

  /// Whether the calling thread holds the lock.
  package var isHeldByThisThread: Bool {
    word.load(ordering: .relaxed) & ~Self.waiterBit == ThreadIdentity.current
  }

  /// How many threads wait in line.
  package var waiterCount: Int { line.withLock { $0.waiters.count } }

  /// Waits for the lock. One atomic operation if it is free and nobody waits for it.
  ///
  /// - Throws: `nestedWrite` at once if this thread holds it: waiting would never end.
  package func lock() throws(StorageError) -> WriterPermit {
    let thread = ThreadIdentity.current
    let (isTaken, found) = word.compareExchange(expected: 0, desired: thread, ordering: .acquiring)
    if isTaken { return WriterPermit() }
    if found & ~Self.waiterBit == thread { throw Self.nestedError() }
    wait(thread)
    return WriterPermit()
  }

  /// Takes the lock if nobody has it, and nobody waits for it.
  package func lockIfFree() -> WriterPermit? {
    let (isTaken, _) = word.compareExchange(
      expected: 0, desired: ThreadIdentity.current, ordering: .acquiring)
    return isTaken ? WriterPermit() : nil
  }

  /// Runs `body` with a permit for the lock, which the calling thread holds: for what is called from inside a
  /// transaction, by way of closures and protocols of layers below.
  package func withHeld<Result>(
    _ body: (borrowing WriterPermit) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    precondition(isHeldByThisThread, "the calling thread does not hold the writer lock")
    let permit = WriterPermit()
    do throws(StorageError) {
      let result = try body(permit)
      permit.forget()
      return result
    } catch {
      permit.forget()
      throw error
    }
  }

  /// Throws `nestedWrite` if this thread holds the lock.
  package func checkNotHeld() throws(StorageError) {
    if isHeldByThisThread { throw Self.nestedError() }
  }

  /// Gives the lock up. Only the thread that holds it may.
  package func unlock(_ permit: consuming WriterPermit) {
    permit.forget()
    assert(isHeldByThisThread, "a permit is used by the thread that it was given to")
    let (isFree, _) = word.compareExchange(expected: ThreadIdentity.current, desired: 0, ordering: .releasing)
    if !isFree { passOn() }
  }

  private static func nestedError() -> StorageError {
    StorageError(
      .nestedWrite,
      "A write transaction was begun inside another on the same thread. Pass the transaction along instead.")
  }

  /// Takes the lock if it is free, even past the line.
  private func takeIfFree(_ thread: UInt) -> Bool {
    var found = word.load(ordering: .relaxed)
    while found & ~Self.waiterBit == 0 {
      let (isTaken, now) = word.compareExchange(expected: found, desired: found | thread, ordering: .acquiring)
      if isTaken { return true }
      found = now
    }
    return false
  }

  /// Looks for a moment whether the lock becomes free.
  private func takeSoon(_ thread: UInt) -> Bool {
    for _ in 0..<Self.lookCount {
      if takeIfFree(thread) { return true }
      Pause.relax()
    }
    return false
  }

  @inline(never) private func wait(_ thread: UInt) {
    if takeSoon(thread) { return }
    let semaphore = Semaphore()
    guard joinLine(thread, semaphore) else { return }
    while true {
      semaphore.wait()
      if hasTurn(thread) { return }
    }
  }

  /// Joins the end of the line; false if the lock has become free meanwhile, and is this thread's now.
  private func joinLine(_ thread: UInt, _ semaphore: Semaphore) -> Bool {
    line.withLock { line in
      while true {
        if takeIfFree(thread) { return false }
        let found = word.load(ordering: .relaxed)
        guard found & ~Self.waiterBit != 0 else { continue }
        let (isMarked, _) = word.compareExchange(
          expected: found, desired: found | Self.waiterBit, ordering: .relaxed)
        guard isMarked else { continue }
        assert(!line.waiters.contains { $0.thread == thread }, "a thread waits twice")
        line.waiters.append(Waiter(thread: thread, semaphore: semaphore))
        return true
      }
    }
  }

  /// Whether the thread, which was first in line and has been woken, has the lock now; if not, it is to sleep again.
  private func hasTurn(_ thread: UInt) -> Bool {
    for _ in 0..<Self.lookCount {
      let holder = word.load(ordering: .acquiring) & ~Self.waiterBit
      if holder == thread { return true }
      if holder == 0 && takeFirst(thread) { return true }
      Pause.relax()
    }
    return line.withLock { line in
      if word.load(ordering: .acquiring) & ~Self.waiterBit == thread { return true }
      if leaveLine(&line, thread) { return true }
      line.waiters[0].isAsleep = true
      return false
    }
  }

  private func takeFirst(_ thread: UInt) -> Bool {
    line.withLock { leaveLine(&$0, thread) }
  }

  /// Takes the lock for the first in line if it is free.
  private func leaveLine(_ line: inout Line, _ thread: UInt) -> Bool {
    // It may have been handed the lock in this very moment; it will see that.
    guard line.waiters.first?.thread == thread, takeIfFree(thread) else { return false }
    assert(word.load(ordering: .relaxed) & ~Self.waiterBit == thread, "the lock was taken by another thread")
    line.waiters.removeFirst()
    if line.waiters.isEmpty { word.store(thread, ordering: .relaxed) }
    return true
  }

  /// Hands the lock to the first in line if its turn has come, or frees it and wakes that one to look.
  @inline(never) private func passOn() {
    let now = Pause.nanoseconds
    let sleeper = line.withLock { line -> Semaphore? in
      precondition(!line.waiters.isEmpty, "the lock is given up by who does not hold it")
      assert(word.load(ordering: .relaxed) & Self.waiterBit != 0, "threads wait whom the lock does not know of")
      let sleeper = line.wakeFirst()
      if now >= line.nextTurn {
        line.nextTurn = now + Self.sliceNanoseconds
        let first = line.waiters.removeFirst()
        word.store(first.thread | (line.waiters.isEmpty ? 0 : Self.waiterBit), ordering: .releasing)
      } else {
        word.store(Self.waiterBit, ordering: .releasing)
      }
      return sleeper
    }
    sleeper?.signal()
  }
}
