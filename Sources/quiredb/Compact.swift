// quiredb compact: makes the file of a database as short as it can be.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Shrinks a database file in place.
struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes the file of a database as short as its content allows. May be interrupted at any time.",
    discussion: "If an app has the database open, and a control socket, the app does it.")

  @OptionGroup var database: LiveArgument
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    try describing {
      let pages: (before: Int, after: Int) = try database.work { engine in
        let before = engine.statistics.filePages
        try engine.compact { reporter.show($0) }
        return (before, engine.statistics.filePages)
      } inApp: { app in
        let result = try app.run("compact") { reporter.show($0, $1, $2) }
        return (LiveArgument.number(result["pages before"]), LiveArgument.number(result["pages"]))
      }
      reporter.end()
      print("\(database.file): \(pages.before) pages before, \(pages.after) now")
    }
  }
}
