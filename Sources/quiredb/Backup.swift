// quiredb backup: a compact copy of a database.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Copies a database to a new file.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copies a database, compactly, to a new file, and verifies the copy. Changes nothing else.",
    discussion: """
      Nothing that exists is overwritten, and what is at the new path is always complete. A database that an app has \
      open is copied as of a checkpoint, which the app holds if it has a control socket; without one, call \
      backup(to:) there.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The new file.", completion: .file()) var copy: String
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    try describing {
      let (engine, app) = try database.openEngine()
      let backup: StorageBackup
      if let app {
        backup = try copied(engine, heldBy: app, reporter)
      } else {
        backup = try engine.backup(to: copy) { reporter.show($0) }
      }
      reporter.end()
      print("\(copy): \(backup.csn), \(backup.entries) entries, \(backup.byteCount) bytes, id \(backup.databaseID)")
      try engine.close()
    }
  }
  /// Copies what an app holds to a name of its own, which becomes `copy` when the app says that it held it to the end.
  private func copied(
    _ engine: StorageEngine, heldBy app: ControlClient, _ reporter: ProgressReporter
  ) throws -> StorageBackup {
    let made = NewDatabaseFile(for: copy)
    do {
      if let taken = made.takenName { throw FileError("\(taken) is there already, and nothing is overwritten.") }
      let backup: StorageBackup
      do { backup = try engine.backup(to: made.temporaryPath) { reporter.show($0) } } catch { throw reason(error, app) }
      try app.confirm()
      try made.publish(since: "the copy")
      return backup
    } catch {
      made.remove()
      throw error
    }
  }
}
