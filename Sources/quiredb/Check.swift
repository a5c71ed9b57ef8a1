// quiredb check: is everything as it must be?

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Checks all files of a database and prints what is wrong with them.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks every page, the log, and whatever else opening asks. Exits with 1 if anything is wrong.")

  @OptionGroup var database: DatabaseArgument
  @Option(help: "The number of defects to stop at.") var limit = 100
  @Flag(help: "The result as one JSON record.") var json = false
  @Flag(help: "Shows on standard error how far the check has come.") var progress = false

  func run() throws {
    let inspector = try database.inspect()
    // A checkpoint could replace pages under the check, and that would look like damage.
    if inspector.isInUse {
      complain("close the database first, or call verify() in the program that has it open.")
      throw ExitCode.failure
    }
    let reporter = ProgressReporter(isShown: progress)
    let defects = try describing {
      try inspector.check(defectLimit: limit) { pages in
        if pages % 4096 == 0 { reporter.show("\(pages) pages") }
      }
    }
    reporter.end()
    if json {
      let record: RowValue = [
        "file": .text(inspector.path), "defects": .list(defects.map { .text($0.description) }),
        "may have more": .bool(defects.count >= limit),
      ]
      print(record.json)
      if !defects.isEmpty { throw ExitCode.failure }
      return
    }
    for defect in defects { print(defect.description) }
    guard defects.isEmpty else {
      complain("\(defects.count) defects\(defects.count >= limit ? " or more" : "")")
      throw ExitCode.failure
    }
    print("\(inspector.path): no defects")
  }
}
