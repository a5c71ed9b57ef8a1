// Permits for tests that drive a part of the engine by itself.

import QuireStorage

/// Runs `body` with the permit of a lock of its own, for parts that are in nobody else's hands.
func withWriterPermit<Result>(_ body: (borrowing WriterPermit) throws -> Result) throws -> Result {
  let lock = WriterLock()
  let permit = try lock.lock()
  do {
    let result = try body(permit)
    lock.unlock(permit)
    return result
  } catch {
    lock.unlock(permit)
    throw error
  }
}

extension EngineCore {
  /// What is broken of the transaction that runs on this thread.
  func transactionDefects() -> [StorageError] {
    do throws(StorageError) {
      return try writerLock.withHeld { permit in context.checkInvariants(permit) }
    } catch {
      return [error]
    }
  }
}
