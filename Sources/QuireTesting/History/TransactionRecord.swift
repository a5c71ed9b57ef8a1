// What one transaction did and saw, as the thread that ran it tells.

/// A value that is written once in a history, and so tells who wrote it.
package struct WrittenValue: Hashable, Sendable, CustomStringConvertible {
  /// The thread, and a number that it gives once.
  package let rawValue: UInt64

  /// The value of this number of a thread's.
  package init(thread: Int, number: Int) { rawValue = UInt64(thread) << 32 | UInt64(number) }

  /// The value of these bytes, which may be followed by others; nil if there are fewer than eight.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count >= 8 else { return nil }
    rawValue = bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Its bytes, followed by some that depend on it, so that values are of many lengths.
  package func bytes(count: Int) -> [UInt8] {
    let filling = [UInt8](repeating: UInt8(truncatingIfNeeded: rawValue), count: max(0, count - 8))
    return (0..<8).map { UInt8(truncatingIfNeeded: rawValue >> (8 * UInt64($0))) } + filling
  }

  package var description: String { "\(rawValue >> 32).\(rawValue & 0xffff_ffff)" }
}

/// One transaction.
package struct TransactionRecord: Sendable {
  /// What the thread was told of a commit.
  package enum Outcome: Hashable, Sendable {
    case acknowledged
    /// It may be there or not.
    case unknown
    /// It is not there: it was refused, or given up.
    case refused
  }

  /// One key that was looked up, and what was found.
  package struct Read: Sendable {
    package var key: Int64
    package var value: WrittenValue?

    /// What was found under a key.
    package init(_ key: Int64, _ value: WrittenValue?) { (self.key, self.value) = (key, value) }
  }

  /// One key that was changed: its new value, or nil if it was removed.
  package typealias Write = Read

  package var thread: Int
  /// When the thread asked for it, and when it was told of its end, in nanoseconds of one clock.
  package var began: UInt64
  package var ended: UInt64
  /// The commit whose state it saw.
  package var snapshot: UInt64
  /// What it read before it changed anything.
  package var reads: [Read]
  /// All that there was, if it read that.
  package var content: [Int64: WrittenValue]?
  /// What it changed, the last change of a key last; empty for one that read.
  package var writes: [Write]
  /// The number of its commit, and what was told of it; nil for one that read.
  package var commit: (number: UInt64, outcome: Outcome)?

  /// A transaction that has read nothing yet.
  package init(thread: Int, began: UInt64) {
    self.thread = thread
    self.began = began
    (ended, snapshot, reads, writes) = (began, 0, [], [])
  }

  /// What messages call it.
  var name: String {
    guard let commit else { return "a read of thread \(thread) at \(snapshot)" }
    return "commit \(commit.number) of thread \(thread) (\(commit.outcome))"
  }
}
