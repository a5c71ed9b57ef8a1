// The tool for those who come from elsewhere: makes a database of what another one has.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase
internal import QuireImporting

/// `quire-import`: a new database of the rows of another store.
@main
struct QuireImport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-import",
    abstract: "Makes a new database of what another store has. The source is never written.",
    discussion: """
      What is at the new path is complete or not there. Exit codes: 0, done; 1, nothing was made, or a dry run has \
      found rows that do not fit; 2, done, and rows were passed over; 64, the command line is none.
      """,
    version: "unreleased",
    subcommands: [SQLite.self, CoreData.self, YapDatabase.self, NDJSON.self, CSV.self, MDB.self])

  /// Runs the subcommand that the command line names.
  static func main() {
    if let malformed = ProgramArguments.malformed() {
      complain("“\(malformed)” is no UTF-8, and would name another file. Rename the file, or use a link.")
      exit(withError: ExitCode.validationFailure)
    }
    main(nil)
  }
}

/// `quire-import sqlite`: the tables of SQLite and GRDB.
struct SQLite: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sqlite",
    abstract: "Tables of SQLite, as GRDB has them, too: a collection each, of records by the names of columns.")

  @OptionGroup var arguments: ImportArguments
  @OptionGroup var map: MapArgument
  @Option(help: "A table that is read, and no other; may be given several times.") var only: [String] = []

  func run() throws {
    try arguments.run {
      try TableSource(arguments.source, besides: arguments.file, only: only, map: try map.read())
    }
  }
}

/// `quire-import coredata`: the stores of Core Data and SwiftData.
struct CoreData: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coredata",
    abstract: "A store of Core Data's or SwiftData's: a collection for each entity, of records by its attributes.")

  @OptionGroup var arguments: ImportArguments
  @OptionGroup var map: MapArgument

  func run() throws {
    try arguments.run { try CoreDataSource(arguments.source, besides: arguments.file, map: try map.read()) }
  }
}

/// `quire-import yapdatabase`: rows as YapDatabase's serializers have made them.
struct YapDatabase: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "yapdatabase",
    abstract: "Rows of YapDatabase with the bytes of their serializers, and edges that were added by hand.")

  @OptionGroup var arguments: ImportArguments
  @Flag(help: "Makes records of archives and property lists, which YapCompat does not read, in the place of bytes.")
  var decode = false

  func run() throws {
    try arguments.run { try YapDatabaseSource(arguments.source, besides: arguments.file, decodes: decode) }
  }
}

/// `quire-import ndjson`: lines of JSON.
struct NDJSON: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ndjson",
    abstract: "Lines of JSON as `quiredb export` writes them, or another program. - is standard input.",
    discussion: """
      A line is a row: {"collection": "songs", "key": "s1", "object": {"title": "Naima"}, "metadata": 7}. \
      `quiredb import` stores such lines in a database that is there.
      """)

  @OptionGroup var arguments: ImportArguments
  @Flag(help: "Of lines with one key the last one counts.") var replace = false
  @Option(help: "The longest line in bytes.") var longestLine = 64 << 20

  func validate() throws {
    if longestLine < 1 { throw ValidationError("--longest-line is at least 1.") }
  }

  func run() throws {
    try arguments.run { try LineSource(arguments.source, replaces: replace, longestLine: longestLine) }
  }
}

/// `quire-import csv`: comma-separated values.
struct CSV: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "csv",
    abstract: "Comma-separated values: a collection of records by the names in the first line. - is standard input.")

  @OptionGroup var arguments: ImportArguments
  @OptionGroup var map: MapArgument
  @Option(help: "The collection.") var collection: String
  @Option(help: "A column of the key; may be given several times. Without one the key is the record's number.")
  var key: [String] = []
  @Option(
    name: .customLong("type"),
    help: """
      COLUMN:TYPE of a column of no texts: integer, double, bool, date, uuid, bytes, decimal, “seconds since 1970” and \
      such. May be given several times.
      """)
  var types: [String] = []
  @Option(help: "What stands between two fields: a character of ASCII's, or tab.") var separator = ","

  func validate() throws { _ = try form() }

  private func form() throws -> CSVSource.Form {
    var form = CSVSource.Form()
    form.key = key
    for pair in types {
      guard let colon = pair.lastIndex(of: ":"),
        let type = FieldType(rawValue: String(pair[pair.index(after: colon)...]))
      else { throw ValidationError("“\(visible(pair))” is no COLUMN:TYPE.") }
      form.types.append((String(pair[..<colon]), type))
    }
    let bytes = Array((separator == "tab" ? "\t" : separator).utf8)
    guard bytes.count == 1, bytes[0] < 0x80, !"\"\r\n".utf8.contains(bytes[0]) else {
      throw ValidationError("--separator is one character of ASCII's, no quote and no end of a line.")
    }
    form.separator = bytes[0]
    return form
  }

  func run() throws {
    let form = try form()
    try arguments.run { try CSVSource(arguments.source, collection: collection, form: form, map: try map.read()) }
  }
}

