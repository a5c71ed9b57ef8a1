// Reading a feed from a cursor on, in a snapshot that the disk has.

internal import QuireStorage

/// Reads one feed of an open database.
struct FeedReader {
  let core: DatabaseCore
  /// The feed as the database has it at the beginning of a call.
  let feed: OpenFeed

  /// - Throws: `feedNotFound` if no feed of this name was named at the opening.
  init(_ core: DatabaseCore, _ feed: ChangeFeed) throws(DatabaseError) {
    guard let open = core.feeds?.feed(named: feed.name) else {
      throw DatabaseError(
        .feedNotFound,
        """
        No feed “\(feed.name)” was named when the database was opened, or it is only read and does not have it. Put it \
        into the `feeds` of the options.
        """, path: core.path)
    }
    self.init(core, open: open)
  }

  init(_ core: DatabaseCore, open: OpenFeed) { (self.core, feed) = (core, open) }

  private var name: String { feed.definition.name }

  // MARK: Snapshots

  /// Calls `body` with a snapshot that is on the disk when this returns, whatever the durability: what a power cut
  /// could take back is told to nobody. Waits for the disk unless `tells` says of the result that it tells nothing.
  func withDurableSnapshot<Told>(
    tells: (Told) -> Bool = { _ in true }, _ body: (TransactionState, inout FeedTree, FeedRecord) throws -> Told
  ) throws(DatabaseError) -> Told {
    let outer = CurrentTransaction.innermost
    try core.checkNotNested(outer)
    do {
      let snapshot = try core.engine.pin()
      defer { withExtendedLifetime(snapshot) {} }
      let scratch = try core.takeScratch(for: try snapshot.beginRead())
      let state = TransactionState(reading: scratch, core, nil, outer: outer)
      let outcome = Result {
        try core.run(state, "feed", CallSite(), isPinned: true) { tx in
          var tree = FeedTree(try tx.state.cursor(feed.tree))
          guard let record = try tree.record(), record.epoch == feed.epoch else {
            throw FeedEntryHead.damaged("The record of the feed “\(name)” is missing.")
          }
          return try body(tx.state, &tree, record)
        }
      }
      // Errors tell something as well: `cursorExpired` has a cursor.
      let isToTell = (try? outcome.get()).map(tells) ?? true
      if isToTell, !core.options.isReadOnly { try core.engine.flush() }
      return try outcome.get()
    } catch let error as StorageError {
      throw core.failed(error)
    } catch {
      throw error as? DatabaseError
        ?? DatabaseError(.inputOutput, "The feed “\(name)” could not be read.", path: core.path, cause: error)
    }
  }

  // MARK: Cursors

  /// Where to go on behind a cursor; without one, where the feed begins, if nothing was before that.
  ///
  /// - Throws: `cursorForeign`, `cursorExpired`.
  func start(
    _ cursor: FeedCursor?, _ tree: inout FeedTree, _ record: FeedRecord
  ) throws -> FeedMark {
    guard let cursor else {
      guard record.lacksBeginning else { return record.base }
      throw record.base.commits > 0 ? expired("The beginning of", record) : late(record)
    }
    guard cursor.lineage == record.lineage else {
      throw foreign("is of the database \(cursor.lineage), and this is \(record.lineage)")
    }
    guard cursor.epoch == record.epoch else { throw foreign("is of another life of the feed, which has begun anew") }
    let position = cursor.position
    if position.isBefore(record.base.position) { throw expired("What follows the cursor at \(cursor.csn) in", record) }
    guard let mark = try mark(position, &tree, record) else {
      throw foreign("is of a copy of the database that has gone another way since before \(cursor.csn)")
    }
    if let seen = cursor.seen, try self.mark(seen, &tree, record) == nil {
      throw foreign("comes with rows of \(CSN(seen.csn)), which this copy of the database has never had")
    }
    return mark
  }

  /// What is known at a position; nil if there is no such entry.
  private func mark(_ position: FeedPosition, _ tree: inout FeedTree, _ record: FeedRecord) throws -> FeedMark? {
    if position == record.base.position { return record.base }
    guard let mark = try tree.mark(position.csn, position.part), mark.position == position else { return nil }
    return mark
  }

  private func foreign(_ what: String) -> DatabaseError {
    DatabaseError(
      .cursorForeign, "A cursor for the feed “\(name)” \(what). Have the consumer begin anew, with `bootstrap(of:)`.",
      path: core.path)
  }

