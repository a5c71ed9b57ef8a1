// quiredb backup: a compact copy of a database that is not open.

import ArgumentParser
import QuireStorage

/// Copies a database to a new file.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copies a database, compactly, to a new file, and verifies the copy.",
    discussion: """
      Nothing that exists is overwritten, and what is at the new path is always complete. To copy a database that a \
      program has open, call backup(to:) there.
      """)

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The new file.", completion: .file()) var copy: String
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    try describing {
      let engine = try database.open()
      let backup = try engine.backup(to: copy) { reporter.show($0) }
      reporter.end()
      print("\(copy): \(backup.csn), \(backup.entries) entries, \(backup.byteCount) bytes, id \(backup.databaseID)")
      try engine.close()
    }
  }
}
