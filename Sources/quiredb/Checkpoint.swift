// quiredb checkpoint: brings what is in the log home.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// Writes what stands only in the log into the data file.
struct Checkpoint: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes what is in the log of a database into its data file.",
    discussion: """
      Recovers the database if its app did not close it, as opening it would. If an app has it open, and a control \
      socket, the app does it.
      """)

  @OptionGroup var database: LiveArgument

  func run() throws {
    let commit = try describing {
      try database.work { engine in
        try engine.checkpoint()
        return Int(clamping: engine.statistics.publishedCSN.rawValue)
      } inApp: { app in
        try LiveArgument.number(app.run("checkpoint")["commit"])
      }
    }
    print("\(database.file): commit \(commit) is in the data file")
  }
}
