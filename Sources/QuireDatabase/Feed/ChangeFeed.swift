// What an app says of a change feed.

/// A durable account of what commits change in some collections, kept in the database itself and in the same
/// transactions, for consumers that stop and go on: other stores, queues, replicas.
///
/// ```swift
/// let feed = ChangeFeed("sql", over: .except(["cache"]), keeping: .newValues)
/// let db = try Database(at: "library.quire", options: .init(feeds: [feed]))
/// ```
///
/// A feed is named whenever the database is opened for writing, so that no commit can slip past it. A program that
/// opens the database without naming it, and changes a row, ends it: named again, the feed begins a new life, and
/// cursors of the old one are refused. The same happens if the feed is named with other collections, or keeps something
/// else. See the guide “Change feeds”.
///
/// The guide is <doc:ChangeFeed>.
public struct ChangeFeed: Sendable {
  /// What is kept of a row that was stored or removed, beside its key.
  public enum Keeping: UInt8, Hashable, Sendable {
    /// Nothing. Consumers that follow states read the rows; consumers that follow the log hear of keys alone.
    case keys = 0
    /// The row as the commit left it.
    case newValues = 1
    /// The row as the commit left it, and as it was before the commit.
    case bothValues = 2
  }

  /// What becomes of a feed that has no room left.
  public enum WhenFull: Hashable, Sendable {
    /// The oldest entries go; a consumer that had not come to them must begin anew.
    case expireOldest
    /// Transactions that change rows of the feed throw `feedFull` until a consumer has released entries.
    case refuseWrites
  }

  /// How much is kept, and for how long, whatever consumers do, but for a tenth. Bytes are those that entries take in
  /// the file; pages that were replaced take room until the next checkpoint, as those of all trees.
  public struct Retention: Hashable, Sendable {
    /// How many bytes of entries are kept.
    public var bytes: Int
    /// How old entries may become, looked at when something is committed; nil for any age. Entries of a clock that was
    /// ahead by more than this, and was set right, go with those that were written after them. What a clock has written
    /// that was behind is as old as it says, and goes with all before it. With `refuseWrites` only those go that were
    /// released.
    public var age: Duration?
    /// What happens where there is no room.
    public var whenFull: WhenFull
    /// How many bytes of entries are kept that were released: for consumers that go back, as after a failover.
    public var releasedBytes: Int
    /// How many commits are kept that were released.
    public var releasedCommits: Int

    /// Bounds; what is left out has the value that suits most.
    public init(
      bytes: Int = 256 << 20, age: Duration? = nil, whenFull: WhenFull = .expireOldest, releasedBytes: Int = 64 << 20,
      releasedCommits: Int = 100_000
    ) {
      self.bytes = bytes
      self.age = age
      self.whenFull = whenFull
      self.releasedBytes = releasedBytes
      self.releasedCommits = releasedCommits
    }

    /// The age in microseconds.
    var ageMicroseconds: Int64? { age.map { Int64(clamping: $0.nanoseconds / 1000) } }

    /// Whether an entry was written by a clock that was further ahead than entries may become old. Its age is unknown.
    func isAhead(_ time: Int64, of now: Int64) -> Bool {
      guard let ageMicroseconds else { return false }
      let (latest, isNever) = now.addingReportingOverflow(ageMicroseconds)
      return !isNever && time > latest
    }
  }

  /// The name, 1 to `Limits.feedNameByteCount` bytes of UTF-8; two feeds of a database have two names.
  public let name: String
  /// The collections whose rows it tells of.
  public let collections: CollectionFilter
  /// What it keeps of rows.
  public let keeping: Keeping
  /// How much it keeps.
  public let retention: Retention

  /// Describes a feed.
  ///
  /// - Parameters:
  ///   - name: what consumers and the file know it by.
  ///   - collections: whose rows it tells of. A closure of `matching` must say the same as long as the feed lives.
  ///   - keeping: what it keeps of rows. Keys cost next to nothing, values about as much as storing them.
  ///   - retention: how much it keeps.
  public init(
    _ name: String, over collections: CollectionFilter = .all, keeping: Keeping = .keys,
    retention: Retention = Retention()
  ) {
    self.name = name
    self.collections = collections
    self.keeping = keeping
    self.retention = retention
  }

  /// Throws `invalidOption` if it cannot be kept.
  func check(_ path: String) throws(DatabaseError) {
    let byteCount = name.utf8.count
    guard byteCount > 0, byteCount <= Limits.feedNameByteCount else {
      throw DatabaseError(
        .invalidOption,
        "A feed has a name of 1 to \(Limits.feedNameByteCount) bytes; “\(name)” has \(byteCount).", path: path)
    }
    guard retention.bytes >= Limits.feedEntryByteCount, retention.releasedBytes >= 0, retention.releasedCommits >= 0,
      retention.age.map({ $0 > .zero }) ?? true
    else {
      throw DatabaseError(
        .invalidOption,
        """
        The feed “\(name)” is to keep less than one entry. Have it keep \(Limits.feedEntryByteCount) bytes or more, \
        for longer than no time.
        """, path: path)
    }
  }
}
