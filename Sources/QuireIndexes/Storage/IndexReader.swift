// The indexes of a collection in one transaction, as those see them who know its types.

internal import QuireDatabase

/// What the indexes of a collection hold in one snapshot; queries read it, and apps need not.
///
/// For the thread and the life of its transaction.
public struct IndexReader<Object: Sendable, Metadata: Sendable> {
  let collection: RowCollection<Object, Metadata>
  let view: IndexView

  init(_ collection: RowCollection<Object, Metadata>, _ view: IndexView) {
    self.collection = collection
    self.view = view
  }

  init(
    _ collection: RowCollection<Object, Metadata>, _ list: IndexList, _ store: ExtensionStore, _ cache: MapCache
  ) throws {
    let map = try store.keeping { try cache.known(list, store) }.map
    self.init(collection, IndexView(list: list, map: map, trees: try IndexTrees(store, list.names, map.trees)))
  }

  /// The names of the indexes, in the order of their list.
  public var names: [String] { view.list.indexes.filter(\.hasEntries).map(\.name) }

  /// Whether an index has all rows and serves queries; false while it is built, and if there is none of this name.
  public func isReady(indexNamed name: String) -> Bool {
    view.names.firstIndex(of: name).map { view.map.isReady[$0] } ?? false
  }

  /// The number of entries of an index; nil if there is none of this name, or if it is being built. O(1).
  public func entryCount(ofIndexNamed name: String) throws -> Int? {
    guard let number = view.names.firstIndex(of: name), view.map.isReady[number], view.list.indexes[number].hasEntries
    else { return nil }
    return try view.trees.tree(number).count
  }
}

// MARK: - Verifying

extension IndexReader {
  /// Throws `IndexError.damaged` if what is stored differs from the rows, and `notUnique` if rows have the same values
  /// in a unique index. Reads and decodes all rows; of an index that is being built only the records.
  public func verify() throws {
    let rows = view.trees.store.readTransaction[collection]
    var counts = [Int](repeating: 0, count: view.names.count)
    var rowCount = 0
    for row in rows.rows {
      rowCount += 1
      let record = try view.list.fields.record(row.object, row.metadata, view.map)
      try verify(record, of: row.key, row.rowID, &counts)
    }
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try rows.contains("")
    guard try view.trees.records.count == rowCount else {
      throw IndexError.damaged(index: view.list.name, detail: "there are records of rows that are gone")
    }
    for (number, name) in view.names.enumerated()
    where try view.map.isReady[number] && view.trees.tree(number).count != counts[number] {
      throw IndexError.damaged(index: name, detail: "there are entries that no row has")
    }
    for number in view.names.indices where view.map.isReady[number] && view.list.indexes[number].uniqueness != nil {
      try view.checkAllUnique(in: number)
    }
  }

  private func verify(_ record: RowRecord, of key: String, _ rowID: RowID, _ counts: inout [Int]) throws {
    guard let stored = try view.trees.records.value(for: rowID) else {
      throw IndexError.damaged(index: view.list.name, detail: "there is no record of “\(key)”")
    }
    let isSame = try record.withView { own in
      try unsafe stored.withUnsafeBytes { bytes in
        guard let found = unsafe RecordView(bytes) else {
          throw IndexError.damaged(index: view.list.name, detail: "the record of “\(key)” breaks the format")
        }
        // One that was made before a column came knows the others.
        return view.map.placedFields.allSatisfy { place, field in
          !view.map.isComplete[field] && !found.knows(place) || found.isSame(as: own, at: place)
        }
      }
    }
    guard isSame else {
      throw IndexError.damaged(index: view.list.name, detail: "the record of “\(key)” is not that of the row")
    }
    for number in view.names.indices where view.map.isReady[number] {
      let keys = try record.withView { try view.list.keys(of: $0, in: number, view.map, rowID) }
      counts[number] += keys.count
      for entry in keys where try !view.trees.tree(number).contains(entry) {
        throw IndexError.damaged(index: view.names[number], detail: "an entry of “\(key)” is missing")
      }
    }
  }
}
