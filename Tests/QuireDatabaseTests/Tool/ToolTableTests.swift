// Every command of the operators' tool on files of every state: what it returns, what it says, and that it changes
// nothing.

import Foundation
import Quire
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ToolTableTests {
    /// A command of the tool.
    struct Command: Sendable, CustomTestStringConvertible {
      let name: String
      /// What stands behind the file; “COPY” is the name of a file that is not there.
      var arguments: [String] = []
      /// Whether it shows what files hold, whatever that is, also where it ends with 1.
      var showsAll = false
      /// Whether it looks at a file that somebody has open, and says so.
      var looksAtOpen = false
      /// Whether it changes the files of a database.
      var writes = false
      /// What it returns where pages are damaged.
      var damaged: Int32 = 1
      var testDescription: String { ([name] + arguments).joined(separator: " ") }
    }

    static let commands = [
      Command(name: "info", showsAll: true, looksAtOpen: true),
      Command(name: "check", showsAll: true),
      Command(name: "stats"),
      Command(name: "collections"),
      Command(name: "count", arguments: ["songs"]),
      Command(name: "get", arguments: ["songs", "s1"]),
      Command(name: "scan", arguments: ["songs"]),
      Command(name: "export"),
      Command(name: "import", arguments: ["ROWS", "--into", "--replace"], writes: true),
      Command(name: "extensions"),
      Command(name: "views"),
      Command(name: "views", arguments: ["songs.byAlbum", "--group", "a1"]),
      Command(name: "edges"),
      Command(name: "edges", arguments: ["song.album", "--from", "songs", "s1"]),
      Command(name: "feed"),
      Command(name: "feed", arguments: ["sql"]),
      Command(name: "indexes"),
      Command(name: "plan", arguments: ["songs", "year = 1950"]),
      Command(name: "backup", arguments: ["COPY"]),
      Command(name: "checkpoint", writes: true),
      Command(name: "compact", writes: true),
      Command(name: "salvage", arguments: ["COPY"]),
      Command(name: "pages", showsAll: true, looksAtOpen: true),
      Command(name: "page", arguments: ["3"], showsAll: true, looksAtOpen: true, damaged: 0),
      Command(name: "log", showsAll: true, looksAtOpen: true, damaged: 0),
    ]

    /// Runs a command on a file, and sees that it leaves no file behind but a copy.
    private func run(
      _ command: Command, on path: String, mayWrite: Bool = false, at line: SourceLocation = #_sourceLocation
    ) throws -> ToolResult {
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      let rows = folder.appendingPathComponent("rows").path
      try Data(#"{"collection":"songs","key":"new","object":{"title":"T","album":"a1","year":1}}"#.utf8)
        .write(to: URL(fileURLWithPath: rows))
      let copy = folder.appendingPathComponent("copy").path
      let arguments = command.arguments.map { $0 == "ROWS" ? rows : $0 == "COPY" ? copy : $0 }
      let before = try Self.image(folder)
      let result = try #require(try runTool([command.name, path] + arguments), sourceLocation: line)
      var after = try Self.image(folder)
      if result.status == 0 { after["copy"] = nil }
      if !mayWrite { #expect(after == before, "the files of \(path) are others", sourceLocation: line) }
      return result
    }

    /// The files of a folder, and of its folders the names.
    private static func image(_ folder: URL) throws -> [String: Data?] {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      return Dictionary(
        uniqueKeysWithValues: names.map { ($0, try? Data(contentsOf: folder.appendingPathComponent($0))) })
    }

    /// A command that has failed says so, with the file, and shows nothing that could be taken for a result.
    private func expectFailure(
      _ result: ToolResult, _ command: Command, _ path: String, at line: SourceLocation = #_sourceLocation
    ) {
      #expect(result.status == 1, "\(result)", sourceLocation: line)
      #expect(
        result.errors.contains(path) && result.errors.hasPrefix("quiredb: "), "\(result)", sourceLocation: line)
      if !command.showsAll { #expect(result.output.isEmpty, sourceLocation: line) }
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: commands)
    func aHealthyFileIsShown(_ command: Command) throws {
      let library = try ToolLibrary()
      let result = try run(command, on: library.path, mayWrite: command.writes)
      #expect(result.status == 0 && result.errors.isEmpty && !result.output.isEmpty, "\(result)")
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: commands)
    func damageIsTold(_ command: Command) throws {
      let library = try ToolLibrary()
      var bytes = try Data(contentsOf: URL(fileURLWithPath: library.path))
      for page in 2..<bytes.count / 4096 { bytes[page * 4096 + 1000] ^= 1 }
      try bytes.write(to: URL(fileURLWithPath: library.path))
      let result = try run(command, on: library.path)
      if command.damaged == 1 {
        #expect(result.status == 1 && result.errors.hasPrefix("quiredb: "), "\(result)")
        if !command.showsAll { expectFailure(result, command, library.path) }
      } else {
        #expect(result.status == command.damaged, "\(result)")
      }
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: commands)
    func anOpenFileIsTold(_ command: Command) throws {
      let library = try ToolLibrary()
      let db = try library.open()
      let result = try run(command, on: library.path)
      if command.looksAtOpen {
        #expect(result.status == 0 && result.errors.contains("\(library.path) is open in "), "\(result)")
      } else {
        expectFailure(result, command, library.path)
      }
      try db.close()
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: commands)
    func foreignFilesAreTold(_ command: Command) throws {
      let folder = try TestFolder()
      let foreign: [(String, Data)] = [
        ("text", Data("this is no database, and never was one".utf8)),
        ("sqlite", Data("SQLite format 3\0".utf8) + Data(count: 8176)), ("empty", Data()),
      ]
      for (name, bytes) in foreign {
        let file = folder.url.appendingPathComponent(name)
        try bytes.write(to: file)
        expectFailure(try run(command, on: file.path), command, file.path)
      }
      let inner = folder.url.appendingPathComponent("folder")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
      expectFailure(try run(command, on: inner.path), command, inner.path)
    }
  }
#endif
