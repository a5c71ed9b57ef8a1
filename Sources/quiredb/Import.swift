// quiredb import: rows that `export` has written, or another program in the same form.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Stores rows that are lines of JSON.
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes a database of rows as `export` writes them, from a file or standard input.",
    discussion: """
      What is at the path is complete or not there: the file is made under another name, and gets its own at the end. \
      With --into rows go into a database that is there, in commits of 10,000; a row that is there already is an error \
      unless --replace is given. The first line that does not fit ends the import with its number and the reason, and \
      what stands in front of it stays in a database that was there. Extensions that follow a collection are marked as \
      out of date, and built anew when the app registers them.
      """)

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The lines; standard input if left out.", completion: .file()) var rows: String?
  @Flag(help: "Into a database that is there.") var into = false
  @Flag(help: "Stores over rows that are there; of lines with one key the last one counts.") var replace = false
  @Flag(help: "Changes nothing: counts rows, and lists every line that does not fit.") var dryRun = false
  @Option(help: "A new file for lines that do not fit, which are passed over then.", completion: .file())
  var skipBad: String?
  @Option(help: "The longest line in bytes.") var longestLine = 64 << 20
  @Flag(help: "The result as one JSON record.") var json = false
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func validate() throws {
    if longestLine < 1 { throw ValidationError("--longest-line is at least 1.") }
    if dryRun, skipBad != nil { throw ValidationError("--dry-run lists what does not fit: leave out --skip-bad.") }
  }

  func run() throws {
    let input = try rows.map { try InputFile(at: $0) } ?? InputFile.standardInput
    let made = NewDatabaseFile(for: database.file)
    if !into, let taken = made.takenName {
      complain("\(taken) is there already, and nothing is overwritten: choose another name, or import with --into.")
      throw ExitCode.failure
    }
    var lines = LineImport(replaces: replace, longestLine: longestLine) { try input.read($0) }
    var committed: ImportFigures?
    let isStopped: Bool
    do {
      isStopped = try store(&lines, at: into ? database.file : made.temporaryPath, &committed)
      if !into {
        if dryRun || isStopped { made.remove() } else { try made.publish(since: "the import") }
      }
    } catch {
      if !into { made.remove() }
      let end = told(error)
      // These stay, whatever has gone wrong behind them.
      if into, let committed { show(committed, " were stored before that") }
      throw end
    }
    if isStopped, !into {
      complain("\(database.file) was not made.")
    } else {
      show(ImportFigures(lines), dryRun ? " would be stored" : "")
    }
    if isStopped { throw ExitCode.failure }
    if lines.badCount > 0 { throw dryRun ? ExitCode.failure : ExitCode(2) }
  }

  /// Stores all lines, and closes the database. Returns whether a line has ended that; `committed` is what is stored,
  /// also if something else ends it.
  private func store(
    _ lines: inout LineImport, at path: String, _ committed: inout ImportFigures?
  ) throws -> Bool {
    // A file that nobody knows of is safe when it gets its name; commits of one that is there are when they are told.
    let options = Database.Options(
      durability: into ? .full : .relaxed, maintainsWhenIdle: false, createsIfMissing: !into)
    let db = try Database(at: path, options: options)
    // Where the database does not open, no file of lines is made.
    let bad = try skipBad.map { path in try naming(path) { () throws(SystemError) in try NewLineFile(at: path) } }
    let reporter = ProgressReporter(isShown: progress)
    let outcome = try dryRun ? tried(&lines, in: db, reporter) : stored(&lines, in: db, bad, reporter, &committed)
    reporter.end()
    try db.close()
    if let bad, let skipBad { try naming(skipBad) { () throws(SystemError) in try bad.close() } }
    guard case .stopped(let line) = outcome else { return false }
    complain(line.description)
    return true
  }

  private func stored(
    _ lines: inout LineImport, in db: Database, _ bad: NewLineFile?, _ reporter: ProgressReporter,
    _ committed: inout ImportFigures?
  ) throws -> LineImport.Outcome {
    let skip = bad.map { file in
      { (line: BadLine) in try naming(skipBad ?? "") { () throws(SystemError) in try file.append(line.json) } }
    }
    var outcome = LineImport.Outcome.goesOn
    committed = ImportFigures(lines)
    while outcome == .goesOn {
      outcome = try db.write { tx in try lines.storeBatch(in: tx, skip: skip) }
      committed = ImportFigures(lines)
      reporter.show("\(lines.byteCount >> 20) MiB read, \(lines.rowCount) rows")
    }
    return outcome
  }

  /// Stores all lines in a transaction that is undone.
  private func tried(
    _ lines: inout LineImport, in db: Database, _ reporter: ProgressReporter
  ) throws -> LineImport.Outcome {
    var outcome = LineImport.Outcome.goesOn
    do {
      try db.write { tx in
        while outcome == .goesOn {
          outcome = try lines.storeBatch(in: tx) { complain($0.description) }
          reporter.show("\(lines.byteCount >> 20) MiB read, \(lines.rowCount) rows")
        }
        try tx.rollback()
      }
    } catch let error as DatabaseError where error.code == .rolledBack {
      // As it is meant to be.
    }
    return outcome
  }

  private func show(_ figures: ImportFigures, _ remark: String) {
    var output = StandardOutput()
    defer { output.flush() }
    if json {
      let collections = figures.rowCounts.map { count -> RowValue in
        ["collection": .text(count.collection), "rows": .integer(Int128(count.rows))]
      }
      let record: RowValue = [
        "file": .text(database.file), "rows": .integer(Int128(figures.rowCount)),
        "bad lines": .integer(Int128(figures.badCount)), "bytes": .integer(Int128(figures.byteCount)),
        "dry run": .bool(dryRun), "collections": .list(collections),
      ]
      return output.append(record.json)
    }
    for (name, count) in figures.rowCounts { output.append("\(aligned(count, 12))  \(shown(name))") }
    let bad = figures.badCount == 0 ? "" : ", \(figures.badCount) lines do not fit"
    output.append("\(database.file): \(figures.rowCount) rows\(remark)\(bad)")
  }
}

/// What an import has come to.
private struct ImportFigures {
  let rowCounts: [(collection: String, rows: Int)]
  let rowCount: Int
  let badCount: Int
  let byteCount: Int

  init(_ lines: LineImport) {
    (rowCounts, rowCount) = (lines.rowCounts, lines.rowCount)
    (badCount, byteCount) = (lines.badCount, lines.byteCount)
  }
}
