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
      let pages = try compact(reporter)
      reporter.end()
      print("\(database.file): \(pages.before) pages before, \(pages.after) now")
    }
  }

  /// Compacts the files, or has the app do so that has them open.
  private func compact(_ reporter: ProgressReporter) throws -> (before: Int, after: Int) {
    if database.control == nil {
      do {
        let options = StorageOptions(maintainsWhenIdle: false, createsIfMissing: false)
        let engine = try StorageEngine(at: database.file, options: options)
        let before = engine.statistics.filePages
        try engine.compact { reporter.show($0) }
        let after = engine.statistics.filePages
        try engine.close()
        return (before, after)
      } catch let error where isOpenElsewhere(error) {}
    }
    let result = try database.app().run("compact") { reporter.show($0, $1, $2) }
    func count(_ name: String) -> Int { result[name]?.integer.flatMap { Int(exactly: $0) } ?? 0 }
    return (count("pages before"), count("pages"))
  }
}
