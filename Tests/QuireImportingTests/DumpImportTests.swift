// Dumps of LMDB: every key and value to the byte, and what breaks the form told by line.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct DumpImportTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func source(_ text: String, hexKeys: Bool = false) throws -> DumpSource {
    let url = folder.url.appendingPathComponent("dump")
    try Data(text.utf8).write(to: url)
    return try DumpSource(url.path, hexKeys: hexKeys)
  }

  private static func head(_ lines: String = "", format: String = "bytevalue") -> String {
    "VERSION=3\nformat=\(format)\n\(lines)type=btree\nmapsize=1048576\nmaxreaders=126\ndb_pagesize=4096\nHEADER=END\n"
  }

  private func rows(_ collection: String) throws -> [String: [UInt8]] {
    let db = try Database(at: target)
    defer { try? db.close() }
    return try db.read { tx throws in
      var found: [String: [UInt8]] = [:]
      let bytes = RowCollection<[UInt8], [UInt8]>(collection, coder: .bytes, metadataCoder: .bytes)
      for row in tx[bytes].rows { found[row.key] = row.object }
      return found
    }
  }

  @Test func allDatabasesComeOver() throws {
    let text =
      Self.head() + " 6b31\n 00ff\n 6b32\n \nDATA=END\n"
      + Self.head("database=songs\n", format: "print") + " k\\5c\\c3\\a9\n a\\00b\\\\c \nDATA=END\n"
      + Self.head("database=numbers\nintegerkey=1\n") + " 0700000000000000\n 01\n 2a000000\n 02\nDATA=END\n"
    let report = try Importer(into: target).run(try source(text))
    #expect(report.rowCount == 5 && report.coercions == ["numbers as keys": 2])
    #expect(try rows("main") == ["k1": [0, 255], "k2": []])
    #expect(try rows("songs") == [#"k\é"#: [0x61, 0, 0x62, 0x5c, 0x63, 0x20]])
    #expect(try rows("numbers") == [UInt64(7).rowKey: [1], UInt64(42).rowKey: [2]])
  }

  @Test func keysThatAreNoTextsBecomeDigits() throws {
    let text = Self.head() + " ff\n 01\n 61\n 02\nDATA=END\n"
    var bad: [String] = []
    let report = try Importer(into: target, isDryRun: true, skip: { bad.append($0.description) }).run(try source(text))
    #expect(report.rowCount == 1 && bad.count == 1 && bad[0].contains("line 8") && bad[0].contains("--hex-keys"))
    _ = try Importer(into: target).run(try source(text, hexKeys: true))
    #expect(try rows("main") == ["ff": [1], "61": [2]])
  }

  @Test func whatBreaksTheFormIsTold() throws {
    func told(_ text: String) throws -> String {
      let error = try #require(throws: ImportError.self) { _ = try Importer(into: target).run(try source(text)) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["dump"])
      return error.description
    }
    let faults = [
      ("", "is empty"), ("\n\n\n\n\n", "or is empty"), ("hello\n", "does not begin as a dump"),
      ("VERSION=9\n", "version 9"),
      ("VERSION=3\nformat=xml\n", "“xml” is no format"), ("VERSION=3\nformat=print\n", "ends within a head"),
      ("VERSION=3\nnonsense\n", "has no “=”"), (Self.head("database=d\nduplicates=1\n"), "several values under a key"),
      (Self.head(), "a key is to come"), (Self.head() + " 61\n", "the value of the key on line 8"),
      (Self.head() + " 61\n 62\n", "a key is to come"), (Self.head("type=recno\n"), "has no keys"),
    ]
    for (text, words) in faults { #expect(try told(text).contains(words), "\(words)") }
    #expect(Set(try faults.map { try told($0.0) }).count == faults.count)
    var reasons: [String] = []
    let text = Self.head("integerkey=1\n") + "61\n 62\n 6x\n 62\n 616\n 62\n 010203\n 62\nDATA=END\n"
    let report = try Importer(into: target, isDryRun: true, skip: { reasons.append($0.reason) }).run(try source(text))
    #expect(report.rowCount == 0 && reasons.count == 4 && reasons[3].contains("3 bytes"))
  }

  @Test func backslashesThatToolsDifferInAreTold() throws {
    // LMDB before 0.9.25 writes the bytes C:\41 as they are.
    let text = Self.head(format: "print") + " k\n C:\\41\n l\n C:\\\\x\n m\n \\00\\ff\nDATA=END\n"
    var bad: [BadRow] = []
    let report = try Importer(into: target, skip: { bad.append($0) }).run(try source(text))
    #expect(report.rowCount == 2 && bad.count == 1 && bad.first?.reason.contains("Dump without -p") == true)
    #expect(report.leftOut.map(\.name) == ["the certainty of 1 rows"])
  }
}
