// Whether a transaction has come where a step of a pinned snapshot leads.

extension PinnedStep {
  /// Whether a transaction reads the snapshot that the step has led to, and the pin has taken no other step since.
  public func leads(to transaction: ReadTransaction) -> Bool { transaction.position == end }
}
