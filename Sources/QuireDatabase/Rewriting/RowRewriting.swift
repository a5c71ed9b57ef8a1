// Rewriting a collection step by step.

internal import QuireStorage

/// One run over a collection, from its first key to its last.
///
/// A step looks at some rows in a read transaction of its own, which takes nothing from writers, and stores those that
/// are not in today's form in a write transaction of its own, which looks again. Between steps other writers get their
/// turn, and no snapshot stays. A run that was stopped, or cut off by a crash, is simply begun again: it passes by what
/// it finds in today's form. Rows that are stored meanwhile are in that form by themselves, so that no run has to go
/// back.
///
/// Invariants:
/// 1. All rows below `next` were in today's form when a step saw or stored them, or are among the failed ones.
/// 2. The progress that was told never falls.
struct RowRewriting<Object: Sendable, Metadata: Sendable> {
  private let core: DatabaseCore
  private let collection: RowCollection<Object, Metadata>
  private let skipsFailures: Bool
  private let progress: (StorageProgress) throws -> Void
  private var result = RowRewrite()
  /// The key that the next step begins at; nil for the first one.
  private var next: String?
  private var doneCount = 0

  init(
    _ core: DatabaseCore, _ collection: RowCollection<Object, Metadata>, skipsFailures: Bool,
    _ progress: @escaping (StorageProgress) throws -> Void
  ) {
    self.core = core
    self.collection = collection
    self.skipsFailures = skipsFailures
    self.progress = progress
  }

  /// Rewrites what is to be rewritten, and returns when that is on the disk.
  mutating func run() throws -> RowRewrite {
    guard !core.options.isReadOnly else {
      throw DatabaseError(
        .readOnly, "The database was opened read-only. Open it without isReadOnly to rewrite rows.", path: core.path,
        collection: collection.name)
    }
    while true {
      let found = try core.read(nil) { tx in try look(tx.state) }
      result.checkedCount += found.checkedCount
      for failure in found.failures { try note(failure) }
      if !found.keys.isEmpty { try rewrite(found.keys) }
      doneCount = max(doneCount, found.doneCount)
      try StorageProgress(phase: .rewriting, done: doneCount, total: found.totalCount).report(to: progress)
      guard let last = found.lastKey else { break }
      assert(next.map { !last.utf8.lexicographicallyPrecedes($0.utf8) } ?? true, "a step ends before it begins")
      next = last + "\0"
    }
    if result.failedCount == 0 { try dropDictionaries() }
    // The app may throw an old key or dictionary away next: no crash may bring back rows that need it.
    do throws(StorageError) { try core.engine.flush() } catch { throw core.failed(error) }
    return result
  }

  /// Takes note of a row that cannot be rewritten, or stops.
  private mutating func note(_ failure: DatabaseError) throws {
    guard skipsFailures else { throw failure }
    result.failedCount += 1
    if result.failures.count < Limits.reportedFailureCount { result.failures.append(failure) }
  }

  /// Drops the dictionaries of a collection that is encrypted, all of it by now: they are from before, and hold pieces
  /// of rows.
  private func dropDictionaries() throws {
    guard collection.coder.protection != nil || collection.metadataCoder.protection != nil else { return }
    try core.write(nil) { tx in
      let handle = tx.state.open(collection)
      try handle.opened.checkWriting()
      try DictionaryTrainer(tx.state).dropAll(handle.state)
    }
  }

  // MARK: Looking

  /// What a step has seen.
  private struct Found {
    /// The rows that are not in today's form.
    var keys: [String] = []
    var failures: [DatabaseError] = []
    var checkedCount = 0
    var byteCount = 0
    /// The last key that was looked at, unless it is the collection's last one.
    var lastKey: String?
    /// How many rows are below the next step, and how many there are in all.
    var doneCount = 0
    var totalCount = 0
  }

  private func look(_ state: TransactionState) throws -> Found {
    let handle = state.open(collection)
    try handle.opened.check()
    var found = Found()
    let scan = RowScan(handle.opened, .range(next, nil))
    guard let id = handle.opened.id, let bounds = scan.bounds else { return found }
    found.totalCount = try state.count(id)
    let cursor = try IndexCursor(scan, bounds)
    var hasMore = true
    while hasMore, found.checkedCount < core.options.buildStepRowCount, found.byteCount < Limits.buildStepByteCount {
      var entries: [IndexEntry] = []
      let most = min(Limits.fetchAhead, core.options.buildStepRowCount - found.checkedCount)
      while entries.count < most, let entry = try cursor.next() { entries.append(entry) }
      hasMore = entries.count == most
      try look(at: entries, handle, &found)
      if let last = entries.last { found.lastKey = last.key }
    }
    if hasMore { hasMore = try cursor.next() != nil }
    if !hasMore { found.lastKey = nil }
    assert(found.keys.count + found.failures.count <= found.checkedCount, "a row is both to be rewritten and failed")
    found.doneCount = try hasMore ? state.count(KeyBounds(id, upTo: found.lastKey)) + 1 : found.totalCount
    return found
  }

  private func look(
    at entries: [IndexEntry], _ handle: RowHandle<Object, Metadata>, _ found: inout Found
  ) throws {
    let state = handle.transaction
    do {
      try state.withValues(count: entries.count, in: state.trees.rows, { entries[$0].rowID.rawValue }) { index, bytes in
        let entry = entries[index]
        found.checkedCount += 1
        do {
          guard let bytes else { throw handle.missingRow(entry.rowID, entry.key) }
          found.byteCount += bytes.byteCount
          let isCurrent = try unsafe bytes.withUnsafeBytes { bytes in
            try unsafe handle.rows.isCurrent(try RowView(bytes), entry.key)
          }
          if !isCurrent { found.keys.append(entry.key) }
        } catch let error as DatabaseError where error.isOfOneRow {
          found.failures.append(error.at(collection.name, entry.key))
        }
      }
    } catch {
      throw handle.failure(error, nil)
    }
  }

  // MARK: Writing

  /// Stores rows anew in a transaction of its own. Rows in front of one that fails are kept.
  private mutating func rewrite(_ keys: [String]) throws {
    var failures: [DatabaseError] = []
    var count = 0
    let skipsFailures = skipsFailures
    let pending = try core.writeWithoutWaiting(nil) { tx in
      let handle = tx.state.open(collection)
      for key in keys {
        do { if try handle.rows.renew(key) { count += 1 } } catch let error as DatabaseError where error.isOfOneRow {
          failures.append(error)
          if !skipsFailures { return }
        }
      }
    }
    core.didCommit(pending.actions)
    result.rewrittenCount += count
    for failure in failures { try note(failure) }
  }
}

extension DatabaseError {
  /// Whether the error says something about one row and nothing about the database around it.
  fileprivate var isOfOneRow: Bool {
    [
      .decodingFailed, .encodingFailed, .valueTooLong, .damagedRow, .missingKey, .notAuthentic, .notEncrypted,
    ].contains(code)
  }
}
