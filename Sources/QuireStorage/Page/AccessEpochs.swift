// Who may still be inside a page whose address has been taken away.

/// The access epochs of all readers, as eviction needs them.
///
/// A reader announces the epoch before it looks up an address, and gives it up, or moves on, when it holds none any
/// more. So what was taken out of the tables before the epoch moved can be reused as soon as nobody is in an epoch that
/// old (hazard C3).
package protocol AccessEpochs: AnyObject, Sendable {
  /// Moves the epoch; returns the one that has ended.
  func advanceEpoch() -> UInt64
  /// The oldest epoch that any reader still holds addresses of; `.max` if none does.
  func oldestEpoch() -> UInt64
  /// The same, and whether it is the calling thread that holds it.
  func oldestHolder() -> (epoch: UInt64, isCaller: Bool)
}
