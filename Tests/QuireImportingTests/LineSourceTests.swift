// Lines of JSON become a database as `quiredb import` makes one.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct LineSourceTests {
  private let folder: TestFolder
  private let target: String
  private let rows: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
    rows = folder.url.appendingPathComponent("rows.ndjson").path
  }

  private func write(_ lines: String...) throws {
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: rows))
  }

  @Test func rowsAreStoredWithWhatTheirLinesSay() throws {
    try write(
      #"{"collection": "songs", "coder": "binary", "fields": ["title"]}"#,
      #"{"collection": "songs", "key": "s1", "object": {"title": "Naima"}, "metadata": 7}"#,
      #"{"collection": "raw", "key": "r", "object": {"$data": "AP8="}, "coder": "bytes"}"#, #"{"rows": 2}"#)
    let report = try Importer(into: target).run(try LineSource(rows))
    #expect(report.rowCount == 2 && report.rowCounts.map(\.collection) == ["songs", "raw"] && report.byteCount > 0)
    let db = try Database(at: target)
    try db.read { tx throws in
      let song = try #require(try tx.values(in: "songs").row("s1"))
      #expect(song.object.value == ["title": "Naima"] && song.metadata?.value == 7)
      #expect(try tx[RowCollection<Data, NoMetadata>("raw", coder: .bytes)].get("r") == Data([0, 255]))
    }
    try db.close()
  }

  @Test func linesThatDoNotFitEndItOrArePassedOver() throws {
    try write(
      #"{"collection": "t", "key": "a", "object": 1}"#, "no line", #"{"collection": "t", "key": "a", "object": 2}"#)
    let stopped = try Importer(into: target).run(try LineSource(rows))
    #expect(stopped.stopped?.row == "line 2" && !FileManager.default.fileExists(atPath: target))
    var bad: [BadRow] = []
    let dry = try Importer(into: target, isDryRun: true, skip: { bad.append($0) }).run(try LineSource(rows))
    #expect(dry.rowCount == 1 && dry.badCount == 2 && !FileManager.default.fileExists(atPath: target))
    #expect(bad.first?.json.contains(#""text":"no line""#) == true && bad.last?.reason.contains("--replace") == true)
    let done = try Importer(into: target, skip: { _ in }).run(try LineSource(rows, replaces: true))
    #expect(done.rowCount == 1 && done.badCount == 1)
    let db = try Database(at: target)
    #expect(try db.read { tx throws in try tx.values(in: "t").row("a")?.object.value } == 2)
    try db.close()
  }

  @Test func linesThatAreMissingEndItAlways() throws {
    try write(#"{"collection": "t", "coder": "binary"}"#, #"{"collection": "t", "key": "a", "object": 1}"#)
    let report = try Importer(into: target, skip: { _ in }).run(try LineSource(rows))
    #expect(report.stopped != nil && !FileManager.default.fileExists(atPath: target))
  }

  @Test func manyLinesTakeSeveralBatches() throws {
    let lines = (0..<10_500).map { #"{"collection": "t", "key": "\#($0)", "object": \#($0)}"# }
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: rows))
    var counts: [Int] = []
    let report = try Importer(into: target, progress: { counts.append($0.rowCount) }).run(try LineSource(rows))
    #expect(report.rowCount == 10_500 && counts == [10_000, 10_500])
  }

  @Test func rowsOfOneKeyAreCountedOnce() throws {
    try write(#"{"collection": "c", "key": "k", "object": 1}"#, #"{"collection": "c", "key": "k", "object": 2}"#)
    let report = try Importer(into: target).run(try LineSource(rows, replaces: true))
    #expect(report.rowCount == 1 && report.rowCounts.map(\.rows) == [1])
  }

  @Test func numbersThatAreTooLargeDoNotFit() throws {
    let numbers = [
      #"{"$float": 1e300}"#, #"{"$float": -3.5e38}"#, "-170141183460469231731687303715884105729",
      "340282366920938463463374607431768211456",
    ]
    try write(contentsOf: numbers)
    var bad: [BadRow] = []
    let report = try Importer(into: target, skip: { bad.append($0) }).run(try LineSource(rows))
    #expect(report.rowCount == 0 && bad.count == numbers.count)
    for row in bad { #expect(row.reason.contains("larger than any"), "\(row.reason)") }
  }

  private func write(contentsOf objects: [String]) throws {
    let lines = objects.enumerated().map { #"{"collection": "c", "key": "\#($0)", "object": \#($1)}"# }
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: rows))
  }

  @Test func aMarkOfTheOrderOfBytesIsPassedOver() throws {
    try Data([0xef, 0xbb, 0xbf] + Data(#"{"collection": "c", "key": "k", "object": 1}"#.utf8))
      .write(to: URL(fileURLWithPath: rows))
    #expect(try Importer(into: target).run(try LineSource(rows)).rowCount == 1)
  }
}
