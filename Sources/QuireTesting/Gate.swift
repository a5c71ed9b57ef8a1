// A place where a test holds a thread up.

internal import Dispatch
internal import Synchronization

/// Holds up a thread that comes to it until the test opens it, or until there is no more hope.
///
/// A test that waits for something which must happen while the gate is shut ends in any case, and then asks
/// `hasTimedOut`.
package final class Gate: Sendable {
  private let opened = DispatchSemaphore(value: 0)
  private let entryCount = Atomic<Int>(0)
  private let timeouts = Atomic<Int>(0)
  private let seconds: Double

  /// A gate that is shut for `seconds` at the longest: by default longer than all tests take, since one that is async
  /// may wait for most of the others at each of its steps.
  package init(seconds: Double = 1500) { self.seconds = seconds }

  /// Waits until the gate is open. One thread goes through for each call of `open`.
  package func pass() {
    entryCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
    if opened.wait(timeout: .now() + seconds) == .timedOut {
      timeouts.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }
  }

  /// Lets a thread pass.
  package func open() { opened.signal() }

  /// Whether a thread had to be let through because nobody came to open.
  package var hasTimedOut: Bool { timeouts.load(ordering: .sequentiallyConsistent) > 0 }

  /// How many threads have come to the gate.
  package var count: Int { entryCount.load(ordering: .sequentiallyConsistent) }

  /// Waits until `count` threads have come.
  package func waitForEntries(_ count: Int = 1) async {
    while self.count < count, !hasTimedOut {
      do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
    }
  }
}
