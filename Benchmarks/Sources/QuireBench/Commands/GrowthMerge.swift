// Putting several runs of the table of growth together.

internal import ArgumentParser
internal import Foundation

/// Makes one table and one set of curves of several runs.
struct GrowthMerge: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "growth-merge",
    abstract: "Makes one table of growth of the JSON of several runs: on one machine, of the same versions.")

  @Argument(help: "What --json of growth has written.")
  var files: [String]
  @Option(help: "Writes all figures to this file as JSON.")
  var json: String?
  @Option(help: "Writes the tables to this file as Markdown; prints them if absent.")
  var markdown: String?
  @Option(help: "Writes curves into this folder, one SVG for each size of cache.")
  var plots: String?

  func run() throws {
    let reports = try files.map { file in
      try JSONDecoder().decode(GrowthReport.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }
    let whole = try GrowthReport.merging(reports)
    if let json { try whole.json().write(to: URL(fileURLWithPath: json)) }
    if let plots { try whole.writePlots(to: plots) }
    if let markdown {
      try whole.markdown.write(toFile: markdown, atomically: true, encoding: .utf8)
    } else {
      print(whole.markdown)
    }
  }
}
