// Walking through a collection in the order of its keys.

internal import QuireStorage

/// What a sequence over a collection walks through; nothing is read before it has an iterator.
struct RowScan {
  enum Range {
    case all
    case range(String?, String?)
    case prefix(String)
  }

  let opened: OpenedCollection
  let range: Range
  var isReversed = false
  /// So many entries are passed over first, without a look at them.
  var offset = 0
  /// The halves of rows that are looked at beside their keys.
  var halves: RowHalves = [.object, .metadata]
  /// Which keys to look at, decided before anything else of the row is read.
  var filter: ((String) throws -> Bool)?

  init(_ opened: OpenedCollection, _ range: Range) {
    self.opened = opened
    self.range = range
  }

  /// The entries of the key index to walk through; nil if the collection does not exist.
  var bounds: KeyBounds? {
    opened.id.map { Self.bounds(range, in: $0) }
  }

  /// The entries of a range in a collection.
  static func bounds(_ range: Range, in id: CollectionID) -> KeyBounds {
    switch range {
    case .all: KeyBounds(id)
    case .range(let first, let end): KeyBounds(id, from: first, upTo: end)
    case .prefix(let prefix): KeyBounds(id, prefix: prefix)
    }
  }
}

/// A key and the id of its row.
struct IndexEntry {
  let key: String
  let rowID: RowID
}

/// A walk through the key index. For one thread, and for the life of its transaction.
final class IndexCursor {
  private let transaction: TransactionState
  private let name: String
  private let bounds: KeyBounds
  /// The first bytes of the bound that the walk goes to, highest first: the collection, which settles it for most.
  private let limitHead: UInt32
  private let isReversed: Bool
  private let offset: Int
  private let filter: ((String) throws -> Bool)?
  /// The count of changes when the walk began: it sees the state of that moment, or nothing.
  private let mutationCount: Int
  @exclusivity(unchecked) private var cursor: Cursor
  private var isStarted = false
  /// How far the walk has gone, if the transaction is observed.
  private let recorded: RecordedWalk?

  init(_ scan: RowScan, _ bounds: KeyBounds) throws(DatabaseError) {
    transaction = scan.opened.transaction
    try transaction.check()
    name = scan.opened.name
    self.bounds = bounds
    let limit = scan.isReversed ? bounds.lower : bounds.upper
    assert(limit.count >= CollectionID.byteCount, "a bound lacks its collection")
    limitHead = limit.prefix(CollectionID.byteCount).reduce(0) { $0 << 8 | UInt32($1) }
    isReversed = scan.isReversed
    offset = scan.offset
    filter = scan.filter
    mutationCount = transaction.mutationCount
    recorded = transaction.recorder?.beginWalk(bounds, in: name, scan.halves, isReversed: isReversed)
    do throws(StorageError) { unsafe cursor = try transaction.cursor(transaction.trees.keys) } catch {
      throw DatabaseError(error, collection: name)
    }
  }

  /// Throws if the transaction is over, or if it has changed something since the walk began.
  func check() throws(DatabaseError) {
    try transaction.check()
    guard transaction.mutationCount == mutationCount else {
      throw DatabaseError(
        .mutatedDuringIteration,
        """
        The database was changed inside a loop over it. End the loop after the change, or collect the keys first and \
        change the rows afterwards.
        """, collection: name)
    }
  }

  /// The next entry within the bounds that the filter lets through.
  func next() throws -> IndexEntry? {
    try check()
    while true {
      let entry = try step()
      recorded?.step(to: entry?.key)
      guard let entry else { return nil }
      guard let filter else { return entry }
      if try filter(entry.key) {
        try check()
        return entry
      }
    }
  }

  /// The number of the row of the next entry, for who has no filter and is not observed: no key is made.
  func nextRowID() throws -> RowID? {
    assert(filter == nil && recorded == nil, "a key that somebody wants is not made")
    try check()
    guard unsafe try isStarted ? (isReversed ? cursor.previous() : cursor.next()) : start(),
      let (found, value) = unsafe try cursor.borrowedEntry,
      unsafe isWithinBounds(UnsafeRawBufferPointer(start: found.base, count: found.count))
    else { return nil }
    unsafe cursor.beginLoan()
    defer { unsafe cursor.endLoan() }
    return try unsafe Self.rowID(RawSpan(_unsafeStart: value.base, byteCount: value.count))
  }

  private func step() throws -> IndexEntry? {
    guard unsafe try isStarted ? (isReversed ? cursor.previous() : cursor.next()) : start() else { return nil }
    // Without a closure, which would hold on to the walk at each step.
    guard let (found, value) = unsafe try cursor.borrowedEntry else { return nil }
    unsafe cursor.beginLoan()
    defer { unsafe cursor.endLoan() }
    guard let key = try unsafe keyWithinBounds(UnsafeRawBufferPointer(start: found.base, count: found.count)) else {
      return nil
    }
    return IndexEntry(key: key, rowID: try unsafe Self.rowID(RawSpan(_unsafeStart: value.base, byteCount: value.count)))
  }

  /// The number of a row, as an entry has it.
  @inline(__always) private static func rowID(_ value: RawSpan) throws -> RowID {
    guard value.byteCount == 8,
      let rowID = RowID(stored: Int64(littleEndian: unsafe value.unsafeLoadUnaligned(as: Int64.self)))
    else { throw RowView.damaged() }
    return rowID
  }

  /// Goes to the first entry; false if there is none. If it throws, the walk has not begun.
  private func start() throws(StorageError) -> Bool {
    let isOnEntry = try goToFirst()
    isStarted = true
    return isOnEntry
  }

