// What the file says of feeds, and reading them without their descriptions: for tools.

internal import QuireStorage

/// A feed as it is stored, whether it was named at the opening or not.
public struct StoredFeed: Sendable {
  /// The collections that it tells of.
  public enum Scope: Hashable, Sendable {
    /// Every collection.
    case all
    /// These.
    case only([String])
    /// All but these.
    case except([String])
    /// Those that a closure of the app's knows.
    case closure
  }

  /// Its name.
  public let name: String
  /// The collections that it tells of, by the names that the file has for them.
  public let scope: Scope
  /// What it keeps of rows.
  public let keeping: ChangeFeed.Keeping
  /// Whether it is of this database. One that came with a backup is not: it begins anew when the app opens the database
  /// for writing, and nobody can follow it.
  public let isOfThisDatabase: Bool
  /// How many entries it has: one for each commit, or several for a large one.
  public let entryCount: Int
  /// How much it keeps, as seen from where it begins.
  public let status: FeedStatus
  let open: OpenFeed

  init?(_ name: String, _ stored: Tree, _ core: DatabaseCore, _ state: TransactionState) throws {
    var tree = FeedTree(try state.cursor(stored))
    guard let record = try tree.record() else { return nil }
    let forms = try tree.forms()
    self.name = name
    keeping = record.keeping
    func names(_ names: Set<ByteString>) -> [String] { names.map(\.string).sorted() }
    scope =
      switch record.collections {
      case .any: record.asksClosure ? .closure : .all
      case .only(let some): .only(names(some))
      case .except(let some): .except(names(some))
      }
    isOfThisDatabase = record.lineage == core.engine.core.databaseID
    let count = try state.wrapping { () throws(StorageError) in try state.count(of: stored) }
    // Beside the entries there are the forms of values, the record, and what the feed has heard of.
    entryCount = max(0, count - forms.count - (try tree.heard() == 0 ? 1 : 2))
    status = try FeedReader.status(record, at: record.base, &tree, now: core.options.wallClock())
    // Descriptions are for writers; who reads goes by name, tree and epoch.
    open = OpenFeed(
      ChangeFeed(name, keeping: record.keeping), stored,
      OpenFeed.State(record: record, newest: record.base, oldestTime: nil, forms: forms, released: nil))
  }
}

extension ReadTransaction {
  /// The feeds that are stored, in the order of their names' bytes, whether they were named at the opening or not.
  ///
  /// - Throws: `damagedRow` for what breaks the form, `transactionClosed`, and what reading pages throws.
  public func storedFeeds() throws -> [StoredFeed] {
    try state.check()
    let names = state.treeNames.compactMap { FeedKeys.feedName($0) }
    return try names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { name in
      guard let tree = state.tree(named: FeedKeys.treePrefix + name) else { return nil }
      return try StoredFeed(name, tree, state.database, state)
    }
  }
}

extension Database {
  /// The next changes of a stored feed behind a cursor, commit by commit; nil if there are none yet. For a database
  /// that is read only, where no feed is named; otherwise as ``nextChanges(of:after:limit:mode:)``.
  ///
  /// - Throws: `feedNotFound` for a feed that is not of this database, `cursorForeign`, `cursorExpired`,
  ///   `nestedTransaction`, `closed`, `damagedRow`, and what reading pages throws.
  public func nextChanges(
    of stored: StoredFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000)
  ) throws(DatabaseError) -> FeedBatch? { try FeedReader(core, stored).next(after: cursor, limit, .log) }
}

extension FeedReader {
  /// Reads a feed that need not have been named.
  ///
  /// - Throws: `feedNotFound` if it is not of this database.
  fileprivate init(_ core: DatabaseCore, _ stored: StoredFeed) throws(DatabaseError) {
    guard stored.isOfThisDatabase else {
      throw DatabaseError(
        .feedNotFound,
        """
        The feed “\(stored.name)” came with a backup of another database. It begins anew when the app opens this one; \
        follow it in the database where it was written.
        """, path: core.path)
    }
    self.init(core, open: stored.open)
  }
}
