// What errors of the object layer say.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct MessageTests {
  private func failure(_ body: () throws -> Void) -> DatabaseError? {
    do { try body() } catch { return error as? DatabaseError }
    return nil
  }

  @Test("What the engine says is said once, with all that it knows of the place")
  func causesAreNotRepeated() throws {
    let folder = try TestFolder()
    let error = try #require(failure { _ = try Database(at: folder.url.path + "/nowhere/a.quire") })
    let text = error.description
    #expect(text.ranges(of: error.message).count == 1, "\(text)")
    #expect(text.ranges(of: "/nowhere/a.quire").count == 1, "\(text)")
    #expect(text.contains("ENOENT"), "\(text)")
    let engine = StorageError(
      .damagedPage, "A page is damaged. Restore a backup.", path: "/db", page: PageNumber(17), lsn: LSN(40),
      offset: 4096)
    let whole = DatabaseError(engine, collection: "songs", key: "k").description
    for (piece, count) in [
      ("A page is damaged", 1), ("/db", 1), (PageNumber(17).description, 1), ("4096", 1), ("songs", 1),
    ] {
      #expect(whole.ranges(of: piece).count == count, "\(whole)")
    }
  }

  @Test("Keys and names of thousands of bytes are shortened in messages, with their length")
  func longKeys() throws {
    let key = String(repeating: "kö", count: 2500)
    let database = try SimulatedDisk().openDatabase(seed: 1, Database.Options())
    let error = try #require(
      failure { try database.write { tx in try tx[.texts("songs")].set("", metadata: "", for: key) } })
    #expect(error.code == .keyTooLong && error.key == key)
    #expect(error.description.utf8.count < 500 && error.description.contains("7500 bytes"), "\(error)")
    let name = String(repeating: "n", count: 3000)
    let second = try #require(
      failure { try database.write { tx in try tx[.texts(name)].set("", metadata: "", for: "k") } })
    #expect(second.description.utf8.count < 500 && second.description.contains("3000 bytes"), "\(second)")
    let short = DatabaseError(.damagedRow, "A row.", collection: "songs", key: "let it be")
    #expect(short.description == "damagedRow: A row. [collection “songs”, key “let it be”]")
    try database.close()
  }

  @Test("Errors of databases in memory name no file, and no empty place")
  func inMemory() throws {
    let database = try Database.inMemory()
    let key = try #require(
      failure {
        try database.write { tx in
          try tx[.texts("songs")].set("", metadata: "", for: String(repeating: "k", count: 9999))
        }
      })
    #expect(key.path == nil && !key.description.contains("[,"), "\(key)")
    try database.close()
    let closed = try #require(failure { try database.read { _ in } })
    #expect(closed.code == .closed && !closed.description.contains("[]"), "\(closed)")
  }
}
