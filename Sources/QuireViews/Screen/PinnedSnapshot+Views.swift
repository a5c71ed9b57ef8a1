// Screens that go on from one snapshot to the next.

public import QuireDatabase

extension PinnedSnapshot {
  /// Goes on to the newest snapshot, takes mappings along, and tells what changed on their screen.
  ///
  /// Costs time in proportion to the steps that the commits in between have taken in the view, times the logarithm of
  /// the number of rows, not to the number of rows. If commits were lost because this snapshot lagged too far behind,
  /// or if the view was built anew, came or went, the change set is a reload.
  ///
  /// - Throws: `viewRefused` if the mappings do not stand at this snapshot: update them in a read of it first;
  ///   `closed`, `damagedPage`, `inputOutput`. The snapshot may have gone on all the same; update the mappings then.
  @discardableResult
  public func advance(_ mappings: inout ViewMappings) throws -> ViewDiff {
    var all = [mappings]
    let diffs = try advance(&all)
    mappings = all[0]
    return diffs[0]
  }

  /// The same for the mappings of several screens at once, or of one screen over several views.
  @discardableResult
  public func advance(_ mappings: inout [ViewMappings]) throws -> [ViewDiff] {
    let old = csn.rawValue
    for one in mappings where one.csn != old {
      throw DatabaseError(
        .viewRefused,
        """
        The mappings of “\(one.viewName)” stand at \(one.csn.map { "commit \($0)" } ?? "no commit"), and the snapshot \
        at commit \(old). Call `update` in a read of this snapshot first.
        """)
    }
    return try advance { step, tx in
      try mappings.indices.map { index in try Self.diff(&mappings[index], step, tx) }
    }
  }

  private static func diff(
    _ mappings: inout ViewMappings, _ step: PinnedStep, _ tx: ReadTransaction
  ) throws -> ViewDiff {
    let (life, state) = (mappings.life, try mappings.state(tx))
    // The snapshot may have gone past commits that only touched rows, and still be the one that the mappings stand at.
    let passed = if let position = mappings.position { step.commits(since: position) } else { step.commits }
    mappings.life = state?.life
    mappings.position = tx.position
    let commits = passed ?? []
    let isKnown = passed != nil && !commits.contains { $0.changes.isUnknown }
    // The steps of one life say nothing about another. A view that neither was nor is there shows what it did.
    guard life == state?.life, isKnown || state == nil else {
      return ViewDiff.reload(&mappings, newCounts: state?.counts ?? [], csn: tx.csn.rawValue)
    }
    guard let counts = state?.counts else { return ViewDiff.make([], &mappings, newCounts: [], csn: tx.csn.rawValue) }
    let name = mappings.viewName
    let operations = commits.flatMap { ($0.changes(ofExtensionNamed: name) as? ViewChanges)?.operations ?? [] }
    return ViewDiff.make(operations, &mappings, newCounts: counts, csn: tx.csn.rawValue)
  }
}

extension Commit {
  /// Whether one of some groups of a view was changed by this commit. O(steps), without looking at anything stored.
  public func hasChanges(in view: some ViewExtension, groups: some Sequence<String>) -> Bool {
    if changes.isUnknown || restarts(extensionNamed: view.name) { return true }
    guard let changes = changes(of: view) else { return false }
    return changes.operations.hasChanges(in: groups)
  }
}
