// Short mutual exclusion in memory.

internal import Foundation

/// Guards a value: who is inside `withLock` is alone.
///
/// With a lock that the thread sanitizer knows: it cannot look into the standard library's mutex, and would report
/// every use of that as a race.
final class Guarded<Value>: @unchecked Sendable {
  // Sendable: safe because the value is touched under the lock only. Of objects that apps put in, they are asked that
  // these may be used from any thread, as in the original.
  private let lock = NSLock()
  private var value: Value

  /// Guards `value`.
  init(_ value: Value) { self.value = value }

  /// Runs `body` alone. Waits for a thread that is inside; must not be called from inside.
  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
