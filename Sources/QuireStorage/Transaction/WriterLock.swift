// One writer at a time.

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif
internal import Synchronization

/// The lock that makes writers one after the other.
///
/// It is always held by a thread, never by a task: a lock handed to a task that has no thread to run on deadlocks as
/// soon as the threads that could run it wait for the same lock. Async callers therefore write on a thread of the
/// engine's.
package final class WriterLock: @unchecked Sendable {
  // Sendable: safe because the mutex is the system's and the owner is an atomic.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let owner = Atomic<UInt>(0)

  /// A lock that nobody holds.
  package init() {
    mutex = UnsafeMutablePointer.allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Whether the calling thread holds the lock.
  package var isHeldByThisThread: Bool { owner.load(ordering: .relaxed) == ThreadIdentity.current }

  /// Waits for the lock.
  ///
  /// - Throws: `nestedWrite` at once if this thread holds it: waiting would never end.
  package func lock() throws(StorageError) {
    let thread = ThreadIdentity.current
    guard owner.load(ordering: .relaxed) != thread else {
      throw StorageError(
        .nestedWrite,
        "A write transaction was begun inside another on the same thread. Pass the transaction along instead.")
    }
    pthread_mutex_lock(mutex)
    owner.store(thread, ordering: .relaxed)
  }

  /// Gives the lock up. Only the thread that holds it may.
  package func unlock() {
    owner.store(0, ordering: .relaxed)
    pthread_mutex_unlock(mutex)
  }
}
