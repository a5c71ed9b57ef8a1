// quiredb check: is everything as it must be?

import ArgumentParser
import QuireDatabase
import QuireIndexes
import QuireRelationships
import QuireStorage
import QuireViews

/// Checks all files of a database and prints what is wrong with them.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks pages, log, rows, views, relationships, indexes and feeds. Exits with 1 if anything is wrong.",
    discussion: """
      First every page, the log, and whatever else opening asks. If nothing is wrong with these: every row is read as \
      what the file says that it is, key index and rows are held against each other, and so is what is stored of \
      views, relationships, indexes and feeds. What is encrypted is checked as far as that takes no key; whether views \
      and indexes are what the app's closures make of the rows, only the app can tell. What is out of date is left \
      out, as it is built anew. Of a database that an app has open, and a control socket, the app checks the pages, \
      and the rest is read at a checkpoint that it holds.
      """)

  @OptionGroup var database: LiveArgument
  @Option(help: "The number of defects to stop at.") var limit = 100
  @Flag(help: "Looks at pages and log alone, which is faster.") var pagesOnly = false
  @Flag(help: "The result as one JSON record.") var json = false
  @Flag(help: "Shows on standard error how far the check has come.") var progress = false

  func validate() throws {
    if limit < 1 { throw ValidationError("--limit is at least 1.") }
  }

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    let inspector = try database.files.inspect(warns: false)
    var defects = try describing {
      database.control != nil || inspector.isInUse
        ? try liveDefects(reporter) : try fileDefects(inspector, reporter)
    }
    // What lies in damaged pages is not looked at: it would be told as lost over and over.
    var hasRows = !pagesOnly
    if defects.isEmpty, !pagesOnly {
      let found = try objectDefects(reporter)
      (defects, hasRows) = (found ?? [], found != nil)
    }
    reporter.end()
    try show(defects, inspector.path, hasRows: hasRows)
  }

  private func show(_ defects: [String], _ path: String, hasRows: Bool) throws {
    if json {
      let record: RowValue = [
        "file": .text(path), "defects": .list(defects.map { .text($0) }),
        "may have more": .bool(defects.count >= limit),
      ]
      print(record.json)
      if !defects.isEmpty { throw ExitCode.failure }
      return
    }
    for defect in defects { print(defect) }
    guard defects.isEmpty else {
      let count = defects.count == 1 ? "1 defect" : "\(defects.count) defects"
      complain("\(count)\(defects.count >= limit ? " or more" : "") in \(path)")
      throw ExitCode.failure
    }
    print("\(path): no defects\(hasRows || pagesOnly ? "" : ", and no rows: it is an engine's alone")")
  }

  private func fileDefects(_ inspector: Inspector, _ reporter: ProgressReporter) throws -> [String] {
    try inspector.check(defectLimit: limit) { pages in
      if pages % 4096 == 0 { reporter.show("\(pages) pages") }
    }.map(\.description)
  }

  /// What the app that has the database open finds in its pages: a checkpoint would replace them under anybody else,
  /// and that would look like damage.
  private func liveDefects(_ reporter: ProgressReporter) throws -> [String] {
    try database.app().check(limit: limit, ofPagesAlone: true) { reporter.show($0, $1, $2) }
  }

  /// What is wrong with rows, and with what is made of them; nil for the file of an engine that is used alone.
  private func objectDefects(_ reporter: ProgressReporter) throws -> [String]? {
    var found: [DatabaseError] = []
    do {
      try opening(database, throwing: [.notADatabase]) { db, _ in
        reporter.show("rows")
        found = try db.defects(limit: limit)
        // Who looks for what is made of rows needs these.
        if found.isEmpty { found = try db.read { tx in try extensionDefects(tx, reporter) } }
      }
    } catch let error as DatabaseError where error.code == .notADatabase {
      return nil
    }
    return found.map(\.description)
  }

  private func extensionDefects(
    _ tx: QuireDatabase.ReadTransaction, _ reporter: ProgressReporter
  ) throws -> [DatabaseError] {
    var found: [DatabaseError] = []
    for view in try tx.storedViews() where found.count < limit {
      reporter.show("the view “\(view.status.name)”")
      found += try view.defects(limit: limit - found.count)
    }
    for one in try tx.storedRelationships() where found.count < limit {
      reporter.show("the relationship “\(one.status.name)”")
      found += try one.defects(limit: limit - found.count)
    }
    if found.count < limit {
      reporter.show("indexes")
      found += try tx.storedIndexDefects(limit: limit - found.count)
    }
    return found
  }
}
