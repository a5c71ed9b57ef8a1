// quiredb check: is everything as it must be?

import ArgumentParser
import QuireStorage

/// Checks all files of a database and prints what is wrong with them.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks every page, the log, and whatever else opening asks. Exits with 1 if anything is wrong.")

  @OptionGroup var database: DatabaseArgument
  @Option(help: "The number of defects to stop at.") var limit = 100
  @Flag(help: "Shows on standard error how far the check has come.") var progress = false

  func run() throws {
    let inspector = try database.inspect()
    // A checkpoint could replace pages under the check, and that would look like damage.
    if inspector.isInUse {
      complain("close the database first, or call verify() in the program that has it open.")
      throw ExitCode.failure
    }
    let showsProgress = progress
    let defects = try describing {
      try inspector.check(defectLimit: limit) { pages in
        if showsProgress, pages % 4096 == 0 { complain("\(pages) pages") }
      }
    }
    for defect in defects { print(defect.description) }
    guard defects.isEmpty else {
      complain("\(defects.count) defects\(defects.count >= limit ? " or more" : "")")
      throw ExitCode.failure
    }
    print("\(inspector.path): no defects")
  }
}
