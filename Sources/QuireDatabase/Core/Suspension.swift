// Whether an open database has given up its file for a while.

internal import QuireStorage
internal import Synchronization

/// The suspension of one open database, who waits for its end, and the pinned snapshots that it concerns.
///
/// Invariants:
/// 1. `phase` changes to and from `suspended` by the thread that has the turn.
/// 2. Somebody waits only while the phase is `suspended`.
final class Suspension: Sendable {
  private enum Phase {
    case open
    /// Given up, when `csn` was the newest commit that readers saw.
    case suspended(csn: CSN)
    case closed
  }

  private struct WeakPin {
    weak var pin: (any SuspendedPin)?
  }

  private struct State {
    var phase = Phase.open
    var lastWaiter = 0
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    var pins: [Int: WeakPin] = [:]
  }

  private let state = Latch(State())
  /// Held by the thread that suspends or resumes.
  let turn = WriterLock()

  // MARK: Phases

  /// The newest commit that was seen before the file was given up; nil if it has not been.
  var suspendedCSN: CSN? {
    state.withLock { state in if case .suspended(let csn) = state.phase { csn } else { nil } }
  }

  /// The file was given up.
  func begin(at csn: CSN) {
    assert(turn.isHeldByThisThread, "a database is suspended without the turn")
    state.withLock { state in if case .open = state.phase { state.phase = .suspended(csn: csn) } }
  }

  /// The database is as open as before.
  func end() {
    assert(turn.isHeldByThisThread, "a database is resumed without the turn")
    let waiters = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      guard case .suspended = state.phase else { return [] }
      state.phase = .open
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The database was closed: nobody waits any more.
  func close(_ path: String) {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      state.phase = .closed
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(throwing: Self.closedError(path)) }
  }

  // MARK: Waiting

  /// Returns when the database is not suspended.
  ///
  /// - Throws: `closed` if it is closed, `CancellationError` if the task is cancelled.
  func wait(_ path: String) async throws {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          switch state.phase {
          case .open: return .success(())
          case .closed: return .failure(Self.closedError(path))
          case .suspended:
            state.waiters[number] = continuation
            return nil
          }
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      // Before this call has begun to wait, it sees by itself that its task was cancelled.
      let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
      waiter?.resume(throwing: CancellationError())
    }
  }

  // MARK: Pins

  /// Notes a pinned snapshot under its number.
  func add(_ pin: any SuspendedPin, _ number: Int) { state.withLock { $0.pins[number] = WeakPin(pin: pin) } }

  /// Forgets one, which is gone.
  func remove(_ number: Int) { state.withLock { _ = $0.pins.removeValue(forKey: number) } }

  /// The pinned snapshots.
  var pins: [any SuspendedPin] { state.withLock { $0.pins.values.compactMap(\.pin) } }

  // MARK: Errors

  /// The error of a transaction that begins while the file is found anew.
  static func resumingError(_ path: String) -> StorageError {
    StorageError(.suspended, "The database is being resumed. Begin when resume() has returned.", path: path)
  }

  private static func closedError(_ path: String) -> DatabaseError {
    DatabaseError(.closed, "The database was closed. Open it again.", path: path)
  }
}

/// A pinned snapshot, as a suspension sees it.
protocol SuspendedPin: AnyObject, Sendable {
  /// Goes on with the newest snapshot of `engine`, if it shows that commit; else it has nothing to show any more.
  func move(to engine: StorageEngine)
}
