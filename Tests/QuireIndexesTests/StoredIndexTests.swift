// What the file tells of indexes without the types of the rows.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite struct StoredIndexTests {
  /// A file with rows and, if there are any, indexes of these numbers.
  private func makeDatabase(_ path: String, _ indexes: [Int]) throws {
    let db = try Database(at: path)
    var random = SeededRandom(seed: 1)
    try db.write { tx in
      for number in 0..<300 { try tx[.tracks].set(random.track(), metadata: Plays(count: number), for: "k\(number)") }
    }
    if !indexes.isEmpty { try db.register(Indexes.tracks(indexes)) }
    try db.close()
  }

  @Test func indexesAreListedWithTheirDeclarations() throws {
    let folder = try TemporaryFolder()
    try makeDatabase(folder.path("db"), [0, 3, 4, 7, 9])
    let db = try Database(at: folder.path("db"), options: .init(isReadOnly: true))
    let lists = try db.read { tx in try tx.storedIndexes() }
    let list = try #require(lists.first)
    #expect(lists.count == 1 && list.collection == "tracks" && list.rowCount == 300)
    #expect(list.status.state == .ready && !list.status.isRegistered)
    #expect(list.indexes.map(\.name) == ["title", "year-rating", "tags", "plays", "recent"])
    let declarations = [
      "title: String", "year: Int, rating: Optional<Double> descending", "tags: each of Array<String>",
      "count: Int of metadata", "added: Date, some rows",
    ]
    #expect(list.indexes.map(\.declaration) == declarations)
    #expect(list.indexes.allSatisfy(\.isReady) && list.indexes[0].entryCount == 300)
    try db.close()
  }

  @Test func aCatalogWithoutDeclarationsGetsThem() throws {
    let db = try Database.inMemory()
    try db.register(Indexes.tracks([0]))
    // As form 1 has it: without the text at the end.
    let summary = "title: String"
    try db.write { tx in
      let upkeep = try tx.access(to: Indexes.tracks([0])).upkeep
      var bytes = upkeep.catalog.bytes
      bytes[0] = 1
      bytes.removeLast(summary.utf8.count + 1)
      #expect(IndexCatalog(bytes)?.entries.map(\.summary) == [""])
      try upkeep.store.set(bytes, for: IndexTrees.catalogName)
    }
    #expect(try db.read { tx in try tx.storedIndexes() }.first?.indexes.map(\.declaration) == [""])
    var random = SeededRandom(seed: 2)
    try db.write { tx in try tx[.tracks].set(random.track(), for: "a") }
    #expect(try db.read { tx in try tx.storedIndexes() }.first?.indexes.map(\.declaration) == [summary])
    try db.close()
  }

  #if os(Linux)
    @Test func theToolListsIndexes() throws {
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try makeDatabase(path, [0, 2])
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let result = try #require(runQuireDB(["indexes", path]))
      #expect(result.status == 0)
      #expect(
        result.output == """
          tracks.indexes  of “tracks”, version “1”
               entries  index
                   300  the columns of each row
                   300  title  title: String
                   300  rating  rating: Optional<Double> descending

          """)
      let pages = try #require(runQuireDB(["indexes", path, "--pages"]))
      #expect(pages.output.contains("entries       pages  index"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func theToolSaysWhatThereIsNot() throws {
      let folder = try TemporaryFolder()
      try makeDatabase(folder.path("db"), [])
      #expect(runQuireDB(["indexes", folder.path("db")])?.output == "no indexes\n")
      let missing = try #require(runQuireDB(["indexes", folder.path("none")]))
      #expect(missing.status == 1 && missing.output.contains("quiredb: "))
    }

    @Test func theToolTellsWhatIsBeingBuilt() throws {
      struct Stop: Error {}
      let folder = try TemporaryFolder()
      let path = folder.path("db")
      try makeDatabase(path, [0])
      let db = try Database(at: path)
      #expect(throws: Stop.self) {
        try db.register(Indexes.tracks([0, 1])) { _ in throw Stop() }
      }
      try db.close()
      let output = try #require(runQuireDB(["indexes", path])).output
      #expect(output.contains("0  year  year: Int  (being built)"))
      #expect(output.contains("300  title  title: String\n"))
    }
  #endif
}
