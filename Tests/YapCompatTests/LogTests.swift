// What goes to the log, which all databases of a process share: one test at a time, each looking for its own messages.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite(.serialized) struct LogTests {
  let fixture: YapFixture
  let connection: YapDatabaseConnection
  let log = Recorder()

  init() throws {
    fixture = try YapFixture()
    connection = fixture.connection
  }

  /// Runs `body` while the messages that contain `mark` are collected.
  private func collecting(_ mark: String, _ body: () async throws -> Void) async rethrows {
    let log = log
    YapDatabase.setLogHandler { message in
      if message.message.contains(mark) { log.append("\(message.level)") }
    }
    defer { YapDatabase.setLogHandler(nil) }
    try await body()
  }

  @Test func errorsThatNobodyTakesAreLogged() async throws {
    let done = Gate()
    await collecting(fixture.database.databasePath) {
      fixture.database.onError = nil
      connection.permittedTransactions = .anySyncTransaction
      connection.asyncRead({ _ in }, completionQueue: .global()) { done.open() }
      await done.wait()
    }
    #expect(log.values == ["error"])
  }

  @Test func aWriteThatEndsALongLivedReadIsLogged() async throws {
    let name = "screen of \(UUID().uuidString)"
    try await collecting(name) {
      connection.name = name
      try connection.beginLongLivedReadTransaction()
      connection.disableExceptionsForImplicitlyEndingLongLivedReadTransaction()
      try connection.readWrite { $0.setObject("v", forKey: "key", inCollection: nil) }
    }
    #expect(log.values == ["warning"] && !connection.isInLongLivedReadTransaction())
  }

  @Test func whatAnIndexCannotTakeOrAnswerIsLogged() async throws {
    let name = "index of \(UUID().uuidString)"
    try await collecting(name) {
      let setup = YapDatabaseSecondaryIndexSetup()
      for column in ["good", "bad"] { setup.addColumn(column, with: .integer) }
      let handler = YapDatabaseSecondaryIndexHandler.withKeyBlock { _, dict, _, _ in
        dict["good"] = 1
        dict["bad"] = URL(fileURLWithPath: "/")
      }
      let index = YapDatabaseSecondaryIndex(setup: setup, handler: handler)
      #expect(fixture.database.register(index, withName: name))
      try connection.readWrite { $0.setObject("v", forKey: "key", inCollection: nil) }
      #expect(log.values == ["warning"])
      try connection.read { transaction in
        let index = try #require(transaction.ext(name) as? YapDatabaseSecondaryIndexTransaction)
        #expect(index.numberOfRows(matching: YapDatabaseQuery(string: "WHERE bad IS NULL AND good = 1")) == 1)
        #expect(index.numberOfRows(matching: YapDatabaseQuery(string: "WHERE worse = 1")) == nil)
      }
    }
    #expect(log.values == ["warning", "error"])
  }
}
