// Maintenance as users see it.

internal import Synchronization

/// How far maintenance has come.
public struct MaintenanceProgress: Sendable {
  /// Pages that have been moved so far.
  public let movedPages: Int
  /// Pages of the data file as of now.
  public let filePages: Int
}

extension StorageEngine {
  /// Makes the data file as short as its content allows: moves pages from its end to free places in front, and cuts it.
  ///
  /// Happens by itself when the engine has been idle for a second, unless `StorageOptions.maintainsWhenIdle` is off.
  /// Does nothing if less than an eighth of the file is free. Works in steps of a few milliseconds each, between which
  /// writers get their turn; readers never wait. Ending it, or the process, at any point loses nothing: what has moved
  /// has moved. Content and snapshots stay as they are, but each step takes a CSN. Places that older readers and pins
  /// still need stay in the file.
  ///
  /// - Parameter progress: called after each step, on the calling thread; what it throws ends the work.
  /// - Throws: `closed`, `readOnly`, `failStop`, `fileChanged`, `nestedWrite` inside a write transaction, `diskFull`,
  ///   `inputOutput`, `damagedPage`, and what `progress` throws.
  public func maintain(progress: (MaintenanceProgress) throws -> Void = { _ in }) throws {
    try core.maintain(progress)
  }

  /// The same on a thread of the engine's. Cancelling the task ends it after the step that runs, with
  /// `CancellationError`.
  @concurrent
  public func maintain() async throws {
    try core.checkOpen()
    let isCancelled = CancellationFlag()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let isQueued = core.services.runMaintenance { [core] in
          do {
            try core.maintain { _ in if isCancelled.isSet { throw CancellationError() } }
            continuation.resume()
          } catch { continuation.resume(throwing: error) }
        }
        if !isQueued { continuation.resume(throwing: core.closedError()) }
      }
    } onCancel: {
      isCancelled.set()
    }
  }
}

/// Says once that something is to end.
private final class CancellationFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  var isSet: Bool { flag.load(ordering: .acquiring) }
  func set() { flag.store(true, ordering: .releasing) }
}
