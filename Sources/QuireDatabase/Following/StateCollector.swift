// Many commits told as one: each row once, as it is in a snapshot.

internal import QuireStorage

/// Puts the changes of many entries together, and reads the rows that they are about from one snapshot.
///
/// Rows are known by the numbers of their collections, which a renaming leaves as they are. The changes come in an
/// order that leads to the same rows from any state that the cursor can have been at: all cleared, renamed, cleared,
/// and then row by row.
///
/// Invariants:
/// 1. `places` has each row of `rows` that is not nil, and no other.
/// 2. `indices` has the places in `rows` of each collection's rows that are not nil, and no others.
struct StateCollector: FeedCollector {
  private struct Place: Hashable {
    let collection: CollectionID
    let key: ByteString
  }

  private struct StateRow {
    let place: Place
    var wasThere: Bool
    var halves: RowHalves
    let rowID: RowID
    /// As the snapshot has it; nil if it has none.
    let value: FeedValue?
  }

  private let state: TransactionState
  private let context: FeedContext
  private var isAllCleared = false
  private var renamings: [(old: String, new: String)] = []
  private var cleared: [CollectionID] = []
  private var names: [CollectionID: String] = [:]
  private var rows: [StateRow?] = []
  private var places: [Place: Int] = [:]
  private var indices: [CollectionID: [Int]] = [:]
  private var rowReader: FeedRowReader

  init(_ state: TransactionState, _ context: FeedContext) {
    self.state = state
    self.context = context
    rowReader = FeedRowReader(state)
  }

  var count: Int { places.count + renamings.count + cleared.count }

  /// Rows are read as long as there is room: keys of an entry may lead to any amount of them.
  mutating func add(_ entry: FeedEntry, behind toldCount: Int, byteLimit: Int) throws -> FeedShare {
    var share = FeedShare()
    var index = 0
    try entry.forEach { item in
      defer { index += 1 }
      if index < toldCount || share.stop != nil { return }
      switch item {
      case .row(let kind, let collection, let rowID, let key, _, _):
        if share.byteCount >= byteLimit {
          share.stop = index
          return
        }
        names[collection.id] = collection.name
        share.byteCount += try note(kind, collection.id, rowID, key)
      case .cleared(let collection):
        names[collection.id] = collection.name
        forget(collection.id)
        cleared.append(collection.id)
      case .clearedAll:
        (renamings, cleared, names, rows, places, indices) = ([], [], [:], [], [:], [:])
        isAllCleared = true
      case .renamed(let old, let new):
        // What was there before under the new name is gone with the rows that the consumer puts there.
        for (id, name) in names where name.hasSameBytes(as: new) { forget(id) }
        for (id, name) in names where name.hasSameBytes(as: old) { names[id] = new }
        renamings.append((old, new))
      }
    }
    assert(share.stop.map { $0 >= toldCount } ?? true, "stops in front of what was told already")
    return share
  }

  /// Nothing that was told of the rows of a collection matters any more.
  private mutating func forget(_ id: CollectionID) {
    cleared.removeAll { $0 == id }
    for index in indices.removeValue(forKey: id) ?? [] {
      let place = rows[index]?.place
      assert(place?.collection == id && place.flatMap { places[$0] } == index, "a row is known at another place")
      if let place { places[place] = nil }
      rows[index] = nil
    }
  }

  private mutating func note(
    _ kind: ChangeLog.Kind, _ collection: CollectionID, _ rowID: RowID, _ key: String
  ) throws -> Int {
    let place = Place(collection: collection, key: ByteString(key))
    if let index = places[place] {
      // A row that went and came back is another one.
      if case .changed(let halves) = kind { rows[index]?.halves.formUnion(halves) } else { rows[index]?.halves = .any }
      return 0
    }
    let found = try rowReader.row(collection, key, at: rowID, names[collection] ?? "")
    var halves = RowHalves.any
    if case .changed(let changed) = kind { halves = changed }
    places[place] = rows.count
    indices[collection, default: []].append(rows.count)
    rows.append(
      StateRow(
        place: place, wasThere: kind != .inserted, halves: halves, rowID: found?.rowID ?? rowID, value: found?.value))
    return 32 + key.utf8.count + (found?.value.bytes.count ?? 0)
  }

