// Threads of our own: a pool would run only as many at once as there are cores.

internal import Foundation
internal import Synchronization

/// Runs `body` on so many threads at once and waits for all of them; throws what the last one that failed threw.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  let threads = (0..<count).map { index in RunningThread { try body(index) } }
  for thread in threads { try thread.join() }
}

/// A thread that can be waited for.
final class RunningThread: Sendable {
  private let finished = DispatchSemaphore(value: 0)
  private let failure = Mutex<(any Error)?>(nil)

  /// Starts `body` on a thread.
  init(_ body: @escaping @Sendable () throws -> Void) {
    let thread = Thread { [self] in
      do {
        try body()
      } catch {
        failure.withLock { $0 = error }
      }
      finished.signal()
    }
    thread.start()
  }

  /// Waits until the thread has finished, once; throws what it threw.
  func join() throws {
    finished.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
