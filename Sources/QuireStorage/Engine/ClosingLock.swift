// The turn of the thread that closes an engine, which is no writer's.

/// Evidence that the calling thread is the one that closes the engine. Of another type than a writer's permit: who
/// closes does not thereby write.
struct ClosingPermit: ~Copyable {
  fileprivate let permit: WriterPermit
}

/// Makes the threads that close an engine come one after the other, in the order in which they came.
final class ClosingLock: Sendable {
  private let lock = WriterLock()

  /// Waits for the lock.
  ///
  /// - Throws: `nestedWrite` if this thread holds it.
  func wait() throws(StorageError) -> ClosingPermit { ClosingPermit(permit: try lock.lock()) }

  /// Takes the lock if nobody has it, and nobody waits for it.
  func takeIfFree() -> ClosingPermit? {
    guard let permit = lock.lockIfFree() else { return nil }
    return ClosingPermit(permit: permit)
  }

  /// Gives the lock up. Only the thread that holds it may.
  func unlock(_ turn: consuming ClosingPermit) { lock.unlock(turn.permit) }
}
