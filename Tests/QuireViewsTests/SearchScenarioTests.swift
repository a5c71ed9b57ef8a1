// A list of sentences that is searched for words, as an app does it, and reads of it that are repeated.

import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@testable import QuireViews

@Suite struct SearchScenarioTests {
  /// Sentences that have some words.
  private struct Words: RowSelection {
    let storedForm: String?
    var name: String { "words “\(storedForm ?? "")”" }

    init(_ text: String) { storedForm = text }

    func rows(in tx: ReadTransaction) throws -> any SelectedRows {
      Sentences(Set((storedForm ?? "").split(separator: " ")), tx)
    }
  }

  private final class Sentences: SelectedRows {
    let words: Set<Substring>
    let tx: ReadTransaction

    init(_ words: Set<Substring>, _ tx: ReadTransaction) { (self.words, self.tx) = (words, tx) }

    var description: String { "sentences" }
    func cost(upTo limit: Int) -> Int? { 0 }

    private func isFound(_ sentence: String) -> Bool { words.isSubset(of: sentence.split(separator: " ")) }

    func rowIDs() throws -> [RowID] { tx[.sentences].rows.filter { isFound($0.object) }.map(\.rowID) }

    func filter(_ rowIDs: [RowID]) throws -> [RowID] {
      try tx[.sentences].rows(withIDs: rowIDs).filter { isFound($0.object) }.map(\.rowID)
    }
  }

  typealias Search = SearchView<String, NoMetadata>

  private static let order = AutoView<String, NoMetadata>(
    "order", over: [.sentences], grouping: .all(), sorting: .byKey())

  private func search(_ isParent: Bool, _ isPersistent: Bool) -> Search {
    isParent
      ? Search("found", of: Self.order, isPersistent: isPersistent)
      : Search("found", over: [.sentences], isPersistent: isPersistent, grouping: .all(), sorting: .byKey())
  }

  private func database(_ search: Search) throws -> Database {
    let db = try Database.inMemory()
    try db.register(Self.order)
    try db.register(search)
    try db.write { tx throws in
      let sentences = [
        "take the last train", "the night is all you have", "nothing here", "older trains", "where you and the sea are",
        "no word of it", "and then it was over",
      ]
      for (number, sentence) in sentences.enumerated() { try tx[.sentences].set(sentence, for: "\(number)") }
    }
    return db
  }

  @Test(arguments: [true, false], [true, false])
  func sentencesAreSearchedForWords(_ isParent: Bool, _ isPersistent: Bool) throws {
    let search = search(isParent, isPersistent)
    let db = try database(search)
    let connections = [db.makeConnection(), db.makeConnection()]
    func expect(_ keys: [String], _ text: String?, sourceLocation: SourceLocation = #_sourceLocation) throws {
      for connection in connections {
        try connection.read { tx throws in
          let view = try tx.view(search)
          #expect(view.rows(in: "").map(\.row.key) == keys, sourceLocation: sourceLocation)
          #expect(try view.shownSearch?.storedForm == text, sourceLocation: sourceLocation)
        }
      }
    }
    try expect([], nil)
    try connections[0].write { tx throws in
      try tx.access(to: search).search(Words("the"))
      #expect(try tx.view(search).count(in: "") == 3 && tx.view(search).shownSearch?.storedForm == "the")
    }
    try expect(["0", "1", "4"], "the")
    try connections[1].write { tx throws in try tx.access(to: search).search(Words("the you")) }
    try expect(["1", "4"], "the you")
    try connections[0].write { tx throws in
      try tx[.sentences].set("you are the one", for: "7")
      try tx[.sentences].set("you again", for: "8")
      #expect(try tx.view(search).count(in: "") == 3)
    }
    try expect(["1", "4", "7"], "the you")
  }

  /// A screen of the results and a label of what was typed are both told of a search.
  @Test(arguments: [true, false]) func observedReadsAreRepeatedBySearches(_ isPersistent: Bool) async throws {
    let search = search(true, isPersistent)
    let db = try database(search)
    let observed = db.observe { tx in
      let view = try tx.view(search)
      return "\(try view.shownSearch?.storedForm ?? "-"): \(view.count)"
    }
    var values = observed.makeAsyncIterator()
    #expect(try await values.next() == "-: 0")
    try await db.write { tx in try tx.access(to: search).search(Words("the")) }
    #expect(try await values.next() == "the: 3")
    try await db.write { tx in try tx.access(to: search).search(Words("the you")) }
    #expect(try await values.next() == "the you: 2")
    try await db.write { tx in try tx[.sentences].set("the end of you", for: "9") }
    #expect(try await values.next() == "the you: 3")
  }
}

extension RowCollection where Object == String, Metadata == NoMetadata {
  static var sentences: Self { .init("sentences") }
}
