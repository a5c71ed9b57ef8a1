// What is wrong with a source is told, each fault in its own words, and leaves no file.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct SourceFaultTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  /// The bytes of a good file.
  private func good() throws -> Data {
    let sample = try SampleFile(
      folder,
      [
        "PRAGMA page_size = 1024", "CREATE TABLE t (a INTEGER PRIMARY KEY, b)",
        """
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400)
        INSERT INTO t SELECT x, zeroblob(40) FROM n
        """,
      ])
    return try Data(contentsOf: URL(fileURLWithPath: sample.path))
  }

  /// What the import of a file of these bytes says.
  private func told(_ bytes: Data, also ending: String? = nil, at target: String? = nil) throws -> String {
    let path = folder.url.appendingPathComponent("bad.sqlite").path
    try bytes.write(to: URL(fileURLWithPath: path))
    defer { for ending in ["", ending ?? ""] { try? FileManager.default.removeItem(atPath: path + ending) } }
    if let ending { try Data().write(to: URL(fileURLWithPath: path + ending)) }
    return try told(path, at: target)
  }

  private func told(_ path: String, only: [String] = [], at given: String? = nil) throws -> String {
    let target = given ?? target
    let error = try #require(throws: ImportError.self) {
      _ = try Importer(into: target).run(try TableSource(path, besides: target, only: only))
    }
    if given == nil {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      #expect(names.filter { $0.hasPrefix("new") } == [])
    }
    return error.description
  }

  @Test func eachFaultIsToldInItsOwnWords() throws {
    let good = try good()
    func changed(_ places: [Int: UInt8]) -> Data {
      var data = good
      for (place, byte) in places { data[place] = byte }
      return data
    }
    var realm = Data(repeating: 1, count: 100)
    realm.replaceSubrange(16..<20, with: Data("T-DB".utf8))
    let damaged = changed(Dictionary(uniqueKeysWithValues: (2 * 1024..<4 * 1024).map { ($0, 0xee) }))
    let taken = folder.url.appendingPathComponent("taken").path
    try Data([1]).write(to: URL(fileURLWithPath: taken))
    let missing = folder.url.appendingPathComponent("nowhere/x.quire").path
    let all: [(String, String)] = [
      ("is empty", try told(Data())),
      ("within its header", try told(good.prefix(50))),
      ("is cut off", try told(good.prefix(good.count - 1024))),
      ("is a text", try told(Data("a,b,c\n1,2,3\nand so on".utf8))),
      ("SQLCipher", try told(Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 201) }))),
      ("Realm", try told(realm)),
      ("of a version", try told(changed([18: 3, 19: 3]))),
      ("pages have", try told(changed([16: 3, 17: 3]))),
      ("without", try told(good, also: "-shm")),
      ("is damaged: *** in database main *** Page 4", try told(damaged)),
      ("is damaged: *** in database main *** ", try told(changed([2 * 1024 + 4: good[2 * 1024 + 4] &- 1]))),
      ("is a name that SQLite uses", try told(good, at: folder.url.appendingPathComponent("bad.sqlite-wal").path)),
      ("is a folder", try told(folder.url.path)),
      ("no such file", try told(folder.url.path + "/nothing")),
      ("there already", try told(good, at: taken)),
      ("no file can be made", try told(good, at: missing)),
    ]
    for (words, message) in all { #expect(message.contains(words), "\(message)") }
    #expect(Set(all.map(\.1)).count == all.count)
    let path = folder.url.appendingPathComponent("good.sqlite").path
    try good.write(to: URL(fileURLWithPath: path))
    #expect(try told(path, only: ["u"]).contains("no table “u”"))
    // The good one is good.
    #expect(try Importer(into: target).run(try TableSource(path, besides: target)).rowCount == 400)
  }
}
