// A call to the disk that does not come back until a test lets it.

internal import Dispatch
internal import QuireStorage
internal import Synchronization

/// A call that a test holds: it has been made, and the disk has not done it yet.
///
/// ```swift
/// let sync = disk.hold(.synchronize, of: "/db-log0")
/// let isInFlight = sync.awaitCall()  // the sync of a thread that commits is in flight
/// sync.release()  // it succeeds, after all that was done meanwhile
/// ```
///
/// Thread-safe. Nobody waits for ever: what takes longer than twenty seconds goes on, and is told.
package final class HeldCall: Sendable {
  // How long a call is held, and waited for, at the most.
  private static let patience = DispatchTimeInterval.seconds(20)

  private let called = DispatchSemaphore(value: 0)
  private let released = DispatchSemaphore(value: 0)
  private let effect = Latch<FaultEffect?>(nil)

  /// Waits until the call is made; false if it has not been after a while.
  package func awaitCall() -> Bool {
    let isCalled = called.wait(timeout: .now() + Self.patience) == .success
    // The next question is answered at once.
    if isCalled { called.signal() }
    return isCalled
  }

  /// Lets the call go on: to the disk, or to go wrong in this way.
  package func release(_ effect: FaultEffect? = nil) {
    self.effect.withLock { $0 = effect }
    released.signal()
  }

  /// The call itself; returns what goes wrong with it.
  func stay() -> FaultEffect? {
    called.signal()
    _ = released.wait(timeout: .now() + Self.patience)
    return effect.withLock { $0 }
  }
}
