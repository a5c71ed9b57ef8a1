// The command-line tool: looks into a database and checks it.

import ArgumentParser

/// The root of all subcommands.
@main struct QuireDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quiredb",
    abstract: "Looks into a Quire database and checks it. No subcommand changes a file that it is given to look at.",
    subcommands: [Info.self, Check.self, Pages.self, Page.self, Log.self])
}
