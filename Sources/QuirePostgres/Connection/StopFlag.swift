// Telling a feeder to end, and waking it.

#if Postgres
  internal import Dispatch
  internal import QuireDatabase
  internal import Synchronization

  /// Set once. Wakes the one thread that sleeps on it.
  ///
  /// Invariant: the semaphore has a signal if `isWoken` is true, and no more than one, but for the moment in between.
  final class StopFlag: Sendable {
    private let isOn = Atomic<Bool>(false)
    private let isWoken = Atomic<Bool>(false)
    private let semaphore = DispatchSemaphore(value: 0)

    init() {}

    var isSet: Bool { isOn.load(ordering: .acquiring) }

    func set() {
      isOn.store(true, ordering: .releasing)
      wake()
    }

    /// Ends a sleep, or the next one if nobody sleeps: one, however often it is called.
    func wake() {
      if !isWoken.exchange(true, ordering: .acquiringAndReleasing) { semaphore.signal() }
    }

    /// Sleeps until it is woken, and so long at the most.
    func sleep(_ duration: Duration) {
      if isSet { return }
      let (seconds, attoseconds) = duration.components
      let nanoseconds = seconds >= 1 << 30 ? Int.max : Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
      if semaphore.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success {
        isWoken.store(false, ordering: .releasing)
      }
    }

    /// Sleeps so long, whoever wakes it; less only if it is set.
    func pause(_ duration: Duration) {
      let end = ContinuousClock.now + duration
      while !isSet, ContinuousClock.now < end { sleep(end - ContinuousClock.now) }
    }

    /// Waits until a database that was suspended is resumed or closed, or this is set.
    func waitUntilResumed(_ database: Database) {
      while !isSet {
        do { return try database.read { _ in } } catch {
          guard (error as? DatabaseError)?.code == .suspended else { return }
          pause(.milliseconds(200))
        }
      }
    }
  }
#endif