/// `quire-import mdb`: dumps of LMDB's databases.
struct MDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mdb",
    abstract: "What mdb_dump writes of LMDB: a collection for each database, values as bytes. - is standard input.")

  @OptionGroup var arguments: ImportArguments
  @Option(help: "The collection of the database that has no name.") var collection = "main"
  @Flag(help: "Makes hexadecimal digits of all keys.") var hexKeys = false

  func run() throws {
    try arguments.run { try DumpSource(arguments.source, nameless: collection, hexKeys: hexKeys) }
  }
}

/// A map of names.
struct MapArgument: ParsableArguments {
  @Option(
    name: .customLong("map"),
    help: "A file of JSON that says what collections, keys and fields are called, and what columns hold.",
    completion: .file())
  var path: String?

  func read() throws -> ImportMap { try path.map { try ImportMap(at: $0) } ?? ImportMap() }
}

/// What all sources have in common.
struct ImportArguments: ParsableArguments {
  @Argument(help: "The file of the other store.", completion: .file()) var source: String
  @Argument(help: "The new database.", completion: .file()) var file: String
  @Flag(help: "Makes nothing: counts rows, and lists every row that does not fit.") var dryRun = false
  @Option(help: "A new file for rows that do not fit, which are passed over then.", completion: .file())
  var skipBad: String?
  @Flag(help: "The report as one JSON record.") var json = false
  @Flag(help: "Tells on standard error how far the work has come.") var progress = false

  func validate() throws {
    if dryRun, skipBad != nil { throw ValidationError("--dry-run lists what does not fit: leave out --skip-bad.") }
    if let skipBad, skipBad == file || skipBad.hasPrefix(file + "-log") {
      throw ValidationError("--skip-bad needs a name that is none of the new database's.")
    }
  }

  /// Imports what `open` gives, and tells what that has come to.
  func run(_ open: () throws -> any RowSource) throws { try run { RowBatches(try open()) } }

  /// The same of what stores its rows itself.
  func run(_ open: () throws -> any BatchSource) throws {
    // A reader that has gone is an error of writing, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let report: ImportReport
    do { report = try imported(try open()) } catch {
      complain(ImportError.reason(error))
      throw ExitCode.failure
    }
    if let stopped = report.stopped {
      complain("\(stopped)")
      complain("\(file) was not made. --dry-run lists all such rows, and --skip-bad passes over them.")
      throw ExitCode.failure
    }
    let lines = json ? [report.json(file: file, isDryRun: dryRun)] : report.lines(file: file, isDryRun: dryRun)
    do {
      try FileHandle.standardOutput.write(contentsOf: Data((lines.map(visible).joined(separator: "\n") + "\n").utf8))
    } catch {
      complain("the report could not be written\(dryRun ? "" : ", and \(file) was made"): \(ImportError.reason(error))")
      throw ExitCode.failure
    }
    if report.badCount > 0 { throw dryRun ? ExitCode.failure : ExitCode(2) }
  }

  private func imported(_ rows: any BatchSource) throws -> ImportReport {
    let bad = try skipBad.map { try BadRowFile(at: $0, besides: source) }
    let skip: ((BadRow) throws -> Void)? =
      dryRun ? { complain("\($0)") } : bad.map { file in { (row: BadRow) in try file.append(row) } }
    let importer = Importer(into: file, isDryRun: dryRun, skip: skip) { report in
      if progress { complain("\(report.rowCount) rows, \(report.byteCount >> 20) MiB") }
    } finish: {
      try bad?.close()
    }
    return try importer.run(rows)
  }
}

/// Writes a line to standard error.
private func complain(_ text: String) {
  try? FileHandle.standardError.write(contentsOf: Data("quire-import: \(visible(text))\n".utf8))
}
