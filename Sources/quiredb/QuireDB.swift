// The operators' tool: looking into databases, checking, copying and compacting them.

internal import ArgumentParser

/// `quiredb`: what an operator asks of a database file.
@main
struct QuireDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quiredb",
    abstract: "Looks into databases, checks, copies and compacts them.",
    subcommands: [
      Info.self, Check.self, Stats.self, Collections.self, Count.self, Get.self, Scan.self, Export.self,
      ListIndexes.self, Plan.self, Backup.self, Compact.self, Pages.self, Page.self, Log.self,
    ])
}
