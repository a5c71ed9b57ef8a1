// Noting what is read of the trees of extensions.

/// A walk of a cursor through a tree of an extension, and how far it has gone.
final class RecordedTreeWalk {
  let extensionName: String
  let treeName: String
  /// The part that was seen; nil before the first step.
  private(set) var reached: ByteInterval?

  init(_ extensionName: String, _ treeName: String) {
    self.extensionName = extensionName
    self.treeName = treeName
  }

  /// The walk has looked at the keys from `lower` on, up to `last`, which is among them; nil means to the end.
  func look(from lower: [UInt8], through last: [UInt8]?) {
    let seen = ByteInterval(lower: lower, upper: last.map { $0 + [0] })
    guard let reached else { return self.reached = seen }
    let upper: [UInt8]?
    if let one = reached.upper, let other = seen.upper {
      upper = one.lexicographicallyPrecedes(other) ? other : one
    } else {
      upper = nil
    }
    let start = reached.lower.lexicographicallyPrecedes(seen.lower) ? reached.lower : seen.lower
    self.reached = ByteInterval(lower: start, upper: upper)
  }
}

extension ReadTransaction {
  /// Runs `body`, and does not count what it reads as read where the transaction is observed: for what decides how
  /// something is found, and not what. An observed read is not repeated when only that has changed.
  ///
  /// - Throws: what `body` throws.
  public func withoutNotingReads<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let recorder = state.recorder else { return try body() }
    return try recorder.withoutNoting(body)
  }

  /// Says that no more of a collection is read than is asked for by calls: where the transaction is observed, one that
  /// was opened and asked for nothing counts as read as a whole otherwise. For extensions that answer from their own
  /// trees.
  public func noteOpened(_ collection: String) { state.recorder?.noteOpened(collection) }
}
