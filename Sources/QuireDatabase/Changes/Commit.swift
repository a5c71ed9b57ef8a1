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

  /// What extensions tell of it, by their names.
  let extensionChanges: [String: any ExtensionChanges]

  init(
    csn: CSN, changes: ChangeSet, info: (any Sendable & Codable)?,
    extensionChanges: [String: any ExtensionChanges] = [:]
  ) {
    self.csn = csn
    self.changes = changes
    self.info = info
    self.extensionChanges = extensionChanges
  }

  /// About how many bytes of memory it takes.
  var byteCount: Int { extensionChanges.values.reduce(changes.byteCount) { $0 + max(0, $1.byteCount) } }

  /// Stands for commits that were too many to be kept.
  static func unknown(upTo csn: CSN) -> Commit { Commit(csn: csn, changes: .unknown, info: nil) }
}
