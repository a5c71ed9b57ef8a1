// Tables that an app has added to a file of YapDatabase's: named in the report, and not passed over in silence.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct YapDatabaseTableTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  /// What is said of tables, by their names; extensions and edges left out.
  private func told(_ sample: SampleFile) throws -> [String: String] {
    let source = try YapDatabaseSource(sample.path, besides: target)
    let tables = source.leftOut.filter { !$0.name.hasPrefix("Yap") && !$0.name.hasPrefix("edge ") }
    return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.reason) })
  }

  @Test func tablesOfTheAppAreNamedWithTheirRowsAndTheCall() throws {
    let sample = try YapDatabaseSample.file(
      folder,
      [
        "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text)",
        "INSERT INTO notes (text) VALUES ('a'), ('b'), ('c')", "CREATE TABLE \"it's\" (a)",
        "INSERT INTO \"it's\" VALUES (1)", "CREATE TABLE secondaryIndexes (a)", "CREATE TABLE view_unknown_map (a)",
        "CREATE VIEW shown AS SELECT text FROM notes",
      ])
    let told = try told(sample)
    #expect(told.keys.sorted() == ["it's", "notes", "secondaryIndexes", "shown", "view_unknown_map"])
    #expect(
      told["notes"]
        == "it is none of YapDatabase's; its 3 rows come over by "
        + "`quire-import sqlite '\(sample.path)' NEWFILE --only=notes`")
    #expect(told["it's"]?.contains("its 1 row comes over by") == true)
    #expect(told["it's"]?.hasSuffix(#" NEWFILE '--only=it'\''s'`"#) == true)
    #expect(told["shown"] == "it is a view, and none of YapDatabase's")
    // The call does what is said of it.
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target, only: ["notes"]))
    #expect(report.rowCount == 3)
  }

  @Test func tablesOfExtensionsAreMadeAnewAndNotNamed() throws {
    let names = [
      "view_order_map", "view_order_page", "view_order_key", "secondaryIndex_by age", "fts_words_content",
      "rTreeIndex_places_node", "view_order", "secondaryIndex_by", "fts_words_other", "rTreeIndex_placesnode",
    ]
    let classes = [
      "order": "YapDatabaseAutoView", "by age": "YapDatabaseSecondaryIndex", "words": "YapDatabaseFullTextSearch",
      "places": "YapDatabaseRTreeIndex",
    ]
    let sample = try YapDatabaseSample.file(
      folder,
      names.map { "CREATE TABLE \"\($0)\" (a)" }
        + classes.map { "INSERT INTO yap2 VALUES ('\($0.key)', 'class', '\($0.value)')" })
    #expect(try told(sample).keys.sorted() == names.suffix(4).sorted())
  }

  @Test func tablesAreNamedWhereNoExtensionEverWas() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE database2 (rowid INTEGER PRIMARY KEY, collection CHAR, key CHAR, data BLOB, metadata BLOB)",
        "CREATE TABLE empty (a PRIMARY KEY) WITHOUT ROWID",
      ])
    #expect(try told(sample)["empty"]?.contains("its 0 rows come over by") == true)
  }
}