  private func expired(_ what: String, _ record: FeedRecord) -> DatabaseError {
    let oldest = record.cursor(record.base.position)
    return DatabaseError(
      .cursorExpired,
      """
      \(what) the feed “\(name)” has expired; the feed tells what follows \(oldest.csn), part \(oldest.part). Have the \
      consumer begin anew, with `bootstrap(of:)`, or let the feed keep more.
      """, path: core.path, cause: ExpiredCursor(oldest: oldest))
  }

  /// The error for a consumer that has nothing, of a feed that has not been there from the beginning.
  private func late(_ record: FeedRecord) -> DatabaseError {
    let oldest = record.cursor(record.base.position)
    return DatabaseError(
      .cursorExpired,
      """
      The feed “\(name)” began, or began anew, at \(oldest.csn), when there were rows that it does not tell of. Have a \
      consumer that has no cursor begin with them, by `bootstrap(of:)`.
      """, path: core.path, cause: ExpiredCursor(oldest: oldest))
  }

  // MARK: Batches

  /// The next changes behind a cursor; nil if there are none yet.
  func next(after cursor: FeedCursor?, _ limit: FeedLimit, _ mode: FeedMode) throws(DatabaseError) -> FeedBatch? {
    try withDurableSnapshot(tells: { $0 != nil }) { state, tree, record in
      let start = try start(cursor, &tree, record)
      guard try tree.seek(behind: start.position) else { return nil }
      let context = FeedContext(core, feed: name, keeping: record.keeping, mode: mode, salt: try salt(state))
      var collector: any FeedCollector =
        switch mode {
        case .state: StateCollector(state, context)
        case .log: LogCollector(state, feed.tree, context)
        }
      let part = try gather(behind: start, cursor?.toldCount ?? 0, limit, &tree, &collector)
      let seen: FeedPosition? =
        switch mode {
        case .state: part.isMore ? try tree.newest()?.position : nil
        case .log: cursor?.seen.flatMap { part.last.isBefore($0) ? $0 : nil }
        }
      return FeedBatch(
        feed: name, mode: mode, cursor: record.cursor(part.last, toldCount: part.toldCount, seen: seen),
        csn: CSN(part.csn), changes: collector.finish(part.csn), endsCommit: part.endsCommit,
        isCatchingUp: part.isMore, context: context)
    }
  }

  /// What a batch tells.
  private struct Part {
    /// The last entry that is told as a whole.
    var last: FeedPosition
    /// How many changes are told of the entry behind it.
    var toldCount: UInt32 = 0
    /// The commit of the last change.
    var csn: UInt64
    var endsCommit = true
    var isMore = true
  }

  /// Gathers entries as far as the limit goes. `tree` is on the first of them, of which `toldCount` changes were told.
  private func gather(
    behind start: FeedMark, _ toldCount: UInt32, _ limit: FeedLimit, _ tree: inout FeedTree,
    _ collector: inout any FeedCollector
  ) throws -> Part {
    var part = Part(last: start.position, csn: start.position.csn)
    var toldBefore = toldCount
    var byteCount = 0
    let byteLimit = max(1, limit.bytes)
    while part.isMore, collector.count < max(1, limit.rows), byteCount < byteLimit {
      let entry = try tree.entry()
      guard entry.head.previousChain == part.last.chain else {
        throw FeedEntryHead.damaged("The entry at commit \(entry.mark.position.csn) does not follow the one before.")
      }
      guard toldBefore < entry.head.changeCount else {
        throw foreign("tells of more changes of \(CSN(entry.mark.position.csn)) than there are")
      }
      let told = try collector.add(entry, behind: Int(toldBefore), byteLimit: byteLimit - byteCount)
      byteCount += told.byteCount
      part.csn = entry.mark.position.csn
      if let stop = told.stop {
        part.toldCount = UInt32(truncatingIfNeeded: stop)
        part.endsCommit = false
        break
      }
      toldBefore = 0
      part.last = entry.mark.position
      part.endsCommit = entry.head.endsCommit
      part.isMore = try tree.next()
    }
    return part
  }

  /// What keys are derived with, if something is encrypted.
  func salt(_ state: TransactionState) throws -> [UInt8]? {
    guard try state.value(EncryptionSalt.saltKey, in: state.trees.info) != nil else { return nil }
    return try EncryptionSalt(transaction: state).bytes(makes: false)
  }
}

