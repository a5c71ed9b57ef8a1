// Storing the rows of a source, some thousands in each transaction.

package import QuireDatabase

/// What an import stores, some thousands of rows at a time. For one thread.
package protocol BatchSource: AnyObject {
  /// Stores rows until a batch is full, and counts them. Returns whether there may be more.
  ///
  /// - Parameter skip: called with each row that does not fit, and is passed over then; without it the first one ends
  ///   the import, and stands in the report.
  /// - Throws: ``ImportError`` for what ends the import, and what the disk and `skip` throw.
  func storeBatch(
    in tx: QuireDatabase.WriteTransaction, skip: ((BadRow) throws -> Void)?, _ report: inout ImportReport
  ) throws -> Bool
  /// What is not carried over, each with the reason. Complete once all rows were stored.
  var leftOut: [LeftOut] { get }
  /// How many values were made something else than their storage class says, by what was made of them.
  var coercions: [String: Int] { get }
  /// Looks whether the source is still as it was at the beginning.
  ///
  /// - Throws: ``ImportError`` if somebody has changed it.
  func checkUnchanged() throws
}

/// Stores the rows that a source gives one by one.
package final class RowBatches: BatchSource {
  private let source: any RowSource
  private let batchRowCount = 10_000
  private let batchByteCount = 8 << 20

  /// The rows of `source`.
  package init(_ source: any RowSource) { self.source = source }

  package var leftOut: [LeftOut] { source.leftOut }
  package var coercions: [String: Int] { source.coercions }
  package func checkUnchanged() throws { try source.checkUnchanged() }

  package func storeBatch(
    in tx: QuireDatabase.WriteTransaction, skip: ((BadRow) throws -> Void)?, _ report: inout ImportReport
  ) throws -> Bool {
    var opened = OpenCollections(tx)
    var (rows, bytes) = (0, 0)
    while rows < batchRowCount, bytes < batchByteCount {
      guard let item = try source.next() else { return false }
      rows += 1
      if case .row(let row, _, _) = item { bytes += row.byteCount }
      guard let bad = try bad(item, &opened, &report) else { continue }
      guard let skip else {
        report.stopped = bad
        return false
      }
      report.badCount += 1
      try skip(bad)
    }
    return true
  }

  /// Stores a row. Returns it if it does not fit.
  private func bad(
    _ item: SourceItem, _ opened: inout OpenCollections, _ report: inout ImportReport
  ) throws -> BadRow? {
    switch item {
    case .bad(let bad): return bad
    case .row(let row, let table, let place):
      // A transaction that has failed to open a collection is over.
      guard row.collection.utf8.count <= QuireDatabase.Limits.collectionNameByteCount else {
        let reason = "The name of its collection has more than \(QuireDatabase.Limits.collectionNameByteCount) bytes."
        return BadRow(table: table, row: place, reason: reason)
      }
      do {
        guard try opened.insert(row) else {
          let reason = "There is a row “\(row.key)” in “\(row.collection)” already."
          return BadRow(table: table, row: place, reason: reason)
        }
      } catch let error as DatabaseError where Self.ofOneRow.contains(error.code) {
        return BadRow(table: table, row: place, reason: error.description)
      }
      report.count(row)
      return nil
    }
  }

  /// What a row can be to blame for.
  private static let ofOneRow: Set<DatabaseError.Code> = [
    .keyTooLong, .nameTooLong, .valueTooLong, .encodingFailed,
  ]
}

/// The collections that a transaction stores rows in.
private struct OpenCollections {
  private let tx: QuireDatabase.WriteTransaction
  private var records = Opened<RowValue, NoMetadata>()
  private var values = Opened<RowValue, RowValue>()
  private var bytes = Opened<[UInt8], [UInt8]>()

  init(_ tx: QuireDatabase.WriteTransaction) { self.tx = tx }

  /// Stores a row unless there is one under its key. Returns whether it was stored.
  mutating func insert(_ row: SourceRow) throws -> Bool {
    switch row.content {
    case .record(let value):
      let tx = tx
      let rows = records.rows(row.collection) { tx[RowCollection<RowValue, NoMetadata>(row.collection)] }
      return try rows.insert(value, for: row.key)
    case .values(let object, let metadata):
      let tx = tx
      let rows = values.rows(row.collection) { tx[RowCollection<RowValue, RowValue>(row.collection)] }
      return try rows.insert(object, metadata: metadata, for: row.key)
    case .bytes(let object, let metadata):
      let tx = tx
      let rows = bytes.rows(row.collection) {
        tx[RowCollection<[UInt8], [UInt8]>(row.collection, coder: .bytes, metadataCoder: .bytes)]
      }
      return try rows.insert(object, metadata: metadata, for: row.key)
    }
  }
}

/// Collections of one type, by their names.
private struct Opened<Object: Sendable, Metadata: Sendable> {
  private var all: [ByteString: WritableRows<Object, Metadata>] = [:]
  /// The collection of the last row, which is mostly that of the next one.
  private var last: (name: ByteString, rows: WritableRows<Object, Metadata>)?

  /// The rows of a collection, which `open` gives.
  mutating func rows(
    _ name: String, _ open: () -> WritableRows<Object, Metadata>
  ) -> WritableRows<Object, Metadata> {
    let name = ByteString(name)
    if let last, last.name == name { return last.rows }
    let rows = all[name] ?? open()
    all[name] = rows
    last = (name, rows)
    return rows
  }
}
