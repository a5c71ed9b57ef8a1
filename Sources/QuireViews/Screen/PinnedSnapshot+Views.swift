// Screens that go on from one snapshot to the next.

public import QuireDatabase

extension PinnedSnapshot {
  /// Brings mappings to what this snapshot shows: before the first `advance(_:)`, and whenever the screen is drawn
  /// anew without a change set. Waits for no other transaction, and so may be called in async functions, too.
  ///
  /// - Throws: as `ViewMappings.update(_:)` and `read(_:)`.
  public func update(_ mappings: inout ViewMappings) throws { try read { tx in try mappings.update(tx) } }

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
      try mappings.indices.map { index in try mappings[index].advance(step, tx) }
    }
  }
}

extension ViewMappings {
  /// Goes on by a step of a pinned snapshot, and tells what changed on the screen: so that any number of screens, and
  /// what else asks for the step's commits, follow one snapshot.
  ///
  /// ```swift
  /// try screen.advance { step, tx in
  ///   let inboxDiff = try inbox.advance(step, tx)
  ///   let threadDiff = try thread.advance(step, tx)
  ///   let isHeaderStale = step.commits.hasChanges(forKey: "t1", in: threads)
  ///   print(inboxDiff.rows, threadDiff.rows, isHeaderStale)
  /// }
  /// ```
  ///
  /// The mappings may stand anywhere on the step's way. The change set is a reload if the step does not lead from where
  /// they stand to the snapshot of the transaction, if commits were lost because the snapshot lagged too far behind, or
  /// if the view was built anew, came or went. Costs as `PinnedSnapshot.advance(_:)`.
  ///
  /// - Throws: as `update(_:)`.
  @discardableResult
  public mutating func advance(_ step: PinnedStep, _ tx: ReadTransaction) throws -> ViewDiff {
    let (life, state) = (life, try state(tx))
    // The snapshot may have gone past commits that only touched rows, and still be the one that the mappings stand at.
    let passed = step.leads(to: tx) ? position.flatMap(step.commits) : nil
    let commits = passed ?? []
    let isKnown = passed != nil && !commits.contains { $0.changes.isUnknown }
    // The steps of one life say nothing about another. A view that neither was nor is there shows what it did.
    guard life == state?.life, isKnown || state == nil else { return reload(tx, state) }
    note(tx, state)
    guard let counts = state?.counts else { return ViewDiff.make([], &self, newCounts: [], csn: tx.csn.rawValue) }
    let name = viewName
    let operations = commits.flatMap { ($0.changes(ofExtensionNamed: name) as? ViewChanges)?.operations ?? [] }
    return ViewDiff.make(operations, &self, newCounts: counts, csn: tx.csn.rawValue)
  }

  /// Brings the mappings to what a transaction reads, and has the screen made anew.
  ///
  /// - Throws: as `update(_:)`.
  public mutating func reload(_ tx: ReadTransaction) throws -> ViewDiff { reload(tx, try state(tx)) }

  private mutating func reload(_ tx: ReadTransaction, _ state: ViewSource.State?) -> ViewDiff {
    note(tx, state)
    return ViewDiff.reload(&self, newCounts: state?.counts ?? [], csn: tx.csn.rawValue)
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
