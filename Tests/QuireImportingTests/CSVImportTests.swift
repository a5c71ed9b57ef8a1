// Comma-separated values: every field as it was meant, and lines that do not fit told by their numbers.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@testable import QuireImporting

@Suite struct CSVImportTests {
  private struct Player: Codable, Equatable, Sendable {
    var id: String
    var name: String
    var note: String?
    var score: Double?
    var born: Date?
    var photo: Data?
  }

  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func source(_ text: String, _ form: CSVSource.Form = .init(), encoded: Data? = nil) throws -> CSVSource {
    let url = folder.url.appendingPathComponent("rows.csv")
    try (encoded ?? Data(text.utf8)).write(to: url)
    return try CSVSource(url.path, collection: "players", form: form)
  }

  @Test func rowsAreReadByTypes() throws {
    var form = CSVSource.Form()
    form.key = ["id"]
    form.types = ["score": .double, "born": .date, "photo": .bytes]
    let text = """
      \u{feff}id,name,note,score,born,photo\r
      7,"Ana, ""the"" first","two\r
      lines",0.5,2001-01-01 00:00:01,\\x00ff\r
      \r
      Ж,Bo,"",,,
      """
    let report = try Importer(into: target).run(try source(text, form))
    #expect(report.rowCount == 2 && report.coercions == ["double": 1, "date": 1, "bytes": 1])
    let db = try Database(at: target)
    try db.read { tx throws in
      let players = tx[RowCollection<Player, NoMetadata>("players")]
      let ana = Player(
        id: "7", name: #"Ana, "the" first"#, note: "two\r\nlines", score: 0.5,
        born: Date(timeIntervalSinceReferenceDate: 1), photo: Data([0, 255]))
      #expect(try players.get("7") == ana)
      #expect(try players.get("Ж") == Player(id: "Ж", name: "Bo", note: ""))
    }
    try db.close()
  }

  @Test func keysAreColumnsJoinedOrNumbers() throws {
    var form = CSVSource.Form()
    form.separator = UInt8(ascii: "\t")
    _ = try Importer(into: target).run(try source("a\tb\nx|y\t1\n\"\"\t2", form))
    let other = folder.url.appendingPathComponent("other.quire").path
    form.key = ["b", "a"]
    _ = try Importer(into: other, skip: { _ in }).run(try source("a\tb\nx|y\t1\n\"\"\t2", form))
    var keys: [[String]] = []
    for path in [target, other] {
      let db = try Database(at: path)
      keys.append(try db.read { tx throws in Array(tx[RowCollection<RowValue, NoMetadata>("players")].keys) })
      try db.close()
    }
    #expect(keys == [[1.rowKey, 2.rowKey], [#"1|x\|y"#]])
  }

  @Test func linesThatDoNotFitAreToldByTheirNumbers() throws {
    var form = CSVSource.Form()
    form.key = ["a"]
    form.types = ["b": .integer]
    form.longestRecord = 20
    let text =
      "a,b\nx,1\ny,z\n\"q\"r,2\nw\"w,3\n,4\none,2,3\nx,5\n\(String(repeating: "l", count: 30)),6\nlast,7\n\"cut,8"
    var bad: [String] = []
    let report = try Importer(into: target, skip: { bad.append("\($0.row): \($0.reason)") }).run(try source(text, form))
    #expect(report.rowCount == 2 && report.badCount == bad.count)
    let expected = [
      "on line 3: “z” in “b” is no integer.",
      "on line 4: Behind the closing quote of a field stands something else than a separator.",
      "on line 5: There is a quote within a field that does not begin with one.",
      "on line 6: “a”, of which its key is made, is empty.", "on line 7: It has 3 fields, and the first line names 2.",
      "on line 8: There is a row “x” in “players” already.", "on line 9: It has more than 20 bytes.",
      "on line 11: Its last quote is not closed: the text is cut off, or a quote is missing.",
    ]
    #expect(bad == expected)
  }

  @Test func firstLinesThatNameNoFieldsAreRefused() throws {
    func told(_ text: String, _ form: CSVSource.Form = .init(), encoded: Data? = nil) throws -> String {
      try #require(throws: ImportError.self) { _ = try source(text, form, encoded: encoded) }.description
    }
    var form = CSVSource.Form()
    form.key = ["c"]
    let messages = [
      try told(""), try told("a,,b\n"), try told("a,b,a\n1,2,3\n"), try told("a,\"b\n"), try told("a,b\n", form),
      try told("", encoded: Data([0xff, 0x2c])),
      try #require(throws: ImportError.self) { _ = try CSVSource(folder.url.path, collection: "t") }.description,
      try #require(throws: ImportError.self) { _ = try CSVSource(target, collection: "t") }.description,
    ]
    let words = [
      "is empty", "field 2 is empty", "names “a” twice", "not closed", "no column “c”", "no UTF-8", "is a folder",
      "no such file",
    ]
    for (message, words) in zip(messages, words) { #expect(message.contains(words)) }
  }

  /// What is written by the rules is read back, whatever the sizes in which it comes.
  @Test(arguments: 0..<20) func whatIsWrittenIsReadBack(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let characters = Array("ab,\"\n\r\té".unicodeScalars)
    let width = 1 + random.below(4)
    var records: [[String]] = []
    for _ in 0..<30 {
      records.append(
        (0..<width).map { _ in
          String(
            String.UnicodeScalarView((0..<random.below(6)).map { _ in characters[random.below(characters.count)] }))
        })
    }
    let text = records.map { record in
      record.map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: ",")
    }.joined(separator: random.below(2) == 0 ? "\n" : "\r\n")
    var rest = Array(text.utf8)[...]
    var reader = CSVReader(separator: UInt8(ascii: ","), limit: 1 << 20) { _ in
      defer { rest = rest.dropFirst(3) }
      return Array(rest.prefix(3))
    }
    var read: [[String]] = []
    while let record = try reader.next() {
      guard case .fields(let fields) = record else {
        Issue.record("seed \(seed): \(record)")
        return
      }
      read.append(fields.map { String(decoding: $0.bytes, as: UTF8.self) })
    }
    #expect(read.map { $0.map { Array($0.utf8) } } == records.map { $0.map { Array($0.utf8) } }, "seed \(seed)")
  }
}
