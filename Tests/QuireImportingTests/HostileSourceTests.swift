// Sources whose values are none, whose tables take any time, and which are no files.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct HostileSourceTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  /// The rows that do not fit of a file that statements have made, and the report.
  private func tried(_ statements: [String]) throws -> (bad: [BadRow], report: ImportReport) {
    let sample = try SampleFile(folder, statements)
    var bad: [BadRow] = []
    let importer = Importer(into: target, skip: { bad.append($0) })
    let report = try importer.run(try TableSource(sample.path, besides: target))
    return (bad, report)
  }

  @Test(arguments: ["UTF-16le", "UTF-16be"]) func textsThatAreNoUTF16DoNotFit(encoding: String) throws {
    // A surrogate alone: the first one in front of another letter, the second one, and the first one at the end.
    let little = ["610000d86200", "610000dc6200", "610000d8"]
    let big = ["0061d8000062", "0061dc000062", "0061d800"]
    let texts = encoding == "UTF-16le" ? little : big
    let values = texts.enumerated().map { "(\($0 + 1), CAST(x'\($1)' AS TEXT))" }.joined(separator: ", ")
    let (bad, report) = try tried([
      "PRAGMA encoding = '\(encoding)'", "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
      "INSERT INTO t VALUES \(values), (4, 'Ж𐁢' || char(0) || 'x'), (5, '')",
    ])
    #expect(bad.map(\.row) == ["1", "2", "3"] && report.rowCount == 2)
    #expect(bad.first?.reason == "The text in “b” is no UTF-16.")
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "t").row("4")?.object.value?["b"] == "Ж𐁢\0x")
      #expect(try tx.values(in: "t").row("5")?.object.value?["b"] == "")
    }
    try db.close()
  }

  @Test func columnsThatAreComputedTakeNoTime() throws {
    let columns = (0..<4).map { "c\($0) TEXT AS (length(hex(zeroblob(400000000)) || a)) VIRTUAL" }
    let start = ContinuousClock.now
    let (bad, report) = try tried([
      "CREATE TABLE t (a INTEGER PRIMARY KEY)",
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200) INSERT INTO t SELECT x FROM n",
      // To store rows would compute these, too.
      "PRAGMA writable_schema = 1",
      """
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")))'
      WHERE name = 't'
      """,
    ])
    #expect(bad == [] && report.rowCount == 200 && ContinuousClock.now - start < .seconds(20))
    #expect(report.leftOut.first?.name == "the check for damage")
  }

  @Test func damageIsFoundBesideColumnsThatAreComputed() throws {
    let sample = try SampleFile(
      folder,
      [
        "PRAGMA page_size = 1024", "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c AS (length(b)))",
        """
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400)
        INSERT INTO t SELECT x, zeroblob(40) FROM n
        """,
      ])
    var bytes = try Data(contentsOf: URL(fileURLWithPath: sample.path))
    #expect(try TableSource(sample.path, besides: target).leftOut.map(\.name) == ["t.c"])
    for place in 3 * 1024..<4 * 1024 { bytes[place] = 0xee }
    try bytes.write(to: URL(fileURLWithPath: sample.path))
    let error = try #require(throws: ImportError.self) { _ = try TableSource(sample.path, besides: target) }
    #expect(error.description.contains("is damaged"))
  }

  @Test(.timeLimit(.minutes(1))) func pipesAndDevicesAreRefusedAtOnce() throws {
    let pipe = folder.url.appendingPathComponent("pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    // Opened at both ends, so that nobody waits whatever is done.
    let end = open(pipe, O_RDWR)
    defer { close(end) }
    for path in [pipe, "/dev/null"] {
      let error = try #require(throws: ImportError.self) { _ = try TableSource(path, besides: target) }
      #expect(error.description.contains("is no file, but a pipe or a device"), "\(error)")
    }
  }

  @Test func aLogThatIsCutOffWithinTheHeadOfAFrameIsTold() throws {
    let sample = try SampleFile(
      folder, ["PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"], copiesOpen: true)
    let log = URL(fileURLWithPath: sample.path + "-wal")
    let whole = try Data(contentsOf: log)
    for byteCount in [33, 40, 48, 49] {
      try whole.prefix(byteCount).write(to: log)
      let told = try TableSource(sample.path, besides: target).leftOut
      #expect(told.first?.name.hasPrefix("the end of ") == true, "\(byteCount) bytes")
    }
    try whole.prefix(32).write(to: log)
    #expect(try TableSource(sample.path, besides: target).leftOut == [])
  }

  @Test func aNumberThatADoubleRoundsIsNoDouble() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b)",
        "INSERT INTO t VALUES (1, 9007199254740992), (2, -18014398509481984), (3, 9007199254740993), (4, 7)",
      ])
    let map = try ImportMap(["t": ["fields": ["b": ["as": "double"]]]])
    var bad: [BadRow] = []
    let report = try Importer(into: target, skip: { bad.append($0) }).run(
      try TableSource(sample.path, besides: target, map: map))
    #expect(report.rowCount == 3 && bad.map(\.reason) == ["“9007199254740993” in “b” is no double."])
  }

  @Test func aTableOfTheAppsThatIsCalledAsEdgesAreIsLeftOutAndTold() throws {
    let sample = try YapDatabaseSample.file(
      folder, ["CREATE TABLE relationship_x (id INTEGER PRIMARY KEY, who)", "INSERT INTO relationship_x VALUES (1, 2)"])
    let source = try YapDatabaseSource(sample.path, besides: target)
    let report = try Importer(into: target).run(source)
    #expect(report.stopped == nil && report.rowCount > 0)
    let told = report.leftOut.first { $0.name == "relationship_x" }
    #expect(told?.reason.contains("its 1 row comes over by `quire-import sqlite") == true)
  }
}