/// Says with `cursorExpired` from where on a feed tells.
struct ExpiredCursor: Error, CustomStringConvertible {
  let oldest: FeedCursor
  var description: String { "oldest cursor: \(oldest)" }
}

extension DatabaseError {
  /// With `cursorExpired`, the oldest cursor that the feed could be followed from; else nil.
  public var oldestCursor: FeedCursor? { (cause as? ExpiredCursor)?.oldest }
}

/// Gathers the changes of a batch.
protocol FeedCollector {
  /// How many changes there are.
  var count: Int { get }
  /// Adds the changes of an entry behind the first `toldCount`.
  mutating func add(_ entry: FeedEntry, behind toldCount: Int, byteLimit: Int) throws -> FeedShare
  /// The changes in the order in which they are to be applied.
  consuming func finish(_ csn: UInt64) -> [FeedChange]
}

/// What was taken of an entry.
struct FeedShare {
  /// The bytes of the changes.
  var byteCount = 0
  /// How many changes of the entry are told, if there was no room for others.
  var stop: Int?
}

extension FeedEntry {
  /// Calls `body` with each change; there are as many as the head says.
  func forEach(_ body: (FeedItem) throws -> Void) throws {
    guard try self.body.forEach(body) == Int(head.changeCount) else {
      throw FeedEntryHead.damaged(
        "The entry at commit \(mark.position.csn) tells of fewer or more changes than it says.")
    }
  }
}

/// Commit by commit.
struct LogCollector: FeedCollector {
  private let state: TransactionState
  private let tree: Tree
  private let context: FeedContext
  private var changes: [FeedChange] = []
  private var records: [FeedCollection: CollectionRecord] = [:]
  private var lastRecord: (collection: FeedCollection, record: CollectionRecord)?

  init(_ state: TransactionState, _ tree: Tree, _ context: FeedContext) {
    self.state = state
    self.tree = tree
    self.context = context
  }

  var count: Int { changes.count }

  /// All of an entry is told, as all of it is in memory.
  mutating func add(_ entry: FeedEntry, behind toldCount: Int, byteLimit: Int) throws -> FeedShare {
    let csn = entry.mark.position.csn
    let bytes = entry.body.bytes
    var index = 0
    try entry.forEach { item in
      defer { index += 1 }
      if index < toldCount { return }
      switch item {
      case .row(let kind, let collection, let rowID, let key, let new, let old):
        var values: FeedValues?
        if new != nil || old != nil {
          values = FeedValues(
            new: try value(new, bytes, collection), old: try value(old, bytes, collection), context)
        }
        changes.append(FeedChange(kind.told, csn, collection.name, key, rowID, values))
      case .cleared(let collection): changes.append(FeedChange(.cleared, csn, collection.name))
      case .clearedAll: changes.append(FeedChange(.clearedAll, csn, ""))
      case .renamed(let old, let new): changes.append(FeedChange(.renamed(from: old), csn, new))
      }
    }
    return FeedShare(byteCount: bytes.count)
  }

  private mutating func value(
    _ halves: FeedHalves?, _ bytes: [UInt8], _ collection: FeedCollection
  ) throws -> FeedValue? {
    guard let halves else { return nil }
    return FeedValue(bytes: bytes, halves: halves, record: try record(collection))
  }

  private mutating func record(_ collection: FeedCollection) throws -> CollectionRecord {
    if let lastRecord, lastRecord.collection == collection { return lastRecord.record }
    if let known = records[collection] {
      lastRecord = (collection, known)
      return known
    }
    var reader = FeedTree(try state.cursor(tree))
    guard let hash = collection.form, let bytes = try reader.form(hash) else {
      throw FeedEntryHead.damaged("The form of the values of “\(collection.name)” is missing.")
    }
    let record = try FeedForm.record(bytes, collection)
    records[collection] = record
    lastRecord = (collection, record)
    return record
  }

  consuming func finish(_ csn: UInt64) -> [FeedChange] { changes }
}

extension ChangeLog.Kind {
  /// What consumers are told.
  fileprivate var told: FeedChange.Kind {
    switch self {
    case .inserted: .inserted
    case .changed(let halves), .touched(let halves): .changed(halves)
    case .removed: .removed
    }
  }
}
