// Telling the feeds what a transaction has changed, at its end and inside of it.

internal import QuireStorage

/// What a transaction knows of its collections.
protocol FeedSource {
  /// The name of a collection that has changed, and what is noted about it by the end of the transaction.
  func collection(_ id: CollectionID) -> (name: String, format: CollectionFormat)?
  /// A half as it is stored, without a dictionary; encrypted if it is.
  func plain(_ stored: UnsafeRawBufferPointer, _ id: CollectionID) throws -> [UInt8]?
}

extension FeedSet {
  /// Writes what `changes` say into the feeds that they concern. Nothing if no row was stored or removed.
  ///
  /// - Throws: `feedFull` if a feed has no room and is not to forget; `valueTooLong`; what storing an entry throws.
  func write(
    _ changes: borrowing ChangeLog, _ source: some FeedSource, rows: Tree, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws -> FeedOutcome {
    var outcome = FeedOutcome()
    guard changes.hasStoredChange else { return outcome }
    outcome.hasEndedUnnamed = try endUnnamed(tx)
    let time = clock()
    for feed in feeds {
      var writer = FeedWriter(feed, self, source, rows: rows, time: time, tx.csn)
      if let update = try writer.run(changes, tx) { outcome.updates.append(update) }
    }
    return outcome
  }
}

/// Writes the changes of one transaction into one feed.
private struct FeedWriter<Source: FeedSource> {
  private let feed: OpenFeed
  private let source: Source
  private let engine: StorageEngine
  private let rows: Tree
  private let keeping: ChangeFeed.Keeping
  private var state: OpenFeed.State
  private var parts: FeedPartWriter
  private var body = FeedBodyBuilder()
  /// The collections of the transaction, nil for those that are not the feed's: the first one, and those behind it.
  private var first: (id: CollectionID, collection: FeedCollection?)?
  private var others: [CollectionID: FeedCollection?] = [:]
  /// The collection of the change before: most changes are of the same one.
  private var lastID: CollectionID?
  private var last: FeedCollection?
  private var hasWritten = false
  private var newForms: [(hash: UInt64, bytes: [UInt8])] = []

  init(_ feed: OpenFeed, _ set: FeedSet, _ source: Source, rows: Tree, time: Int64, _ csn: CSN) {
    self.feed = feed
    self.source = source
    engine = set.engine
    self.rows = rows
    keeping = feed.definition.keeping
    state = feed.current
    parts = FeedPartWriter(
      feed.tree, csn, run: set.run, time: time, state.newest, set.space, feed.definition.retention)
  }

