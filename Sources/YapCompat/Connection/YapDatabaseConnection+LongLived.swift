// Snapshots that stay.

public import Foundation
public import Quire

extension YapDatabaseConnection {
  /// Makes all reads of this connection show the newest commit until the next call, or until the long-lived read ends.
  /// New call: `Database.pin()`, and `PinnedSnapshot.advance()` for the calls after the first.
  ///
  /// Neither writers nor checkpoints wait for it, and the log does not grow for it, however long it is held.
  ///
  /// - Returns: the notifications of the commits that it has jumped over, in their order; none at the first call.
  ///   Commits of which too many had piled up (64 MiB) are replaced by one notification with `modifiedExternally`.
  /// - Throws: `closed`; `nestedTransaction` inside a transaction of this connection.
  @discardableResult
  public func beginLongLivedReadTransaction(
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> [Notification] {
    try inTurn {
      guard let pin = state.withLock({ $0.pin }) else {
        let pin = try database.quire.pin(fileID: fileID, line: line)
        state.withLock { $0.pin = pin }
        return []
      }
      let step = try pin.advance { step, _ in step }
      let way = state.withLock { state in
        // Apps return at once when nothing is told: what was jumped over before belongs to the next notification.
        let way = state.quietStep?.followed(by: step) ?? step
        state.quietStep = step.commits.isEmpty ? way : nil
        return way
      }
      return step.commits.map { database.notification($0, way) }
    }
  }

  /// Ends the long-lived read: the connection's reads show the newest commit from now on. New call: let go of the
  /// `PinnedSnapshot`.
  ///
  /// - Returns: the notifications of the commits that were jumped over; none if there was no long-lived read, or if the
  ///   database is closed.
  @discardableResult
  public func endLongLivedReadTransaction() -> [Notification] {
    do {
      return try inTurn {
        guard let pin = takePin() else { return [] }
        return try pin.advance().map { database.notification($0) }
      }
    } catch {
      database.report(error)
      return []
    }
  }

  private func takePin() -> PinnedSnapshot? {
    state.withLock { state in
      defer { (state.pin, state.quietStep) = (nil, nil) }
      return state.pin
    }
  }

  /// Whether a long-lived read is going on. New call: none, as a `PinnedSnapshot` is an object.
  public func isInLongLivedReadTransaction() -> Bool { pinnedSnapshot != nil }

  /// The snapshot of the long-lived read, for code that has come over already; nil without one. Not in the original.
  /// New call: `Database.pin()`.
  public var pinnedSnapshot: PinnedSnapshot? { state.withLock { $0.pin } }

  /// Lets a write on this connection throw `notPermitted` while a long-lived read goes on: the default, here in release
  /// builds, too. New call: none, as a `PinnedSnapshot` cannot write.
  public func enableExceptionsForImplicitlyEndingLongLivedReadTransaction() {
    state.withLock { $0.protectsPin = true }
  }

  /// Makes a write on this connection end the long-lived read, and say so in the log. New call: none, as a
  /// `PinnedSnapshot` cannot write.
  public func disableExceptionsForImplicitlyEndingLongLivedReadTransaction() {
    state.withLock { $0.protectsPin = false }
  }

  /// A write is about to begin.
  func endPinForWriting() throws(DatabaseError) {
    let (pin, protectsPin) = state.withLock { ($0.pin, $0.protectsPin) }
    guard pin != nil else { return }
    guard !protectsPin else {
      throw notPermitted(
        "writing during a long-lived read, which would end: write on another connection, or call "
          + "`disableExceptionsForImplicitlyEndingLongLivedReadTransaction`")
    }
    _ = takePin()
    YapDatabase.log(.warning, "A write has ended the long-lived read of the connection \(name ?? "").")
  }
}
