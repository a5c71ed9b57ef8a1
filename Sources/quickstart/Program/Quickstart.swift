// The quickstart: real data, start to finish, in a few seconds.

import ArgumentParser
import Foundation
import Quire

/// Imports a package index of Debian and shows what Quire does with it, chapter by chapter.
@main
struct Quickstart: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quickstart",
    abstract: "A tour of Quire on real data: the packages of a Debian index.",
    discussion: """
      Any uncompressed Packages file will do. For all packages of your own machine's archives:

        apt-cache dumpavail > /tmp/all-packages.txt
        swift run -c release quickstart /tmp/all-packages.txt
      """)

  @Argument(help: "The package index.", completion: .file())
  var file = "Fixtures/debian-packages.txt"

  @Option(help: "Where to make the database, which is then kept; otherwise it goes with the tour.", completion: .file())
  var database: String?

  /// The path that a child process commits to until it is killed; see `Surviving.swift`.
  @Option(help: .hidden)
  var victim: String?

  func run() async throws {
    do {
      if let victim { return try Victim.run(at: victim) }
      try await Tour(index: file, database: database).run()
    } catch {
      Screen.complain(Self.describe(error))
      throw ExitCode.failure
    }
  }

  /// An error as one line for people.
  static func describe(_ error: any Error) -> String {
    switch error {
    case let error as DatabaseError: error.description
    case let error as TourError: error.description
    case let error as ControlError: error.description
    case let error as CocoaError: error.localizedDescription
    default: String(describing: error)
    }
  }
}
