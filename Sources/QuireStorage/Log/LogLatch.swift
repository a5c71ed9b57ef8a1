// Who may move the end of the log.

internal import Synchronization

/// Evidence that the calling thread is alone with the end of the log. What moves that end borrows it, so that the
/// compiler sees to it; it takes no space and no time.
package struct LogPermit: ~Copyable {
  fileprivate init() {}
}

/// Excludes appends, switches, marks and the naming of segments from each other.
package struct LogLatch: ~Copyable, Sendable {
  private let latch = Latch(())

  /// A latch that nobody holds.
  package init() {}

  /// Runs `body` alone. Waits for whoever is inside; must not be called from inside.
  @inline(__always) package borrowing func withLock<Result, Failure: Error>(
    _ body: (borrowing LogPermit) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try latch.withLock { (_) throws(Failure) in try body(LogPermit()) }
  }
}