  consuming func finish(_ csn: UInt64) -> [FeedChange] {
    assert(rows.count { $0 != nil } == places.count, "a row is told that is not known, or is not told")
    var changes: [FeedChange] = []
    changes.reserveCapacity(count + 1)
    if isAllCleared { changes.append(FeedChange(.clearedAll, csn, "")) }
    for (old, new) in renamings { changes.append(FeedChange(.renamed(from: old), csn, new)) }
    for id in cleared { changes.append(FeedChange(.cleared, csn, names[id] ?? "")) }
    for case let row? in rows {
      let kind: FeedChange.Kind =
        row.value == nil ? .removed : row.wasThere ? .changed(row.halves) : .inserted
      changes.append(
        FeedChange(
          kind, csn, names[row.place.collection] ?? "", row.place.key.string, row.rowID,
          row.value.map { FeedValues(new: $0, old: nil, context) }))
    }
    return changes
  }
}

/// Reads rows of a snapshot by the numbers of their collections.
struct FeedRowReader {
  private let state: TransactionState
  private var records: [CollectionID: CollectionRecord] = [:]
  /// What the last row was of.
  private var last: (collection: CollectionState, record: CollectionRecord)?

  init(_ state: TransactionState) { self.state = state }

  /// The row under a key; nil if there is none.
  ///
  /// - Parameters:
  ///   - rowID: its number, if it was not stored anew since: then nothing else is looked at.
  ///   - name: what errors call the collection.
  mutating func row(
    _ id: CollectionID, _ key: String, at rowID: RowID, _ name: String
  ) throws -> (rowID: RowID, value: FeedValue)? {
    let known = try read(id, rowID) { row in unsafe row.collection == id && row.key.hasSameBytes(as: key) }
    if let known { return (rowID, known) }
    guard let rowID = try state.rowID(id, key) else { return nil }
    return (rowID, try value(id, rowID, key, name))
  }

  /// The value of a row that the key index leads to.
  mutating func value(_ id: CollectionID, _ rowID: RowID, _ key: String, _ name: String) throws -> FeedValue {
    let value = try read(id, rowID) { row in
      guard row.collection == id else { throw RowView.damaged() }
      return true
    }
    guard let value else { throw RowView.damaged().at(name, key) }
    return value
  }

  /// The value of a row; nil if there is none of this number, or `isMeant` says that it is another one.
  private mutating func read(
    _ id: CollectionID, _ rowID: RowID, _ isMeant: (RowView) throws -> Bool
  ) throws -> FeedValue? {
    try state.withValue(rowID.rawValue, in: state.trees.rows) { row in
      try unsafe row.withUnsafeBytes { bytes -> FeedValue? in
        let row = try unsafe RowView(bytes)
        guard try isMeant(row) else { return nil }
        let (collection, record) = try open(id)
        var halves: [UInt8] = []
        halves.reserveCapacity(bytes.count)
        if let metadata = unsafe row.metadata { try unsafe append(metadata, collection, to: &halves) }
        let start = halves.count
        try unsafe append(row.object, collection, to: &halves)
        return FeedValue(
          bytes: halves,
          halves: FeedHalves(metadata: row.hasMetadata ? 0..<start : nil, object: start..<halves.count),
          record: record)
      }
    } ?? nil
  }

  private func append(
    _ half: UnsafeRawBufferPointer, _ collection: CollectionState, to halves: inout [UInt8]
  ) throws {
    if let plain = try unsafe state.withoutDictionary(half, collection) {
      halves += plain
    } else {
      unsafe halves.append(contentsOf: half)
    }
  }

  private mutating func open(_ id: CollectionID) throws -> (CollectionState, CollectionRecord) {
    if let last, last.record.id == id { return last }
    let collection = state.open(try state.name(of: id))
    let opened = (collection: collection, record: try record(id, collection.name))
    last = opened
    return opened
  }

  private mutating func record(_ id: CollectionID, _ name: String) throws -> CollectionRecord {
    if let known = records[id] { return known }
    guard let format = try state.storedCollection(name), format.id == id else { throw RowView.damaged() }
    let record = CollectionRecord(name: name, format, CollectionDictionaries())
    records[id] = record
    return record
  }
}
