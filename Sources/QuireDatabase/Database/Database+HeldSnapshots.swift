// Who holds snapshots of a database.

extension Database {
  /// The snapshots that are in use, the oldest first: by whom, where in the code, and for how long. Those of backups
  /// and checks are among them. Costs a lock for a moment.
  public var heldSnapshots: [HeldSnapshot] { core.holders.held().map(\.snapshot) }

  /// The oldest snapshot that is in use; nil if none is. As long as it is held, `statistics.heldPages` cannot fall.
  public var oldestSnapshot: HeldSnapshot? { heldSnapshots.first }
}
