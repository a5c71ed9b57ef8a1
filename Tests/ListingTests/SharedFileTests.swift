// What “Several processes” says: a copy beside the writer, a database for each direction, and handing the file over.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite("Files that several processes use") struct SharedFileTests {
  private struct Message: Codable, Sendable { var text: String }

  private static let messages = RowCollection<Message, NoMetadata>("messages")
  private let folder: TestFolder
  private var path: String { folder.url.appendingPathComponent("app.quire").path }
  private var copy: String { folder.url.appendingPathComponent("shared.quire").path }

  init() throws { folder = try TestFolder() }

  private func set(_ texts: String..., in db: Database) throws {
    try db.write { tx in for text in texts { try tx[Self.messages].set(Message(text: text), for: text) } }
  }

  private func texts(_ db: Database) throws -> [String] { try db.read { tx in Array(tx[Self.messages].keys) } }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  @Test("A copy is read beside the writer, and replaced under its readers") func copies() throws {
    let db = try Database(at: path)
    try set("a", in: db)
    try publish(db, to: copy)
    let first = try openCopy(copy)
    try set("b", in: db)
    try publish(db, to: copy)
    let (second, third) = (try openCopy(copy), try openCopy(copy))
    #expect(try texts(first) == ["a"] && texts(second) == ["a", "b"] && texts(third) == ["a", "b"])
    #expect(code { try self.set("c", in: second) } == .readOnly)
    // The file itself is the writer's.
    #expect(code { _ = try Database(at: self.path, options: .init(isReadOnly: true)) } == .alreadyOpen)
    #expect(code { _ = try Database(at: self.path) } == .alreadyOpen)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(left.filter { $0.hasPrefix("shared") } == ["shared.quire"], "\(left)")
    // No room for the copy: the last one stays.
    #expect(throws: (any Error).self) { try publish(db, to: self.folder.url.path + "/none/x.quire") }
    #expect(try texts(openCopy(copy)) == ["a", "b"])
  }

  @Test("Rows are taken over from a database of the other process") func takingOver() throws {
    let db = try Database(at: path)
    let inbox = folder.url.appendingPathComponent("inbox.quire").path
    let other = try Database(at: inbox)
    try set("x", "y", in: other)
    #expect(code { _ = try takeOver(Self.messages, from: inbox, into: db) } == .alreadyOpen)
    try other.close()
    #expect(try takeOver(Self.messages, from: inbox, into: db) == 2)
    #expect(try texts(db) == ["x", "y"])
    #expect(try takeOver(Self.messages, from: inbox, into: db) == 0)
  }

  @Test("A socket is open as long as the database") func openingForOperators() throws {
    let (db, control) = try openForOperators(path)
    #expect(control.path == "\(path)-control" && FileManager.default.fileExists(atPath: control.path))
    try db.close()
    #expect(!FileManager.default.fileExists(atPath: control.path))
  }

  @Test("A database is handed over by closing it") func handingOver() throws {
    for round in 0..<6 {
      let db = try Database(at: path)
      do {
        let pin = try db.pin()
        #expect(code { try db.close() } == .inUse)
        #expect(try pin.read { tx in tx[Self.messages].count } == round)
      }
      try set("\(round)", in: db)
      try db.close()
      #expect(code { try self.set("late", in: db) } == .closed)
    }
  }
}
