// The changes of a query as a sequence.

public import QuireDatabase
public import QuireViews

/// What changed among the rows of a query, again and again, as commits change them: the change sets that screens of
/// views have, in one section.
///
/// ```swift
/// let jazz = RowCollection.songs.query { $0.tags.contains("jazz") }.order(by: \.year)
/// for try await update in try db.updates(of: jazz) {
///   titles = try await update.snapshot.read { [titles] tx in
///     try update.diff.applied(to: titles) { path in try tx[.songs].get(update.keys[path.row])?.title }
///   }
/// }
/// ```
///
/// The first element is a reload with the rows as they are. The query is run for that one alone; afterwards each row
/// that a commit has changed is tested by itself, and a commit that changes no row of the query is no element. So is
/// what is committed while the consumer is busy: it comes as one change set. A query with a selection, a join for one,
/// depends on more than its own rows: it is run anew when a commit has changed what the last run has read. What a
/// selection's closure sees by other means than its transaction is not noted. Such a run decodes all rows of the query:
/// what notes its reads has no cache of objects. Keeps key and order of each row that satisfies the condition in
/// memory, also of those that a limit leaves out. Ends when the database is closed, or with an error when a failed
/// write has stopped it. One consumer at a time.
public struct QueryUpdates<Object: Sendable, Metadata: Sendable>: AsyncSequence, Sendable {
  /// One change of the rows.
  public struct Element: Sendable {
    /// What changed. All rows are in section 0.
    public let diff: ViewDiff
    /// The keys of the rows after it, in order.
    public let keys: [String]
    /// The snapshot to read rows from, until the next element is asked for.
    public let snapshot: PinnedSnapshot
  }

  private let commits: CommitStream
  private let snapshot: PinnedSnapshot
  private let query: RowQuery<Object, Metadata>

  init(_ db: Database, _ query: RowQuery<Object, Metadata>) throws(DatabaseError) {
    // The stream first: no commit may fall between the two.
    commits = QueryScreen(query).hasSelections ? db.allCommits : db.commits
    snapshot = try db.pin()
    self.query = query
  }

  /// Begins with the rows as they are.
  public func makeAsyncIterator() -> Iterator {
    Iterator(commits: commits.makeAsyncIterator(), snapshot: snapshot, query: query)
  }

  /// Waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    private var commits: CommitStream.Iterator
    private let snapshot: PinnedSnapshot
    private let collection: String
    private var screen: QueryScreen<Object, Metadata>
    /// What the last run has read, of a query with selections.
    private var reads: FollowedReads?
    private var hasBegun = false
    /// Whether what is shown may not be that of the snapshot: before the first run, and after one that has failed.
    private var isStale = true

    fileprivate init(
      commits: CommitStream.Iterator, snapshot: PinnedSnapshot, query: RowQuery<Object, Metadata>
    ) {
      self.commits = commits
      self.snapshot = snapshot
      collection = query.collection.name
      screen = QueryScreen(query)
    }

    /// The next change of the rows; waits for it. Nil when the database was closed, or the task cancelled.
    ///
    /// - Throws: what the query does, and what a closure of its condition throws. The next call runs the query anew,
    ///   and its element is a reload.
    public mutating func next() async throws -> Element? {
      hasBegun = true
      if isStale { return try reload() }
      while let commit = try await commits.next() {
        if let element = try take(commit) { return element }
      }
      return nil
    }

    /// The next change of the rows, if one was committed; waits for nothing. Nil also before the first `next`.
    ///
    /// - Throws: as ``next()``.
    public mutating func nextIfReady() throws -> Element? {
      guard hasBegun else { return nil }
      if isStale { return try reload() }
      while let commit = commits.nextIfReady() {
        if let element = try take(commit) { return element }
      }
      return nil
    }

    /// All rows, as they are now.
    private mutating func reload() throws -> Element {
      _ = try snapshot.advanceTellingAll()
      let diff = try run { screen, tx in try screen.load(tx) }
      return element(diff)
    }

    /// What a commit, and those after it, have changed; nil if that is nothing.
    private mutating func take(_ commit: Commit) throws -> Element? {
      let mayMatter =
        screen.hasSelections || commit.changes.isUnknown || commit.changes.hasChanges(inCollection: collection)
      guard mayMatter else { return nil }
      // Also what later commits have changed; when these come, nothing is left of them.
      let passed = try screen.hasSelections ? snapshot.advanceTellingAll() : snapshot.advance()
      if passed.isEmpty || reads?.areChanged(by: passed) == false { return nil }
      let collection = collection
      let diff = try run { screen, tx in try Self.update(&screen, collection, passed, tx) }
      return diff.isEmpty ? nil : element(diff)
    }

    /// Reads the snapshot; what for a query with selections is noted.
    private mutating func run(
      _ body: (inout QueryScreen<Object, Metadata>, ReadTransaction) throws -> ViewDiff
    ) throws -> ViewDiff {
      isStale = true
      guard screen.hasSelections else {
        let diff = try snapshot.read { tx in try body(&screen, tx) }
        isStale = false
        return diff
      }
      // The earlier reads live until there are new ones: commits in between are told apart.
      let earlier = reads.take()
      defer { withExtendedLifetime(earlier) {} }
      let (diff, reads) = try snapshot.followingRead { tx in try body(&screen, tx) }
      self.reads = reads
      isStale = false
      return diff
    }

    private func element(_ diff: ViewDiff) -> Element { Element(diff: diff, keys: screen.keys, snapshot: snapshot) }

    private static func update(
      _ screen: inout QueryScreen<Object, Metadata>, _ collection: String, _ commits: [Commit], _ tx: ReadTransaction
    ) throws -> ViewDiff {
      var changed: [ByteString: ViewAspects] = [:]
      for commit in commits {
        if commit.changes.isUnknown || commit.changes.didClear(collectionNamed: collection) {
          return try screen.load(tx)
        }
        for key in commit.changes.changedKeys(inCollection: collection, .object) {
          changed[ByteString(key), default: []].insert(.object)
        }
        for key in commit.changes.changedKeys(inCollection: collection, .metadata) {
          changed[ByteString(key), default: []].insert(.metadata)
        }
      }
      return try screen.hasSelections ? screen.reload(changed, tx) : screen.update(changed, tx)
    }
  }
}

extension Database {
  /// What changes among the rows of a query from now on, beginning with all of them.
  ///
  /// - Throws: `closed`.
  public func updates<Object, Metadata>(
    of query: RowQuery<Object, Metadata>
  ) throws(DatabaseError) -> QueryUpdates<Object, Metadata> {
    try QueryUpdates(self, query)
  }
}