  /// Nil if none of the changes is the feed's.
  mutating func run(
    _ changes: borrowing ChangeLog, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws -> FeedUpdate? {
    try unsafe changes.bytes.withUnsafeBytes { bytes in
      var offset = 0
      var pending = unsafe nextEntry(bytes, &offset)
      while pending != nil {
        if keeping == .bothValues {
          // A transaction for each entry: none is open while one is stored, which may want memory.
          let old = try engine.core.beginReadAtHead()
          try unsafe fill(bytes, &offset, &pending, tx, old)
        } else {
          try unsafe fill(bytes, &offset, &pending, tx)
        }
        guard body.changeCount > 0 else { continue }
        try parts.write(body, endsCommit: pending == nil, compresses: keeping != .keys, tx)
        body = FeedBodyBuilder()
        try didWrite(isLast: pending == nil, tx)
      }
    }
    guard hasWritten else { return nil }
    for form in newForms {
      try tx.upsert(form.bytes, for: FeedKeys.form(form.hash), in: feed.tree)
      state.forms.insert(form.hash)
    }
    return FeedUpdate(feed: feed, state: state)
  }

  /// An entry is written. What it pushes out goes at once: a transaction may be longer than all that is kept. Whether
  /// a feed that is not to forget has room is known when all are written.
  private mutating func didWrite(isLast: Bool, _ tx: borrowing QuireStorage.WriteTransaction) throws {
    hasWritten = true
    state.newest = parts.newest
    state.oldestTime = state.oldestTime ?? parts.newest.time
    guard isLast || feed.definition.retention.whenFull == .expireOldest else { return }
    try FeedRetention(feed).keepBounds(&state, now: parts.newest.time, tx)
  }

  /// The next change that is the feed's.
  private mutating func nextEntry(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> ChangeLog.RawEntry? {
    while let entry = unsafe ChangeLog.entry(bytes, at: &offset) {
      if !entry.isStored { continue }
      guard let id = entry.collection else { return entry }
      if id != lastID {
        lastID = id
        last = collection(id)
      }
      if last != nil { return entry }
    }
    return nil
  }

  /// A collection as entries name it; nil if it is none of the feed's.
  private mutating func collection(_ id: CollectionID) -> FeedCollection? {
    if let first, first.id == id { return first.collection }
    if let known = others[id] { return known }
    var found: FeedCollection?
    if let (name, format) = source.collection(id), feed.definition.collections.contains(name) {
      found = FeedCollection(id: id, name: name, form: keeping == .keys ? nil : form(format))
    }
    if first == nil { first = (id, found) } else { others[id] = .some(found) }
    return found
  }

  /// The hash of the form of values of a collection, which is stored once.
  private mutating func form(_ format: CollectionFormat) -> UInt64 {
    let bytes = FeedForm.bytes(format)
    let hash = FeedHash.hash(bytes, seed: 0)
    if !state.forms.contains(hash), !newForms.contains(where: { $0.hash == hash }) { newForms.append((hash, bytes)) }
    return hash
  }

  // MARK: One entry

  /// Appends changes until the entry is full or no more are there.
  private mutating func fill(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, _ pending: inout ChangeLog.RawEntry?,
    _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    while let entry = pending {
      let place = body.place
      if keeping == .keys || entry.kind == nil || entry.kind == .removed {
        append(entry)
      } else {
        try appendNew(entry, tx)
      }
      if isFull(place) { return }
      pending = unsafe nextEntry(bytes, &offset)
    }
  }

  /// The same with the values that rows had before.
  private mutating func fill(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, _ pending: inout ChangeLog.RawEntry?,
    _ tx: borrowing QuireStorage.WriteTransaction, _ old: borrowing QuireStorage.ReadTransaction
  ) throws {
    while let entry = pending {
      let place = body.place
      if entry.kind == nil { append(entry) } else { try appendBoth(entry, tx, old) }
      if isFull(place) { return }
      pending = unsafe nextEntry(bytes, &offset)
    }
  }

  /// Whether the change that was appended behind `place` found no room beside others; then it is taken back.
  private mutating func isFull(_ place: FeedBodyBuilder.Place) -> Bool {
    guard body.bytes.count > Limits.feedEntryByteCount - FeedEntryHead.byteCount - FeedKeys.entryByteCount - 1,
      body.isMore(than: place)
    else { return false }
    body.truncate(to: place)
    return true
  }

  private mutating func append(_ entry: ChangeLog.RawEntry) {
    guard let id = entry.collection else { return body.appendClearedAll() }
    select(id)
    guard let kind = entry.kind else { return body.appendCleared() }
    unsafe body.append(kind.code, entry.rowID, entry.key)
  }

  private mutating func select(_ id: CollectionID) {
    if body.currentID == id { return }
    guard let collection = id == lastID ? last : collection(id) else {
      preconditionFailure("a change of no collection is told")
    }
    body.select(collection)
  }

  /// Appends a row that was stored as it is by now. Nothing if it is gone: its removal follows.
  private mutating func appendNew(_ entry: ChangeLog.RawEntry, _ tx: borrowing QuireStorage.WriteTransaction) throws {
    guard let kind = entry.kind, let id = entry.collection else { return }
    _ = try tx.withValue(for: entry.rowID.rawValue, in: rows) { row in
      try unsafe row.withUnsafeBytes { row in
        select(id)
        unsafe body.append(kind.code, entry.rowID, entry.key, hasNew: true)
        try append(try checked(unsafe RowView(row), id), id)
      }
    }
  }

  /// Appends a row with its values before the transaction and now. Nothing if there was neither.
  private mutating func appendBoth(
    _ entry: ChangeLog.RawEntry, _ tx: borrowing QuireStorage.WriteTransaction,
    _ old: borrowing QuireStorage.ReadTransaction
  ) throws {
    guard let kind = entry.kind, let id = entry.collection else { return }
    let hadRow: Void? = try old.withValue(for: entry.rowID.rawValue, in: rows) { _ in }
    let isTold: Bool
    if kind == .removed {
      isTold = hadRow != nil
      guard isTold else { return }
      select(id)
      unsafe body.append(kind.code, entry.rowID, entry.key, hasOld: true)
    } else {
      let stored: Void? = try tx.withValue(for: entry.rowID.rawValue, in: rows) { row in
        try unsafe row.withUnsafeBytes { row in
          select(id)
          unsafe body.append(kind.code, entry.rowID, entry.key, hasNew: true, hasOld: hadRow != nil)
          try append(try checked(unsafe RowView(row), id), id)
        }
      }
      guard stored != nil, hadRow != nil else { return }
    }
    _ = try old.withValue(for: entry.rowID.rawValue, in: rows) { row in
      try unsafe row.withUnsafeBytes { try append(try checked(unsafe RowView($0), id), id) }
    }
  }

  private func checked(_ row: RowView, _ id: CollectionID) throws(DatabaseError) -> RowView {
    guard row.collection == id else { throw RowView.damaged() }
    return row
  }

  private mutating func append(_ row: RowView, _ id: CollectionID) throws {
    let byteCount = unsafe row.object.count + (row.metadata?.count ?? 0)
    guard byteCount <= Limits.feedValueByteCount else {
      throw DatabaseError(
        .valueTooLong,
        """
        A row of \(byteCount) bytes is too long for the feed “\(feed.definition.name)”, which keeps values. Have it \
        keep keys, or leave out the collection.
        """, collection: source.collection(id)?.name)
    }
    let metadata = try unsafe row.metadata.map { try unsafe source.plain($0, id) ?? Array($0) }
    let object = try unsafe source.plain(row.object, id)
    try unsafe append(metadata, object, row.object)
  }

  /// Appends halves: an object that stands as it is to be told is not copied twice.
  private mutating func append(_ metadata: [UInt8]?, _ object: [UInt8]?, _ stored: UnsafeRawBufferPointer) throws {
    func append(_ metadata: UnsafeRawBufferPointer?, _ body: inout FeedBodyBuilder) {
      if let object {
        unsafe object.withUnsafeBytes { unsafe body.append(metadata: metadata, object: $0) }
      } else {
        unsafe body.append(metadata: metadata, object: stored)
      }
    }
    if let metadata {
      unsafe metadata.withUnsafeBytes { unsafe append($0, &body) }
    } else {
      append(nil, &body)
    }
  }
}

/// The form of the values of a collection: what it takes to read them without the collection.
enum FeedForm {
  /// In place of the number of a collection: the form is that of any with these fields and coders.
  private static let collection = CollectionID(1)

  /// The stored form.
  static func bytes(_ format: CollectionFormat) -> [UInt8] {
    CollectionFormat(
      id: collection, objectSchema: format.objectSchema, metadataSchema: format.metadataSchema, coders: format.coders
    ).bytes
  }

  /// Reads the stored form for the values of a collection.
  static func record(_ bytes: [UInt8], _ collection: FeedCollection) throws(DatabaseError) -> CollectionRecord {
    let form = try CollectionFormat(bytes, name: collection.name)
    let format = CollectionFormat(
      id: collection.id, objectSchema: form.objectSchema, metadataSchema: form.metadataSchema, coders: form.coders)
    return CollectionRecord(name: collection.name, format, CollectionDictionaries())
  }
}
