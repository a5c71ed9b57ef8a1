// The indexes of a collection in one transaction.

internal import QuireDatabase

/// What the indexes of a collection hold in one snapshot; queries read it, and apps need not.
///
/// For the thread and the life of its transaction.
public struct IndexReader<Object: Sendable, Metadata: Sendable> {
  let indexes: Indexes<Object, Metadata>
  let trees: IndexTrees

  init(_ indexes: Indexes<Object, Metadata>, _ trees: IndexTrees) {
    self.indexes = indexes
    self.trees = trees
  }

  /// The names of the indexes, in the order of their list.
  public var names: [String] { indexes.indexes.map(\.name) }

  /// The number of entries of an index; nil if there is none of this name. O(1).
  public func entryCount(ofIndexNamed name: String) throws -> Int? {
    guard let number = names.firstIndex(of: name) else { return nil }
    return try trees.entries[number].count
  }

  /// Throws `IndexError.damaged` if what is stored differs from the rows. Reads and decodes all rows.
  public func verify() throws {
    let rows = trees.store.readTransaction[indexes.collection]
    var counts = [Int](repeating: 0, count: names.count)
    var rowCount = 0
    for row in rows.rows {
      rowCount += 1
      let record = try indexes.layout.record(row.object, row.metadata)
      guard try trees.records.value(for: row.rowID) == record.bytes else {
        throw IndexError.damaged(index: indexes.name, detail: "the record of “\(row.key)” is not that of the row")
      }
      for (number, index) in indexes.indexes.enumerated() {
        let keys = indexes.layout.keys(record, in: number, index.columns, row.rowID)
        counts[number] += keys.count
        for key in keys where try !trees.entries[number].contains(key) {
          throw IndexError.damaged(index: index.name, detail: "an entry of “\(row.key)” is missing")
        }
      }
    }
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try rows.contains("")
    guard try trees.records.count == rowCount else {
      throw IndexError.damaged(index: indexes.name, detail: "there are records of rows that are gone")
    }
    for (number, index) in indexes.indexes.enumerated() where try trees.entries[number].count != counts[number] {
      throw IndexError.damaged(index: index.name, detail: "there are entries that no row has")
    }
  }

  /// The record of a row.
  func record(_ rowID: RowID, _ bytes: [UInt8]?) throws -> RowRecord {
    guard let bytes,
      let record = RowRecord(bytes, indexCount: indexes.indexes.count, columnCount: indexes.layout.columns.count)
    else { throw IndexError.damaged(index: indexes.name, detail: "\(rowID) has no record that could be read") }
    return record
  }
}
