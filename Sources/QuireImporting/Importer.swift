// Storing the rows of a source in a new database, some thousands in each transaction.

import Foundation
import QuireDatabase
import QuireStorage

/// Makes a database of the rows of a source.
///
/// What is at the path is complete or not there: the file is made under another name, and gets its own at the end.
package struct Importer {
  private let batchRowCount = 10_000
  private let batchByteCount = 8 << 20
  private let path: String
  private let isDryRun: Bool
  /// Called with each row that does not fit; nil if the first one ends the import.
  private let skip: ((BadRow) throws -> Void)?
  private let progress: (ImportReport) -> Void

  /// An import into a new file at `path`.
  ///
  /// - Parameters:
  ///   - isDryRun: whether nothing is kept; `skip` is called with each row that does not fit all the same.
  ///   - skip: called with each row that does not fit, which is passed over then.
  ///   - progress: called after each batch.
  package init(
    into path: String, isDryRun: Bool = false, skip: ((BadRow) throws -> Void)? = nil,
    progress: @escaping (ImportReport) -> Void = { _ in }
  ) {
    (self.path, self.isDryRun, self.skip, self.progress) = (path, isDryRun, skip, progress)
  }

  /// Stores all rows. The file is there afterwards unless the report names the row that has ended the import, or the
  /// run is a dry one.
  ///
  /// - Throws: ``ImportError`` for what is wrong with the source or the path, and what the disk throws; nothing is left
  ///   then.
  package func run(_ source: any RowSource) throws -> ImportReport {
    let file = NewDatabaseFile(for: path)
    if let taken = file.takenName {
      throw ImportError("\(taken) is there already, and nothing is overwritten: choose another name.")
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard access(folder, W_OK | X_OK) == 0 else {
      throw ImportError("In the folder of \(path) no file can be made: \(String(cString: strerror(errno))).")
    }
    do {
      let report = try store(source, at: file.temporaryPath)
      try source.checkUnchanged()
      if isDryRun || report.stopped != nil { file.remove() } else { try publish(file) }
      return report
    } catch {
      file.remove()
      throw error
    }
  }

  private func publish(_ file: NewDatabaseFile) throws(ImportError) {
    if let taken = file.takenName { throw ImportError("\(taken) is there, and was not at the beginning.") }
    do throws(SystemError) { try file.publish() } catch { throw ImportError(error, file.path) }
  }

  private func store(_ source: any RowSource, at path: String) throws -> ImportReport {
    // A file that nobody knows of is safe when it gets its name.
    let db = try Database(at: path, options: Database.Options(durability: .relaxed, maintainsWhenIdle: false))
    var report = ImportReport()
    do {
      if isDryRun { try tryAll(source, in: db, &report) } else { try storeAll(source, in: db, &report) }
    } catch {
      try? db.close()
      throw error
    }
    try db.close()
    report.leftOut = source.leftOut
    report.coercions = source.coercions
    return report
  }

  private func storeAll(_ source: any RowSource, in db: Database, _ report: inout ImportReport) throws {
    var goesOn = true
    while goesOn {
      goesOn = try db.write { tx throws in try storeBatch(source, in: tx, &report) }
      progress(report)
    }
  }

  /// Stores all rows in a transaction that is undone.
  private func tryAll(_ source: any RowSource, in db: Database, _ report: inout ImportReport) throws {
    do {
      try db.write { tx throws in
        while try storeBatch(source, in: tx, &report) { progress(report) }
        try tx.rollback()
      }
    } catch let error as DatabaseError where error.code == .rolledBack {
      // As it is meant to be.
    }
  }

  /// Stores rows until a batch is full. Returns whether there may be more.
  private func storeBatch(
    _ source: any RowSource, in tx: QuireDatabase.WriteTransaction, _ report: inout ImportReport
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
  private var records: [ByteString: WritableRows<RowValue, NoMetadata>] = [:]
  private var bytes: [ByteString: WritableRows<[UInt8], [UInt8]>] = [:]

  init(_ tx: QuireDatabase.WriteTransaction) { self.tx = tx }

  /// Stores a row unless there is one under its key. Returns whether it was stored.
  mutating func insert(_ row: SourceRow) throws -> Bool {
    let name = ByteString(row.collection)
    switch row.content {
    case .record(let value):
      let rows = records[name] ?? tx[RowCollection<RowValue, NoMetadata>(row.collection)]
      records[name] = rows
      if try rows.contains(row.key) { return false }
      try rows.set(value, for: row.key)
      return true
    case .bytes(let object, let metadata):
      let collection = RowCollection<[UInt8], [UInt8]>(
        row.collection, coder: .bytes, metadataCoder: .bytes)
      let rows = bytes[name] ?? tx[collection]
      bytes[name] = rows
      if try rows.contains(row.key) { return false }
      try rows.set(object, metadata: metadata, for: row.key)
      return true
    }
  }
}
