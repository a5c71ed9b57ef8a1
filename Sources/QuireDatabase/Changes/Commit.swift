// One commit, as it is delivered.

public import QuireStorage

/// What is told of a commit, once it is durable.
public struct Commit: Sendable {
  /// The commit's number: a snapshot of this number or a higher one shows it. A transaction that only touched rows has
  /// the number of the commit before it. Numbers grow, but not always by one.
  public let csn: CSN
  /// What it has changed.
  public let changes: ChangeSet
  /// What the transaction set as its `commitInfo`.
  public let info: (any Sendable & Codable)?

  init(csn: CSN, changes: ChangeSet, info: (any Sendable & Codable)?) {
    self.csn = csn
    self.changes = changes
    self.info = info
  }

  /// Stands for commits that were too many to be kept.
  static func unknown(upTo csn: CSN) -> Commit { Commit(csn: csn, changes: .unknown, info: nil) }
}
