// An app and its extension, by the listings of “Coming from YapDatabase”.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite("App extensions") struct SharingTests {
  let folder: TestFolder
  let database: Database
  private let messages = RowCollection<Sharing.Message, NoMetadata>("messages")
  private var copy: URL { folder.url.appendingPathComponent("copy.quire") }

  init() throws {
    folder = try TestFolder()
    database = try folder.open()
  }

  private func write(_ text: String) throws {
    try database.write { tx in try tx[messages].set(Sharing.Message(text: text), for: "newest") }
  }

  @Test("The file that the app has open is refused, and the error says who has it") func theFileItself() throws {
    for isReadOnly in [true, false] {
      do {
        _ = try Database(at: folder.path, options: Database.Options(isReadOnly: isReadOnly))
        Issue.record("was opened")
      } catch {
        #expect(error.code == .alreadyOpen && "\(error)".contains("this process"))
      }
    }
  }

  @Test("An extension reads a copy beside the writer, and the next copy when it opens again") func copies() throws {
    try write("first")
    try Sharing.publish(database, to: copy)
    try write("second")
    #expect(try Sharing.newest(copy)?.text == "first")
    // One that is being read stays whole when another takes its place.
    let open = try Database(at: copy.path, options: Database.Options(isReadOnly: true))
    try Sharing.publish(database, to: copy)
    #expect(try open.read { tx in try tx[messages].get("newest")?.text } == "first")
    #expect(try Sharing.newest(copy)?.text == "second")
    try open.verify()
    try open.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.count == 36 } == [])
  }

  @Test("What extensions leave is taken in once, by the app that has the file open") func outboxes() throws {
    let outboxes = folder.url.appendingPathComponent("outboxes")
    try FileManager.default.createDirectory(at: outboxes, withIntermediateDirectories: true)
    for text in ["one", "two"] { try Sharing.leave(Sharing.Message(text: text), outboxes) }
    // What is still being built has another name.
    try Data([1]).write(to: outboxes.appendingPathComponent("\(UUID().uuidString)-new-0123456789abcdef"))
    try Sharing.collect(outboxes, database)
    try Sharing.collect(outboxes, database)
    let texts = try database.read { tx in tx[messages].rows.map(\.object.text).sorted() }
    #expect(texts == ["one", "two"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: outboxes.path).count == 1)
  }
}
