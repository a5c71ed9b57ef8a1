// What is stored of indexes in one transaction.

internal import QuireDatabase

/// The declared indexes of a collection with their trees in one transaction, without the types of the rows.
///
/// For the thread and the life of its transaction. A class, as what a query is made of has it in several places.
final class IndexView {
  let list: IndexList
  let map: IndexMap
  let trees: IndexTrees

  init(list: IndexList, map: IndexMap, trees: IndexTrees) {
    self.list = list
    self.map = map
    self.trees = trees
  }

  /// Indexes that only the file describes, for plans: no row is read by it.
  ///
  /// - Throws: `IndexError.damaged` if a place is that of two columns, or an index has none.
  convenience init(stored catalog: IndexCatalog, _ store: ExtensionStore, _ collection: String) throws {
    var known: [Int: ColumnID] = [:]
    let indexes = try catalog.entries.map { entry in
      let columns = entry.storedColumns
      guard !columns.isEmpty else { throw IndexError.damaged(index: entry.name, detail: "it has no column") }
      for (column, place) in zip(columns.map(\.column.id), entry.places) {
        guard known.updateValue(column, forKey: place).map({ $0 == column }) ?? true else {
          throw IndexError.damaged(index: entry.name, detail: "it has another index’s values for elements")
        }
      }
      return IndexDeclaration(
        stored: entry.name, columns.map { KeyColumn($0.column, isDescending: $0.isDescending) },
        holdsAll: entry.heldPlace == nil, hasEntries: entry.hasEntries)
    }
    let list = IndexList(store.name, collection, indexes)
    let map = IndexMap(stored: catalog, list.fields)
    self.init(list: list, map: map, trees: try IndexTrees(store, list.names, map.trees))
  }

  /// The names of the indexes, in the order of their list.
  var names: [String] { list.names }

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
          list.isExempt(record, in: number, map)
            ? nil
            : list.fields.columns[number].map { field in
              map.places[field].map { record.values(at: $0) } ?? []
            }
        }
      }
      guard let values = values ?? nil else { return true }
      if !mayBeCut { first = rowID }
      if let other = known[values] { throw notUnique(number, [other, rowID]) }
      known[values] = rowID
      return true
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
