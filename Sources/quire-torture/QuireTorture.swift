// The developers' tool: torments the engine on simulated and on real disks, and measures what long work costs.

internal import ArgumentParser

/// `quire-torture`: what a sceptic asks of the engine. Everything here works on databases of its own.
@main
struct QuireTorture: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-torture",
    abstract: "Torments the engine with crashes, damage, kills and scarce resources, and says what was lost.",
    subcommands: [
      Crashes.self, RowTorture.self, Rot.self, Fixtures.self, Memory.self, Recovery.self, SmallDisk.self, Soak.self,
      Register.self, Suspensions.self,
      Views.self, Cascade.self, Footprints.self, KillChild.self, ScarceChild.self, FailingCalls.self, FailingChild.self,
      PowerCuts.self, RecordedChild.self,
    ],
    defaultSubcommand: Crashes.self)
}
