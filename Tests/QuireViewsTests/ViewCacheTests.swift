// Views over a database with a cache of objects.

import QuireDatabase
import QuireViews
import Testing

@Suite struct ViewCacheTests {
  /// An object that is told from its equals.
  private final class Note: Codable, Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private static let notes = RowCollection<Note, NoMetadata>("notes")

  @Test func rowsOfViewsAreFoundInTheCache() throws {
    let db = try Database.inMemory(options: Database.Options(objectCache: ObjectCacheOptions()))
    let view = AutoView("byText", over: Self.notes, group: { _ in "all" }, sortKey: { $0.text })
    try db.register(view)
    try db.write { tx throws in
      for number in 0..<9 { try tx[Self.notes].set(Note("note \(number)"), for: "k\(number)") }
    }
    let first = try db.read { tx in try tx.view(view).object(at: 4, in: "all") }
    #expect(first?.text == "note 4")
    let pin = try db.pin()
    try db.read { tx throws in
      #expect(try tx.view(view).object(at: 4, in: "all") === first)
      // By its key, it is the same.
      #expect(try tx[Self.notes].get("k4") === first)
      #expect(try tx.view(view).firstObject(in: "all") === tx[Self.notes].get("k0"))
    }
    try db.write { tx throws in
      try tx[Self.notes].set(Note("note 40"), for: "k4")
      try tx[Self.notes].remove("k0")
      #expect(try tx.view(view).object(at: 3, in: "all")?.text == "note 40")
    }
    for _ in 0..<2 {
      #expect(try db.read { tx in try tx.view(view).object(at: 3, in: "all")?.text } == "note 40")
      #expect(try pin.read { tx in try tx.view(view).object(at: 4, in: "all")?.text } == "note 4")
    }
    try db.checkInvariants()
  }
}
