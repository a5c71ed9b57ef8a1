// Types that know where their rows are.

import QuireDatabase
import QuireTesting
import Testing

private struct Book: Persistable, Equatable {
  static let collection = RowCollection<Book, String>("books")
  var id: String
  var title: String
}

private struct Tag: Persistable, Equatable {
  static let collection = RowCollection<Tag, NoMetadata>("tags")
  var id: String
}

@Suite struct PersistableTests {
  private func metadata(_ db: Database) throws -> [String?] {
    try db.read { tx throws in try ["a", "b"].map { try tx[Book.collection].metadata($0) } }
  }

  @Test("Saving keeps the metadata that it was not given, in every form") func metadataStay() async throws {
    let db = try Database.inMemory()
    try synchronously {
      try db.write { tx throws in
        for id in ["a", "b"] { try Book(id: id, title: "old").save(metadata: "about \(id)", in: tx) }
      }
      var found = try #require(try Book.find("a", in: db))
      found.title = "new"
      try found.save(in: db)
      #expect(try metadata(db) == ["about a", "about b"])
      #expect(try Book.find("a", in: db)?.title == "new")
      try [Book(id: "a", title: "newer"), Book(id: "b", title: "newer")].save(in: db)
      #expect(try metadata(db) == ["about a", "about b"])
      try Book(id: "a", title: "given").save(metadata: "else", in: db)
      #expect(try metadata(db) == ["else", "about b"])
    }
    try await Book(id: "a", title: "newest").save(in: db)
    try await [Book(id: "b", title: "newest")].save(in: db)
    try synchronously {
      let (kept, titles) = (try metadata(db), try Book.all(in: db).map(\.title))
      #expect(kept == ["else", "about b"] && titles == ["newest", "newest"])
    }
  }

  @Test("A value without a row is stored without metadata, and so is one of a type that has none")
  func newRows() throws {
    let db = try Database.inMemory()
    try Book(id: "a", title: "new").save(in: db)
    #expect(try metadata(db) == [nil, nil])
    try Tag(id: "t").save(in: db)
    try Tag(id: "t").save(in: db)
    #expect(try Tag.all(in: db) == [Tag(id: "t")])
  }

  @Test("Two spellings of one letter are two ids") func spellings() throws {
    let db = try Database.inMemory()
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    try Tag(id: one).save(in: db)
    let parts = try Tag.partition([two, one], in: db)
    #expect(parts.found.map { Array($0.id.utf8) } == [Array(one.utf8)])
    #expect(parts.missing.map { Array($0.utf8) } == [Array(two.utf8)])
    let others = try Tag.partition([one, two], in: db)
    #expect(others.found.count == 1 && others.missing.count == 1)
  }

  private func synchronously(_ body: () throws -> Void) throws { try body() }
}
