// What stands beside a file of SQLite's: a journal that names other files, and links.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct SourceNeighbourTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func sample() throws -> SampleFile {
    try SampleFile(folder, ["CREATE TABLE t (a INTEGER PRIMARY KEY, b)", "INSERT INTO t VALUES (1, 2)"])
  }

  /// What the import of the file at `path` says.
  private func told(_ path: String) throws -> String {
    try #require(throws: ImportError.self) { _ = try TableSource(path, besides: target) }.description
  }

  /// A journal that SQLite plays back, which names another file as that of a transaction over several databases.
  private func rollbackFile(naming path: String) -> Data {
    let name = Array(path.utf8)
    func big(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    let mark: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    let sum = name.reduce(0) { $0 + Int(Int8(bitPattern: $1)) }
    return Data(mark) + Data(count: 504) + Data(big(0) + name + big(name.count) + big(sum) + mark)
  }

  @Test func aTransactionOverSeveralDatabasesRemovesNoFile() throws {
    let sample = try sample()
    let victim = folder.url.appendingPathComponent("victim").path
    try Data("kept\0".utf8).write(to: URL(fileURLWithPath: victim))
    try rollbackFile(naming: victim).write(to: URL(fileURLWithPath: sample.path + "-journal"))
    let before = try sample.state()
    let error = try told(sample.path)
    #expect(error.contains("a transaction over several databases") && !error.contains("could not be copied"))
    #expect(FileManager.default.fileExists(atPath: victim))
    #expect(try sample.state() == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(names.filter { $0.hasPrefix("new") } == [])
  }

  @Test func aLogThatIsALinkOrStandsBesideOneIsRefused() throws {
    let sample = try sample()
    let words = "is a link, or stands beside one"
    let files = FileManager.default
    let log = folder.url.appendingPathComponent("log").path
    try Data(count: 32).write(to: URL(fileURLWithPath: log))
    for ending in ["-wal", "-journal"] {
      for destination in [log, folder.url.appendingPathComponent("nowhere").path] {
        try files.createSymbolicLink(atPath: sample.path + ending, withDestinationPath: destination)
        #expect(try told(sample.path).contains(words))
        try files.removeItem(atPath: sample.path + ending)
      }
    }
    let (first, second) = (folder.url.appendingPathComponent("first").path, folder.url.appendingPathComponent("second"))
    try files.createSymbolicLink(atPath: second.path, withDestinationPath: sample.path)
    try files.createSymbolicLink(atPath: first, withDestinationPath: "second")
    for name in [first, second.path] {
      try Data(count: 32).write(to: URL(fileURLWithPath: name + "-wal"))
      #expect(try told(first).contains(words))
      try files.removeItem(atPath: name + "-wal")
    }
    #expect(try Importer(into: target).run(try TableSource(first, besides: target)).rowCount == 1)
  }
}
