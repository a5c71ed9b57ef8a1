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
  let extensionChanges: [ByteString: any ExtensionChanges]
  /// What has changed beside rows.
  let scope: CommitScope
  /// About how many bytes of memory it takes.
  let byteCount: Int

  init(
    csn: CSN, changes: ChangeSet, info: (any Sendable & Codable)?,
    extensionChanges: [ByteString: any ExtensionChanges] = [:], scope: CommitScope = CommitScope()
  ) {
    self.csn = csn
    self.changes = changes
    self.info = info
    self.extensionChanges = extensionChanges
    self.scope = scope
    // What an extension tells may be anything.
    byteCount = extensionChanges.values.reduce(changes.byteCount) { $0 + min(max(0, $1.byteCount), 1 << 40) }
  }

  /// Whether there is nothing to tell of it to those who follow commits.
  var isSilent: Bool { changes.isEmpty && extensionChanges.isEmpty }

  /// Stands for commits that were too many to be kept.
  ///
  /// Some of them may only have touched rows: then nobody knows which of them a snapshot of this number has come after.
  static func unknown(upTo csn: CSN) -> Commit {
    Commit(csn: csn, changes: .unknown, info: nil, scope: CommitScope(isTouchOnly: true))
  }
}

/// What a commit has changed beside rows: for those who observe what they have read.
struct CommitScope: Sendable {
  /// The extensions whose trees or values have changed, and those that came, went, or got further.
  var extensions: Set<ByteString> = []
  /// What has changed of those of which that is known.
  var changedParts: [ByteString: ExtensionParts] = [:]
  /// The extensions whose content readers see begin or end with it.
  var restarted: Set<ByteString> = []
  /// Whether a collection came or went.
  var hasChangedNames = false
  /// Whether it changes nothing that is stored: it then has the number of the commit before it.
  var isTouchOnly = false
}
