// Putting several runs of the table of growth together.

internal import ArgumentParser
internal import Foundation

/// Makes one table and one set of curves of several runs.
struct GrowthMerge: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "growth-merge",
    abstract: "Makes one table of growth of the JSON of several runs: on one machine, of the same versions.")

  @Argument(help: "What --json of growth has written.")
  var reports: [String]
  @OptionGroup var files: GrowthFiles

  func run() throws {
    let whole = try GrowthReport.merging(
      reports.map { try JSONDecoder().decode(GrowthReport.self, from: Data(contentsOf: URL(fileURLWithPath: $0))) })
    try files.write(whole)
    if files.markdown == nil { print(whole.markdown) }
  }
}
