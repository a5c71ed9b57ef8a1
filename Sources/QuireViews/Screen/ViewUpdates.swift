// Change sets as a sequence.

public import QuireDatabase

/// What changed on a screen, again and again, as commits change the view.
///
/// ```swift
/// for try await update in try db.updates(of: ViewMappings(byAlbum, groups: ["a1", "a2"])) {
///   titles = try await update.snapshot.read { [titles] tx in
///     let view = try tx.view(byAlbum)
///     return try update.diff.applied(to: titles) { path in try view.object(at: path, update.mappings)?.title }
///   }
/// }
/// ```
///
/// The first element is a reload with the view as it is; so is the one after the view was unregistered, built anew, or
/// registered at last. What is committed while the consumer is busy comes as one
/// change set afterwards: nothing is queued but the commits themselves. Ends when the database is closed, or with an
/// error when a failed write has stopped it. One consumer at a time.
public struct ViewUpdates: AsyncSequence, Sendable {
  /// One change of the screen.
  public struct Element: Sendable {
    /// What changed.
    public let diff: ViewDiff
    /// The mappings after it.
    public let mappings: ViewMappings
    /// The snapshot to read rows from, until the next element is asked for.
    public let snapshot: PinnedSnapshot
  }

  private let commits: CommitStream
  private let snapshot: PinnedSnapshot
  private let mappings: ViewMappings

  init(_ db: Database, _ mappings: ViewMappings) throws(DatabaseError) {
    // The stream first: no commit may fall between the two.
    commits = db.commits(tellingRegistrations: true)
    snapshot = try db.pin()
    self.mappings = mappings
  }

  /// Begins with the view as it is.
  public func makeAsyncIterator() -> Iterator {
    Iterator(commits: commits.makeAsyncIterator(), snapshot: snapshot, mappings: mappings)
  }

  /// Waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    var commits: CommitStream.Iterator
    let snapshot: PinnedSnapshot
    var mappings: ViewMappings
    private var hasBegun = false

    init(commits: CommitStream.Iterator, snapshot: PinnedSnapshot, mappings: ViewMappings) {
      self.commits = commits
      self.snapshot = snapshot
      self.mappings = mappings
    }

    /// The next change of the screen; waits for it. Nil when the database was closed, or the task cancelled.
    public mutating func next() async throws -> Element? {
      if !hasBegun {
        hasBegun = true
        return try begin()
      }
      while let commit = try await commits.next() {
        let name = mappings.viewName
        guard
          commit.changes.isUnknown || commit.restarts(extensionNamed: name)
            || commit.changes(ofExtensionNamed: name) != nil
        else { continue }
        let diff = try snapshot.advance(&mappings)
        // Nothing, if an earlier step has taken this commit along.
        if !diff.isEmpty { return Element(diff: diff, mappings: mappings, snapshot: snapshot) }
      }
      return nil
    }

    /// The view as it is.
    private mutating func begin() throws -> Element {
      try snapshot.advance()
      let diff = try snapshot.read { tx in try mappings.reload(tx) }
      return Element(diff: diff, mappings: mappings, snapshot: snapshot)
    }
  }
}

extension Database {
  /// What changes on a screen from now on, beginning with all of it.
  ///
  /// - Throws: `closed`.
  public func updates(of mappings: ViewMappings) throws(DatabaseError) -> ViewUpdates {
    try ViewUpdates(self, mappings)
  }
}
