// What the server of the recipe answers.

import Foundation
import Hummingbird
import HummingbirdTesting
import Quire
import Testing

@testable import LetterServer

@Suite("The recipe's server") struct LetterServerTests {
  private let letter = Letter(box: "in", subject: "Hello", date: Date(timeIntervalSince1970: 1_700_000_000))

  private func encoded() throws -> ByteBuffer {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    return ByteBuffer(bytes: try encoder.encode(letter))
  }

  private func openedDatabase() async throws -> Database {
    let db = try Database.inMemory()
    try await db.register(MailViews.boxes)
    try await db.register(MailViews.unread)
    return db
  }

  @Test("Letters are stored, and found again") func letters() async throws {
    let db = try await openedDatabase()
    let body = try encoded()
    try await Application(router: LetterServer(db: db).router()).test(.router) { client in
      try await client.execute(uri: "/letters/l1", method: .get) { response in #expect(response.status == .notFound) }
      try await client.execute(uri: "/letters/l1", method: .put, body: body) { response in
        #expect(response.status == .noContent)
      }
      try await client.execute(uri: "/letters/l1", method: .put, body: ByteBuffer(string: "{")) { response in
        #expect(response.status == .badRequest)
      }
      try await client.execute(uri: "/letters/l1", method: .get) { response in
        #expect(response.status == .ok)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let found = try decoder.decode(Letter.self, from: Data(response.body.readableBytesView))
        #expect(found == letter)
      }
    }
    #expect(try await db.read { tx in try tx[.letters].get("l1") } == letter)
  }

  @Test("Numbers of unread letters are sent as they change, until the database is closed") func events() async throws {
    let db = try await openedDatabase()
    let responder = LetterServer(db: db).router().buildResponder()
    // Stores a letter when the first number is sent, and closes the database when the second one is.
    let acting = CallbackResponder<BasicRequestContext> { request, context in
      var response = try await responder.respond(to: request, context: context)
      response.body = response.body.map { [letter] event in
        switch String(buffer: event) {
        case "data: 0\n\n": try await db.write { tx in try tx[.letters].set(letter, for: "l1") }
        default: try close(db)
        }
        return event
      }
      return response
    }
    try await Application(responder: acting).test(.router) { client in
      try await client.execute(uri: "/unread/in", method: .get) { response in
        #expect(response.headers[.contentType] == "text/event-stream")
        #expect(String(buffer: response.body) == "data: 0\n\ndata: 1\n\n")
      }
    }
  }
}

/// Closes a database in an async function, as tests may.
private func close(_ db: Database) throws { try db.close() }
