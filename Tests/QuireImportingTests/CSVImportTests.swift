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
    form.types = [("score", .double), ("born", .date), ("photo", .bytes)]
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
    form.types = [("b", .integer)]
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

  /// A field takes more memory than a separator: what is not kept is counted all the same.
  @Test func fieldsAreKeptUpToTheirBoundAndCountedBehindIt() throws {
    let commas = String(repeating: ",", count: 100_000)
    let error = try #require(throws: ImportError.self) { _ = try source("a" + commas + "\n") }
    #expect(error.description.contains("It has 100001 fields, of which the first line may name 65536."))
    let names = (0..<65_536).map { "c\($0)" }.joined(separator: ",")
    #expect(try Importer(into: target).run(try source("\(names)\n1\(commas.prefix(65_535))\n")).rowCount == 1)
    let result = try imported("a,b\n1,2\n\"x\(commas)\",3\n\(commas)\"\"\n,,\"cut\n4,5")
    #expect(result.rows.count == 2)
    #expect(
      result.bad == [
        "on line 4: It has 100001 fields, and the first line names 2.",
        "on line 5: Its last quote is not closed: the text is cut off, or a quote is missing.",
      ])
    var text = Array("1,2,3,4\n5,6\n".utf8)
    var reader = CSVReader(separator: UInt8(ascii: ","), limit: 100) { _ in
      defer { text = [] }
      return text
    }
    reader.fieldLimit = 3
    guard case .bad(let reason)? = try reader.next() else {
      Issue.record("four fields are three")
      return
    }
    #expect(reason.hasPrefix("It has 4 fields"))
    #expect(try reader.next() == .fields([.init(bytes: [0x35]), .init(bytes: [0x36])]) && reader.next() == nil)
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

  /// The keys and fields of all rows that an import of a text stores, and the reasons of those that it passes over.
  private func imported(_ text: String, _ form: CSVSource.Form = .init()) throws -> (rows: [String], bad: [String]) {
    let path = folder.url.appendingPathComponent("\(UUID().uuidString).quire").path
    var bad: [String] = []
    _ = try Importer(into: path, skip: { bad.append("\($0.row): \($0.reason)") }).run(try source(text, form))
    let db = try Database(at: path)
    defer { try? db.close() }
    let rows = try db.read { tx throws in
      tx[RowCollection<RowValue, NoMetadata>("players")].rows.map { "\($0.key) \($0.object.json)" }
    }
    return (rows, bad)
  }

  @Test func whatIsBadEndsWithItsRecord() throws {
    var form = CSVSource.Form()
    form.key = ["a"]
    // Lone carriage returns end lines, those of bad records, too.
    let old = try imported("a,b\r1,2\r3,\"4\"x\r5,6\r", form)
    #expect(old.rows == [#"1 {"a":"1","b":"2"}"#, #"5 {"a":"5","b":"6"}"#])
    #expect(old.bad.count == 1 && old.bad[0].hasPrefix("on line 3: Behind"))
    // The text of a field that is too long is no record.
    form.longestRecord = 30
    let long = try imported("a,b\n1,\"\(String(repeating: "x", count: 40))\n2,injected\n\"\n4,ok\n", form)
    #expect(long.rows == [#"4 {"a":"4","b":"ok"}"#] && long.bad == ["on line 2: It has more than 30 bytes."])
    // A header without an end is told as soon as it is too long.
    var count = 0
    var reader = CSVReader(separator: UInt8(ascii: ","), limit: 30) { _ in
      count += 1
      return [0, 0, 0, 0]
    }
    #expect(try reader.next(endsAtLimit: true) == .bad("It has more than 30 bytes.") && count < 10)
  }

  @Test func namesAreToldApartByTheirBytes() throws {
    var form = CSVSource.Form()
    form.key = ["\u{e9}"]
    form.types = [("\u{e9}", .integer)]
    let read = try imported("e\u{301},\u{e9}\n1,2\n", form)
    #expect(read.rows.map { Array($0.utf8) } == [Array("2 {\"e\u{301}\":\"1\",\"\u{e9}\":2}".utf8)])
    form = CSVSource.Form()
    form.key = ["a", "b"]
    let joined = try imported("a,b\nx,\u{301}y|\u{301}z\n", form)
    #expect(joined.rows[0].utf8.starts(with: "x|\u{301}y\\|\u{301}z ".utf8))
  }

  @Test func valuesThatAreNoneDoNotFit() throws {
    var form = CSVSource.Form()
    form.types = [("a", .double), ("b", .date)]
    let read = try imported("a,b\n1e400,\n,2021-02-31\ninf,2024-02-29\n", form)
    #expect(read.rows.count == 1 && read.bad.map { $0.prefix(9) } == ["on line 2", "on line 3"])
    let one = try imported("a\n1\n\n3\n")
    #expect(one.rows == [1.rowKey + #" {"a":"1"}"#, 2.rowKey + " {}", 3.rowKey + #" {"a":"3"}"#])
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

  @Test func textsOfAnotherEncodingAreRefusedWithTheRemedy() throws {
    let error = try #require(throws: ImportError.self) {
      _ = try source("", encoded: Data("a,b\n1,2\n".utf8.flatMap { [$0, 0] }))
    }
    #expect(error.description.contains("UTF-16") && error.description.contains("iconv"), "\(error)")
    let (rows, bad) = try imported("a,b\n1,x\0y\n2,z\n")
    #expect(rows.count == 1 && bad.first?.contains("NUL") == true, "\(bad)")
  }
}
