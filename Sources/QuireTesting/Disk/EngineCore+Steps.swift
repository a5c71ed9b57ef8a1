// An engine taken through its background work step by step.

package import QuireStorage

extension EngineCore {
  /// Does the next piece of work of the checkpoint that runs; false if there is none.
  @discardableResult
  package func stepCheckpoint() -> Bool { checkpointer.step() }

  /// Begins a checkpoint, inside a transaction of the calling thread or outside of one; see
  /// `Checkpointer.beginInTransaction`. False also if the engine is closed.
  @discardableResult
  package func beginCheckpointInTransaction() -> Bool {
    do throws(StorageError) {
      return try writerLock.isHeldByThisThread
        ? writerLock.withHeld { permit in checkpointer.beginInTransaction(permit) }
        : withWriterLock { permit in checkpointer.beginInTransaction(permit) }
    } catch {
      return false
    }
  }

  /// Does the next piece of maintenance; false if there is none.
  package func maintainStep() throws(StorageError) -> Bool { try maintainer.step(self) }

  /// Appends a mark if the log has been quiet; see `LogManager.appendQuietMark`.
  @discardableResult
  package func appendQuietMark() -> Bool { log.appendQuietMark() }
}
