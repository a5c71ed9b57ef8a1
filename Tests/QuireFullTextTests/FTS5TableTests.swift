// The tables of FTS5's tests: what FTS5 finds, what the definition finds, and what a database finds.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("FTS5's tests")
struct FTS5TableTests {
  private static func trio(_ table: SearchTable) throws -> SearchTrio {
    let tokenizer = table.cut.tokenizer
    return try SearchTrio(
      .papers(table.columns, tokenizer: tokenizer), fields: table.columns, tokenizer: tokenizer,
      fts5Tokenizer: table.cut.fts5)
  }

  /// Checks that all three find the rows of a table’s searches, which have the numbers of their documents as keys.
  private static func check(_ trio: SearchTrio, _ table: SearchTable) throws {
    let keys = Dictionary(uniqueKeysWithValues: trio.rowIDs.map { ($1, Int64($0) ?? 0) })
    try trio.verify()
    for (text, rows) in table.queries {
      #expect(try trio.fts5.rowIDs(match: text).compactMap { keys[$0] }.sorted() == rows, "FTS5: \(text)")
      try check(trio, text, rows, keys)
    }
    var found = 0
    for text in table.searches {
      let rows = try trio.fts5.rowIDs(match: text).compactMap { keys[$0] }.sorted()
      try check(trio, text, rows, keys)
      found += rows.count
    }
    #expect(found == table.found)
  }

  /// Checks that the definition and the database find these rows.
  private static func check(_ trio: SearchTrio, _ text: String, _ rows: [Int64], _ keys: [RowID: Int64]) throws {
    let expression = try SearchExpression(text, fields: trio.fts5.columns)
    #expect(try trio.definition.rowIDs(expression).compactMap { keys[$0] }.sorted() == rows, "definition: \(text)")
    let found = try trio.database.read { tx in
      let found = try tx[.papers].search(text)
      #expect(try found.count == rows.count, "\(text)")
      #expect(try Set(found.ranked().scores.map(\.rowID)) == Set(found.rowIDs), "\(text)")
      return try found.rowIDs
    }
    #expect(found.compactMap { keys[$0] }.sorted() == rows, "\(text)")
  }

  @Test(
    "Documents that are inserted are found", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: SearchTable.all)
  func insertedAreFound(table: SearchTable) throws {
    let trio = try Self.trio(table)
    try trio.register()
    for (number, texts) in table.documents.enumerated() {
      try trio.write { tx in try trio.set(tx, "\(number + 1)", texts) }
    }
    try Self.check(trio, table)
  }

  @Test(
    "Documents that a full text is built of are found", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: SearchTable.all)
  func builtAreFound(table: SearchTable) throws {
    let trio = try Self.trio(table)
    try trio.write { tx in
      for (number, texts) in table.documents.enumerated() { try trio.set(tx, "\(number + 1)", texts) }
    }
    try trio.register()
    try Self.check(trio, table)
  }

  @Test(
    "Documents are found that were others before, and are again", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: SearchTable.all)
  func changedAreFound(table: SearchTable) throws {
    let trio = try Self.trio(table)
    try trio.register()
    let (documents, count) = (table.documents, table.documents.count)
    try trio.write { tx in
      for number in 0..<count { try trio.set(tx, "\(number + 1)", documents[(number + 1) % count]) }
      try trio.set(tx, "other", documents[0])
    }
    try trio.write { tx in
      for number in (0..<count).reversed() { try trio.set(tx, "\(number + 1)", documents[number]) }
      try trio.remove(tx, ["other"])
    }
    try Self.check(trio, table)
    try trio.write { tx in
      try trio.removeAll(tx)
      for (number, texts) in documents.enumerated() { try trio.set(tx, "\(number + 1)", texts) }
    }
    try Self.check(trio, table)
  }
}
