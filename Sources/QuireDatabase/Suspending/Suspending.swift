// Suspending a database.

internal import QuireStorage

/// One call that gives the file of a database up.
struct Suspending {
  let core: DatabaseCore

  /// Gives the file up; see `Database.suspend`.
  func run(_ timeout: Duration?) throws(DatabaseError) {
    if core.environment == nil { return }
    let deadline = timeout.map { timeout -> UInt64 in
      let (sum, overflow) = Pause.nanoseconds.addingReportingOverflow(timeout.nanoseconds)
      return overflow ? .max : sum
    }
    try core.suspension.inTurn(core) { () throws(DatabaseError) in
      if core.suspension.suspendedCSN == nil { try suspendAlone(until: deadline) }
    }
  }

  /// Runs `body` on a thread of its own; errors of the engine's become ours.
  static func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    do { return try await ThreadStarter.system.run { _ in try body() } } catch let error as StorageError {
      throw DatabaseError(error)
    }
  }

  private func suspendAlone(until deadline: UInt64?) throws(DatabaseError) {
    core.reportLastMetrics()
    core.closing.run()
    var failure: DatabaseError?
    let storage = core.storage
    do throws(StorageError) { try storage.suspend(until: deadline) } catch {
      guard storage.isSuspended else { throw DatabaseError(error) }
      failure = core.failed(error)
    }
    core.suspension.begin(at: core.publishedCSN)
    // What the flush has made durable and nobody has told of yet.
    core.deliver()
    if let failure { throw failure }
  }
}

extension Suspension {
  /// Runs `body` alone among those who suspend and resume.
  func inTurn(_ core: DatabaseCore, _ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
    try core.checkNotNested(CurrentTransaction.innermost)
    let permit: WriterPermit
    if let free = turn.lockIfFree() {
      permit = free
    } else {
      // The thread that has the turn waits for the engine's threads, or has called out from its turn.
      guard !turn.isHeldByThisThread, !core.storage.threads.areCurrent else {
        throw DatabaseError(
          .inUse, "The database is being suspended or resumed, and waits for this thread. Return, and let it.",
          path: core.path)
      }
      do throws(StorageError) { permit = try turn.lock() } catch { throw DatabaseError(error) }
    }
    do throws(DatabaseError) { try body() } catch {
      turn.unlock(permit)
      throw error
    }
    turn.unlock(permit)
  }
}
