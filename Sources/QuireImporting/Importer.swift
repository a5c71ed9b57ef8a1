// Storing the rows of a source in a new database, some thousands in each transaction.

import Foundation
import QuireDatabase
import QuireStorage

/// Makes a database of the rows of a source.
///
/// What is at the path is complete or not there: the file is made under another name, and gets its own at the end.
package struct Importer {
  private let path: String
  private let isDryRun: Bool
  /// Called with each row that does not fit; nil if the first one ends the import.
  private let skip: ((BadRow) throws -> Void)?
  private let progress: (ImportReport) -> Void
  /// Called before the file gets its name.
  private let finish: () throws -> Void

  /// An import into a new file at `path`.
  ///
  /// - Parameters:
  ///   - isDryRun: whether nothing is kept; `skip` is called with each row that does not fit all the same.
  ///   - skip: called with each row that does not fit, which is passed over then.
  ///   - progress: called after each batch.
  ///   - finish: called when all rows are stored, before the file gets its name; what it throws leaves no file.
  package init(
    into path: String, isDryRun: Bool = false, skip: ((BadRow) throws -> Void)? = nil,
    progress: @escaping (ImportReport) -> Void = { _ in }, finish: @escaping () throws -> Void = {}
  ) {
    (self.path, self.isDryRun, self.skip) = (path, isDryRun, skip)
    (self.progress, self.finish) = (progress, finish)
  }

  /// Stores all rows of a source, as the other form.
  package func run(_ source: any RowSource) throws -> ImportReport { try run(RowBatches(source)) }

  /// Stores all rows. The file is there afterwards unless the report names the row that has ended the import, or the
  /// run is a dry one.
  ///
  /// - Throws: ``ImportError`` for what is wrong with the source or the path, and what the disk throws; nothing is left
  ///   then.
  package func run(_ source: any BatchSource) throws -> ImportReport {
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
      if isDryRun || report.stopped != nil {
        file.remove()
      } else {
        try finish()
        try publish(file)
      }
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

  private func store(_ source: any BatchSource, at path: String) throws -> ImportReport {
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

  private func storeAll(_ source: any BatchSource, in db: Database, _ report: inout ImportReport) throws {
    var goesOn = true
    while goesOn {
      goesOn = try db.write { tx throws in try source.storeBatch(in: tx, skip: skip, &report) }
      progress(report)
    }
  }

  /// Stores all rows in a transaction that is undone.
  private func tryAll(_ source: any BatchSource, in db: Database, _ report: inout ImportReport) throws {
    do {
      try db.write { tx throws in
        while try source.storeBatch(in: tx, skip: skip, &report) { progress(report) }
        try tx.rollback()
      }
    } catch let error as DatabaseError where error.code == .rolledBack {
      // As it is meant to be.
    }
  }
}
