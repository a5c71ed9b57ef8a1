// The indexes of a collection in one transaction.

internal import QuireDatabase

/// What the indexes of a collection hold in one snapshot; queries read it, and apps need not.
///
/// For the thread and the life of its transaction.
public struct IndexReader<Object: Sendable, Metadata: Sendable> {
  let list: IndexList<Object, Metadata>
  let map: IndexMap
  let trees: IndexTrees

  init(_ list: IndexList<Object, Metadata>, _ map: IndexMap, _ trees: IndexTrees) {
    self.list = list
    self.map = map
    self.trees = trees
  }

  init(_ list: IndexList<Object, Metadata>, _ store: ExtensionStore, _ cache: MapCache) throws {
    let map = try cache.map(of: try IndexTrees.catalogBytes(store)) { IndexMap(list, try IndexTrees.catalog(store)) }
    self.init(list, map, try IndexTrees(store, list.names, map.trees))
  }

  /// The names of the indexes, in the order of their list.
  public var names: [String] { list.names }

  /// Whether an index has all rows and serves queries; false while it is built, and if there is none of this name.
  public func isReady(indexNamed name: String) -> Bool {
    names.firstIndex(of: name).map { map.isReady[$0] } ?? false
  }

  /// The number of entries of an index; nil if there is none of this name, or if it is being built. O(1).
  public func entryCount(ofIndexNamed name: String) throws -> Int? {
    guard let number = names.firstIndex(of: name), map.isReady[number] else { return nil }
    return try trees.tree(number).count
  }

  // MARK: Records

  /// Calls `body` with the record of a row where it lies.
  func withRecord<Result>(
    _ rowID: RowID, _ bytes: RawSpan?, _ body: (RecordView) throws -> Result
  ) throws -> Result {
    guard let bytes else { throw noRecord(rowID) }
    return try unsafe bytes.withUnsafeBytes { bytes in
      guard let view = unsafe RecordView(bytes) else { throw noRecord(rowID) }
      return try body(view)
    }
  }

  /// The error for a row whose record is not there, or is none.
  func noRecord(_ rowID: RowID) -> IndexError {
    .damaged(index: list.name, detail: "\(rowID) has no record that could be read")
  }

  // MARK: Unique values

  /// Throws if two rows have the same values in an index, none of them absent.
  func checkUnique(_ prefix: [UInt8], in number: Int) throws {
    let span = KeySpan(prefix: prefix, isExact: true)
    guard try trees.count(span, in: number) > 1 else { return }
    // Values that are too long for a key may still differ: their records tell.
    let mayBeCut = prefix.count >= IndexKey.columnByteCount
    var known: [[[[UInt8]]]: RowID] = [:]
    var first: RowID?
    try trees.rowIDs(span, in: number) { rowID in
      if !mayBeCut, let first { throw notUnique(number, [first, rowID]) }
      let values = try trees.records.withValue(for: rowID) { bytes in
        try withRecord(rowID, bytes) { record in
          list.hasAbsent(record, in: number, map)
            ? nil
            : list.fields.columns[number].map { field in
              map.places[field].map { record.values(at: $0) } ?? []
            }
        }
      }
      guard let values = values ?? nil else { return }
      if !mayBeCut { first = rowID }
      if let other = known[values] { throw notUnique(number, [other, rowID]) }
      known[values] = rowID
    }
  }

  private func notUnique(_ number: Int, _ rows: [RowID]) -> any Error {
    do {
      let keys = try rows.compactMap { try trees.store.readTransaction.key(of: $0)?.key }
      return IndexError.notUnique(index: list.indexes[number].name, keys: keys)
    } catch { return error }
  }

  /// Throws if two rows have the same values anywhere in an index. Reads all entries.
  func checkAllUnique(in number: Int) throws {
    let cursor = try trees.tree(number).cursor()
    var last: (prefix: [UInt8], isChecked: Bool)?
    var isOnEntry = try cursor.seekFirst()
    while isOnEntry, let key = cursor.key {
      let prefix = Array(key.dropLast(IndexKey.rowIDByteCount))
      let isSame = prefix == last?.prefix
      if isSame, last?.isChecked == false { try checkUnique(prefix, in: number) }
      last = (prefix, isSame)
      isOnEntry = try cursor.next()
    }
  }
}

// MARK: - Verifying

extension IndexReader {
  /// Throws `IndexError.damaged` if what is stored differs from the rows. Reads and decodes all rows; of an index that
  /// is being built only the records.
  public func verify() throws {
    let rows = trees.store.readTransaction[list.collection]
    var counts = [Int](repeating: 0, count: names.count)
    var rowCount = 0
    for row in rows.rows {
      rowCount += 1
      let record = try list.fields.record(row.object, row.metadata, map)
      try verify(record, of: row.key, row.rowID, &counts)
    }
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try rows.contains("")
    guard try trees.records.count == rowCount else {
      throw IndexError.damaged(index: list.name, detail: "there are records of rows that are gone")
    }
    for (number, name) in names.enumerated()
    where try map.isReady[number] && trees.tree(number).count != counts[number] {
      throw IndexError.damaged(index: name, detail: "there are entries that no row has")
    }
  }

  private func verify(_ record: RowRecord, of key: String, _ rowID: RowID, _ counts: inout [Int]) throws {
    guard let stored = try trees.records.value(for: rowID) else {
      throw IndexError.damaged(index: list.name, detail: "there is no record of “\(key)”")
    }
    let isSame = try record.withView { own in
      try unsafe stored.withUnsafeBytes { bytes in
        guard let view = unsafe RecordView(bytes) else {
          throw IndexError.damaged(index: list.name, detail: "the record of “\(key)” breaks the format")
        }
        // One that was made before a column came knows the others.
        return map.placedFields.allSatisfy { place, field in
          !map.isComplete[field] && !view.knows(place) || view.isSame(as: own, at: place)
        }
      }
    }
    guard isSame else {
      throw IndexError.damaged(index: list.name, detail: "the record of “\(key)” is not that of the row")
    }
    for number in names.indices where map.isReady[number] {
      let keys = record.withView { list.keys(of: $0, in: number, map, rowID) }
      counts[number] += keys.count
      for entry in keys where try !trees.tree(number).contains(entry) {
        throw IndexError.damaged(index: names[number], detail: "an entry of “\(key)” is missing")
      }
    }
  }
}
