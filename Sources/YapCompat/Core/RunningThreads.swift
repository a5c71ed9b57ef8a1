// Which threads are inside of which connections' transactions.

internal import Foundation

/// Tells a transaction that is opened inside another one from one that has to wait for its turn.
///
/// Invariant: a thread has one entry for each connection whose transaction's block it is running, and none before the
/// first and after the last of them.
final class RunningThreads: Sendable {
  private let running = Guarded<[ObjectIdentifier: [ObjectIdentifier]]>([:])

  private var current: ObjectIdentifier { ObjectIdentifier(Thread.current) }

  /// The running thread enters a transaction of `connection`, or a registration of a database.
  func enter(_ connection: AnyObject) {
    let (thread, id) = (current, ObjectIdentifier(connection))
    running.withLock { running in
      assert(running[thread]?.contains(id) != true, "a thread enters a transaction inside of one of its connection")
      running[thread, default: []].append(id)
    }
  }

  /// It leaves the innermost one.
  func leave() {
    let thread = current
    running.withLock { running in
      let left = running[thread]?.popLast()
      assert(left != nil, "a thread leaves a transaction that it is not inside of")
      if running[thread]?.isEmpty ?? false { running[thread] = nil }
    }
  }

  /// Whether the running thread is inside of a transaction, and whether of one of `connection`.
  func state(_ connection: AnyObject) -> (isInside: Bool, isInsideOwn: Bool) {
    let (thread, id) = (current, ObjectIdentifier(connection))
    return running.withLock { running in
      let connections = running[thread] ?? []
      return (!connections.isEmpty, connections.contains(id))
    }
  }
}
