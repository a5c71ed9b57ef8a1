// A thread that waits for the end of a checkpoint.

/// Wakes one thread once.
final class CheckpointWaiter: Sendable {
  private let semaphore = Semaphore()

  func wait() { semaphore.wait() }
  func signal() { semaphore.signal() }
}