  private func goToFirst() throws(StorageError) -> Bool {
    if offset > 0 { return try goToFirst(behind: offset) }
    guard isReversed else {
      _ = unsafe try cursor.seek(bounds.lower)
      return unsafe cursor.isOnEntry
    }
    _ = unsafe try cursor.seek(bounds.upper)
    return unsafe try cursor.isOnEntry ? cursor.previous() : cursor.seekLast()
  }

  /// Goes to the first entry behind some; false if there is none.
  private func goToFirst(behind offset: Int) throws(StorageError) -> Bool {
    let keys = transaction.trees.keys
    let (rank, isOverflow) =
      isReversed
      ? try transaction.rank(bounds.upper, in: keys).subtractingReportingOverflow(offset)
      : try transaction.rank(bounds.lower, in: keys).addingReportingOverflow(offset)
    if isOverflow { return false }
    return unsafe try cursor.seek(toIndex: isReversed ? rank - 1 : rank)
  }

  /// Whether an entry's key has not passed the bound that the walk goes to.
  @inline(__always) private func isWithinBounds(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.count >= CollectionID.byteCount {
      let head = UInt32(bigEndian: unsafe bytes.loadUnaligned(as: UInt32.self))
      if head != limitHead { return isReversed ? head > limitHead : head < limitHead }
    }
    return unsafe isWithinWholeBounds(bytes)
  }

  private func isWithinWholeBounds(_ bytes: UnsafeRawBufferPointer) -> Bool {
    unsafe isReversed
      ? !bytes.lexicographicallyPrecedes(bounds.lower) : bytes.lexicographicallyPrecedes(bounds.upper)
  }

  /// The row's key of an entry, or nil if that lies beyond the bounds.
  private func keyWithinBounds(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> String? {
    guard unsafe isWithinBounds(bytes) else { return nil }
    guard bytes.count >= CollectionID.byteCount else { throw RowView.damaged() }
    // Keys are stored from strings, so that bytes that are no UTF-8 are damage; repaired they would be another key.
    guard let key = unsafe String(storedUTF8: UnsafeRawBufferPointer(rebasing: bytes[CollectionID.byteCount...])) else {
      throw RowView.damaged()
    }
    return key
  }
}

/// A walk through a collection that fetches rows ahead: 1, 2, 4 and so on up to `Limits.fetchAhead`, so that a loop
/// that ends early has read little for nothing.
final class BatchCursor {
  private let opened: OpenedCollection
  private let index: IndexCursor
  private var entries: [IndexEntry] = []
  /// How many rows are fetched next.
  private(set) var batchCount = 1
  /// Whether rows are being fetched: code of the app runs meanwhile, which may come back.
  private(set) var isFetching = false
  /// What went wrong with the row behind the fetched ones.
  private var failure: (any Error)?
  private var isAtEnd = false

  /// Nil if the collection does not exist, or after an error, which the transaction's next call throws.
  init?(_ scan: RowScan) {
    let transaction = scan.opened.transaction
    let index = transaction.noting(nil) { () throws(DatabaseError) -> IndexCursor? in
      try scan.opened.check()
      guard let bounds = scan.bounds else {
        scan.opened.noteRead(nil, [])
        return nil
      }
      return try IndexCursor(scan, bounds)
    }
    guard let index else { return nil }
    opened = scan.opened
    self.index = index
  }

  /// Whether the walk may go on with the rows that were fetched. If not, the transaction's next call throws why.
  func mayGoOn() -> Bool {
    opened.transaction.noting(false) { () throws(DatabaseError) in
      try index.check()
      return true
    }
  }

  /// Calls `body` with the next rows; with none behind the last one, and after an error, which the transaction's next
  /// call throws.
  func fetch(_ body: (String, RowID, RowView) throws -> Void) {
    let transaction = opened.transaction
    assert(!isFetching, "a walk is stepped by what it runs")
    isFetching = true
    defer { isFetching = false }
    transaction.noting(()) { () throws(DatabaseError) in
      do { try fetchOrThrow(body) } catch { throw transaction.wrap(error) }
    }
  }

  private func fetchOrThrow(_ body: (String, RowID, RowView) throws -> Void) throws {
    if let failure { throw failure }
    if isAtEnd { return try index.check() }
    entries.removeAll(keepingCapacity: true)
    do {
      while entries.count < batchCount {
        guard let entry = try index.next() else {
          isAtEnd = true
          break
        }
        entries.append(entry)
      }
    } catch {
      // A filter, or damage; the rows in front of it are good.
      failure = error
      if entries.isEmpty { throw error }
      try index.check()
    }
    assert(entries.count <= batchCount && batchCount <= Limits.fetchAhead, "more rows are fetched ahead than may be")
    batchCount = min(2 * batchCount, Limits.fetchAhead)
    var fetchedCount = 0
    let entries = entries
    do {
      let transaction = opened.transaction
      try transaction.withValues(
        count: entries.count, in: transaction.trees.rows, { entries[$0].rowID.rawValue }
      ) { index, bytes in
        let entry = entries[index]
        guard let bytes else { throw RowView.damaged().at(opened.name, entry.key) }
        try unsafe bytes.withUnsafeBytes { try body(entry.key, entry.rowID, unsafe RowView($0)) }
        fetchedCount += 1
      }
    } catch {
      // The rows in front of it are good.
      failure = error
      if fetchedCount == 0 { throw error }
    }
  }
}
