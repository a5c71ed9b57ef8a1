// Putting entries into the tree of a feed.

internal import QuireStorage

/// Writes the entries of one commit, one behind the other.
struct FeedPartWriter {
  let tree: Tree
  private let csn: CSN
  private let run: UInt64
  private let time: Int64
  private let space: FeedSpace
  private var part: UInt32 = 0
  /// The mark of the entry that was written last.
  private(set) var newest: FeedMark

  /// Values of fewer bytes together are not worth an attempt at compressing them.
  private static let leastCompressed = 512

  init(
    _ tree: Tree, _ csn: CSN, run: UInt64, time: Int64, _ newest: FeedMark, _ space: FeedSpace,
    _ retention: ChangeFeed.Retention = ChangeFeed.Retention()
  ) {
    self.tree = tree
    self.csn = csn
    self.run = run
    self.space = space
    // A clock that is set back must not make entries older than those before, but where it was so far ahead that none
    // would become too old for years.
    self.time = retention.isAhead(newest.time, of: time) ? time : max(time, newest.time)
    self.newest = newest
  }

  /// Writes an entry.
  mutating func write(
    _ body: borrowing FeedBodyBuilder, endsCommit: Bool, compresses: Bool,
    _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    var entry: [UInt8] = []
    entry.reserveCapacity(FeedEntryHead.byteCount + 1 + body.bytes.count)
    entry.append(contentsOf: repeatElement(0, count: FeedEntryHead.byteCount))
    do throws(CompressionError) {
      try unsafe ValueCompression.encode(
        body.bytes.span.bytes, compresses ? .lz4(above: Self.leastCompressed) : .none, appendingTo: &entry)
    } catch {
      throw DatabaseError(
        .valueTooLong, "A change is too long for a feed that keeps its values. Have the feed keep keys.", cause: error)
    }
    let head = FeedEntryHead(
      endsCommit: endsCommit, changeCount: UInt32(body.changeCount), previousChain: newest.position.chain, run: run,
      time: time, bytes: newest.bytes &+ UInt64(space.byteCount(ofEntry: entry.count)),
      changes: newest.changes &+ UInt64(body.changeCount), commits: newest.commits &+ (part == 0 ? 1 : 0))
    head.write(to: &entry)
    guard part > 0 || csn.rawValue > newest.position.csn else {
      throw FeedEntryHead.damaged("A feed tells of commit \(newest.position.csn), which is still to come.")
    }
    guard part < .max else {
      throw DatabaseError(.limitReached, "A transaction has changed more than a feed can tell of. Make smaller ones.")
    }
    try tx.upsert(entry, for: FeedKeys.entry(csn.rawValue, part), in: tree)
    newest = unsafe entry.withUnsafeBytes { unsafe head.mark(csn.rawValue, part, $0) }
    part += 1
    assert(newest.position.csn == csn.rawValue, "another commit than this one is the newest")
  }
}

/// What entries take in a file of pages of one size.
struct FeedSpace {
  let pageSize: Int

  init(_ engine: StorageEngine) { pageSize = engine.core.store.pageSize }

  /// What an entry takes: whole pages where its value stands beside the tree, and else its share of a leaf.
  func byteCount(ofEntry valueByteCount: Int) -> Int {
    let entry = valueByteCount + FeedKeys.entryByteCount
    guard entry > QuireStorage.Limits.entryByteCount(pageSize: pageSize) else { return share(entry) }
    let pages = ExtentLayout(valueByteCount: valueByteCount, pageSize: pageSize).pageCount
    return pages * pageSize + share(FeedKeys.entryByteCount + ExtentReference.byteCount)
  }

  /// The share of a leaf that is full of entries of this length.
  private func share(_ entry: Int) -> Int {
    pageSize / max(1, (pageSize - PageLayout.headerByteCount) / (entry + PageLayout.entryOverhead))
  }
}
