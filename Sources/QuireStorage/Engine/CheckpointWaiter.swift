// A thread that waits for the end of a checkpoint.

internal import Dispatch

/// Wakes one thread once.
final class CheckpointWaiter: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func wait() { semaphore.wait() }
  func signal() { semaphore.signal() }
}
