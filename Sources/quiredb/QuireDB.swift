// The command-line tool: looking into databases, and torturing the engine.

internal import ArgumentParser

/// `quiredb`: what an operator and a sceptic ask of a database file.
@main
struct QuireDB: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quiredb",
    abstract: "Looks into databases, copies and compacts them, and torments the engine that writes them.",
    subcommands: [
      Info.self, Check.self, Stats.self, Backup.self, Compact.self, Pages.self, Page.self, Log.self, Torture.self,
      Rot.self, Fixtures.self, Memory.self, Recovery.self, SmallDisk.self, Soak.self, Register.self, Views.self,
      Cascade.self, KillChild.self, ScarceChild.self,
    ])
}
