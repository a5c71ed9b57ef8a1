// The command-line tool: looks into a database, checks it, and tortures the engine.

import ArgumentParser

/// `quiredb`, by its subcommands.
@main struct QuireDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quiredb",
    abstract: "Looks into a Quire database, checks it, and tortures the engine.",
    subcommands: [Torture.self])
}
