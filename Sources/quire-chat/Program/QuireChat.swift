// A small chat on Quire: rooms, unread counts, search, attachments, live updates, import and backup.

import ArgumentParser
import Foundation
import Quire

/// The chat as a program.
@main
struct QuireChat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-chat",
    abstract: "A chat server on Quire, to be looked at and to be started from.",
    discussion: "Open http://localhost:8080/ in two windows, and write.")

  @Option(help: "The folder with the database and the files; it is made.", completion: .directory)
  var folder = "chat"

  @Option(help: "The port, on this machine alone.")
  var port: UInt16 = 8080

  func run() async throws {
    #if Example
      do {
        let store = try await ChatStore(at: URL(fileURLWithPath: folder))
        try await ChatServer(store: store, hub: EventHub()).run(port: port)
      } catch let error as DatabaseError {
        throw ValidationError(error.description)
      }
    #else
      throw ValidationError("The web server is not built in: swift run --traits Example quire-chat")
    #endif
  }
}
