// quiredb compact: makes the file of a database that is not open as short as it can be.

import ArgumentParser
import QuireStorage

/// Shrinks a database file in place.
struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes the file of a database as short as its content allows. May be interrupted at any time.")

  @OptionGroup var database: DatabaseArgument
  @Flag(help: "Shows on standard error how far the work has come.") var progress = false

  func run() throws {
    let reporter = ProgressReporter(isShown: progress)
    try describing {
      let engine = try database.open()
      let before = engine.statistics.filePages
      try engine.compact { reporter.show($0) }
      reporter.end()
      let after = engine.statistics.filePages
      try engine.close()
      print("\(database.file): \(before) pages before, \(after) now")
    }
  }
}
