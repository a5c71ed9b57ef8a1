// Threads that suspend, resume and close a database at once, and names of its file that are not its path.

import Dispatch
import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite("Suspending, resuming and closing at once", .serialized) struct SuspensionRaceTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("Closed while others resume it, it is closed when that returns, pins or not") func closing() throws {
    for round in 0..<TestSize.trials(200, divisor: 4) {
      let db = try folder.open()
      if round == 0 { try db.store("1", for: "k") }
      let pin = round % 3 == 0 ? try db.pin() : nil
      try db.suspendHere()
      if round % 5 == 0 {
        let other = try folder.open()
        try other.store("\(round)", for: "l")
        try other.close()
      }
      let closing = Shared<DatabaseError.Code?>(nil)
      let errors = Shared<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        if thread > 0 {
          let code = errorCode { try db.resumeHere() }
          if let code, code != .closed { errors.withLock { $0.append("resume: \(code)") } }
        } else {
          if round % 4 > 0 { usleep(UInt32(round * 37 % 1500)) }
          let code = errorCode { try db.close() }
          closing.withLock { $0 = code }
        }
      }
      #expect(errors.withLock { $0 } == [])
      if let code = closing.withLock({ $0 }) {
        // Its pin is alive, and so is the database.
        #expect(code == .inUse && pin != nil)
        #expect(try db.text("k") == "1")
        continue
      }
      #expect(errorCode { _ = try db.text("k") } == .closed, "round \(round)")
      #expect(errorCode { try db.resumeHere() } == .closed)
      // Nobody holds the file.
      let again = try folder.open()
      #expect(try again.text("k") == "1")
      try again.close()
      withExtendedLifetime(pin) {}
    }
  }

  private func closeInside(_ db: Database) throws {
    try db.write { tx throws in
      #expect(errorCode { try db.close() } == .nestedTransaction)
      try tx[.texts("t")].set("1", for: "k")
    }
  }

  @Test("An attempt to close inside a transaction changes nothing for those who follow")
  func closingInside() async throws {
    let db = try folder.open()
    let commits = db.commits
    try closeInside(db)
    var iterator = commits.makeAsyncIterator()
    #expect(try await iterator.next() != nil)
    try db.suspendHere()
    #expect(try !db.resumeHere())
    #expect(try db.text("k") == "1")
  }

  @Test("Observers of a database that was opened by a link wait for its resumption") func link() async throws {
    let link = folder.url.appendingPathComponent("link.quire").path
    try folder.open().close()
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
    let db = try Database(at: link)
    try db.store("1", for: "k")
    let results = db.observe { tx in try tx[.texts("t")].get("k") }
    try db.suspendHere()
    let consumer = Task { () -> String? in
      var iterator = results.makeAsyncIterator()
      return try await iterator.next() ?? nil
    }
    try await Task.sleep(for: .milliseconds(20))
    try db.resumeHere()
    #expect(try await consumer.value == "1")
  }
}
