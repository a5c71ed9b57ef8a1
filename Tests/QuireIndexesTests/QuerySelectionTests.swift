// Queries as selections: in search views, and in conditions of other queries.

import QuireDatabase
import QuireIndexes
import QuireTesting
import QuireViews
import Testing

@Suite struct QuerySelectionTests {
  struct Song: Codable, Sendable, Equatable {
    var title: String
    var year: Int
  }
  typealias Songs = RowCollection<Song, NoMetadata>

  private let songs = Songs("songs")
  private let found = SearchView<Song, NoMetadata>(
    "found", over: [Songs("songs")], grouping: .all(), sorting: .byObject { $0.title })

  private func database(isIndexed: Bool) throws -> Database {
    let db = try Database.inMemory()
    if isIndexed {
      try db.register(Indexes("songs.indexes", over: songs, version: "1") { Index("year", \Song.year) })
    }
    try db.register(found)
    try store(db, 0..<40)
    return db
  }

  private func store(_ db: Database, _ numbers: Range<Int>) throws {
    try db.write { tx throws in
      for number in numbers { try tx[songs].set(Song(title: "t\(number)", year: number % 10), for: "k\(number)") }
    }
  }

  private func search(_ db: Database, _ query: RowQuery<Song, NoMetadata>) throws {
    try db.write { tx throws in try tx.access(to: found).search(query) }
  }

  /// The view shows what the query finds now.
  private func expect(
    _ db: Database, _ query: RowQuery<Song, NoMetadata>, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try db.read { tx throws in
      let (shown, wanted) = (try tx.view(found).rows(in: "").map(\.row.key), try tx.find(query).keys)
      #expect(shown.sorted() == wanted.sorted() && !wanted.isEmpty, sourceLocation: sourceLocation)
      #expect(try tx.view(found).shownSearch?.name == "query of “songs”", sourceLocation: sourceLocation)
    }
  }

  private func expectFollowed(_ db: Database, _ query: RowQuery<Song, NoMetadata>) throws {
    try search(db, query)
    try expect(db, query)
    try store(db, 40..<55)
    try expect(db, query)
    try db.write { tx throws in
      try tx[songs].set(Song(title: "other", year: 0), for: "k3")
      try tx[songs].set(Song(title: "other", year: 3), for: "k0")
      try tx[songs].remove("k13")
      try tx[songs].remove("k1")
    }
    try expect(db, query)
  }

  @Test(arguments: [true, false]) func aSearchViewFollowsAQuery(_ isIndexed: Bool) throws {
    let query = songs.query { $0.year == 3 || $0.title.hasPrefix("t2") }
    #expect(!query.dependsOnOtherRows)
    try expectFollowed(database(isIndexed: isIndexed), query)
  }

  @Test(arguments: [true, false]) func aLimitMakesRowsDependOnOthers(_ isIndexed: Bool) throws {
    for query in [songs.query { $0.year >= 2 }.order(by: \.year).limit(5), songs.query { $0.year <= 3 }.offset(4)] {
      #expect(query.dependsOnOtherRows)
      try expectFollowed(database(isIndexed: isIndexed), query)
    }
  }

  @Test func aQueryDependsOnOtherRowsWithItsParts() throws {
    let limited = songs.query().limit(3)
    let parts: [Condition<Song, NoMetadata>] = [
      .rows(limited), .rows(songs.query(.rows(limited))), .rows("all") { tx in try tx[songs].rowIDs },
    ]
    for part in parts {
      #expect(songs.query { $0.year > 3 && part }.dependsOnOtherRows)
      #expect(songs.query { !($0.year > 3 || part) }.dependsOnOtherRows)
    }
    #expect(!songs.query(.rows(songs.query { $0.year > 3 })).dependsOnOtherRows)
    try expectFollowed(
      database(isIndexed: true),
      songs.query {
        $0.year >= 0
          && .rows("third") { tx in
            try tx[songs].rowIDs.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
          }
      })
  }

  @Test(arguments: [true, false]) func aQueryIsAPartOfAnother(_ isIndexed: Bool) throws {
    let db = try database(isIndexed: isIndexed)
    let first = songs.query().order(by: \.year).limit(8)
    try db.read { tx throws in
      let keys = try tx[songs].find { $0.title.hasPrefix("t1") && .rows(first) }.keys
      let wanted = try tx.find(first).keys.filter { $0.hasPrefix("k1") }
      #expect(keys.sorted() == wanted.sorted() && !keys.isEmpty)
    }
  }
}
