// What closures in transactions saw.

internal import QuireStorage
internal import Synchronization

/// Collects texts from any thread.
package final class Recorder: Sendable {
  private let latch = Latch<[String]>([])

  /// Makes an empty one.
  package init() {}

  /// Adds a text behind the others.
  package func append(_ text: String) { latch.withLock { $0.append(text) } }

  /// The texts so far, in the order in which they came.
  package var values: [String] { latch.withLock { $0 } }

  /// Takes all texts out.
  package func removeAll() { latch.withLock { $0.removeAll() } }
}
