// The operators' tool: looking into databases, checking, copying and compacting them.

internal import ArgumentParser
internal import QuireDatabase
internal import QuireStorage

/// `quiredb`: what an operator asks of a database file.
@main
struct QuireDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quiredb",
    abstract: "Looks into databases, checks, copies and compacts them.",
    discussion: """
      Exit codes: 0, done; 1, there is a defect, or a row or a collection that was asked for is not there, or \
      something went wrong, which standard error tells; 2, an import is done and has passed over lines, or a salvage \
      is done and something is lost; 64, the command line is none.
      """,
    version: "unreleased, file format \(MetaPage.formatVersion)",
    subcommands: [
      Info.self, Check.self, Stats.self, Collections.self, Count.self, Get.self, Scan.self, Export.self, Import.self,
      Extensions.self, Views.self, Edges.self, Feed.self, ListIndexes.self, Plan.self, Backup.self, Checkpoint.self,
      Compact.self, Salvage.self, Pages.self, Page.self, Log.self,
    ])
  /// Runs the subcommand that the command line names.
  static func main() {
    StandardStreams.occupy()
    if let malformed = ProgramArguments.malformed() {
      complain("“\(visible(malformed))” is no UTF-8, and would name another file. Rename the file, or use a link.")
      exit(withError: ExitCode.validationFailure)
    }
    main(nil)
  }
}
