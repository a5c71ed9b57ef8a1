// Repeatable randomness for several threads.

internal import QuireStorage
internal import Synchronization

/// Random numbers that several threads may draw, as the engine asks for.
package final class SharedRandom: Sendable {
  private let random: Latch<SeededRandom>
  /// The numbers that follow from `seed`.
  package init(seed: UInt64) { random = Latch(SeededRandom(seed: seed)) }
  /// The next number.
  package func next() -> UInt64 { random.withLock { $0.next() } }
}
