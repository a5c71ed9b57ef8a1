// What is wrong with indexes as they are stored, as far as that can be told without the types of rows.

public import QuireDatabase

extension ReadTransaction {
  /// What is wrong with the indexes that are stored, up to a limit: entries and columns of rows that do not exist, what
  /// breaks the form, and rows of the collection that have no columns. Nothing of what is not ready: it is built anew.
  ///
  /// Whether the columns are those of the rows only the app's types tell: see `IndexReader.verify()`. O(n log n) for n
  /// entries; reads no row but its key.
  ///
  /// - Throws: `transactionClosed`, `damagedRow`, `damagedPage`, `inputOutput`.
  public func storedIndexDefects(limit: Int = 100) throws -> [DatabaseError] {
    var found: [DatabaseError] = []
    for stored in try storedExtensions()
    where stored.status.kind == IndexTrees.kind && stored.formatVersion == IndexTrees.formatVersion
      && stored.status.state == .ready
    {
      var search = StoredIndexSearch(
        store: stored.store, collection: stored.collections?.first, limit: limit - found.count)
      do { try search.run() } catch let error as DatabaseError { search.found.append(error) } catch let error
        as IndexError
      {
        search.add("\(error)")
      }
      found += search.found
      if found.count >= limit { break }
    }
    return found
  }
}

/// Looks through the indexes of one collection.
private struct StoredIndexSearch {
  let store: ExtensionStore
  let collection: String?
  let limit: Int
  var found: [DatabaseError] = []

  mutating func run() throws {
    let records = try store.tree(IndexTrees.recordsName, of: RowID.self)
    let cursor = try records.cursor()
    while found.count < limit, try cursor.next(), let (rowID, bytes) = try cursor.entry {
      if try !store.hasRow(rowID) {
        add("“\(store.name)” has the columns of row \(rowID.rawValue), which does not exist")
      }
      if unsafe !bytes.withUnsafeBytes({ unsafe RecordView($0) != nil }) {
        add("the columns of row \(rowID.rawValue) in “\(store.name)” break the form")
      }
    }
    if let collection, found.isEmpty {
      let (rows, count) = (try store.readTransaction.values(in: collection).count(), try records.count)
      if rows != count { add("“\(store.name)” has columns of \(count) rows, and the collection has \(rows)") }
    }
    for index in try IndexTrees.catalog(IndexTrees.catalogBytes(store), of: store.name).entries where index.isReady {
      let entries = try store.tree(IndexTrees.entriesName(index.tree), of: [UInt8].self).cursor()
      while found.count < limit, try entries.next(), let key = entries.key {
        guard let rowID = IndexKey.rowID(key), try rowID.rawValue > 0 && store.hasRow(rowID) else {
          add("an entry of the index “\(index.name)” is of a row that does not exist")
          continue
        }
      }
    }
  }

  mutating func add(_ what: String) {
    found.append(
      DatabaseError(
        .damagedRow, "\(what). Unregister the indexes, and register them again.", collection: collection))
  }
}
