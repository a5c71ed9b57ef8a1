// `quiredb salvage` as people run it: what it says, what it returns, and what is there afterwards.

import Foundation
import Quire
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct SalvageCommandTests {
    private let library: ToolLibrary

    init() throws { library = try ToolLibrary() }

    private func path(_ name: String) -> String { library.folder.url.appendingPathComponent(name).path }

    private func run(
      _ arguments: String..., status: Int32, at line: SourceLocation = #_sourceLocation
    ) throws -> ToolResult {
      let result = try #require(
        try runTool(["salvage", library.path, path("new")] + arguments), sourceLocation: line)
      #expect(result.status == status, "\(result)", sourceLocation: line)
      return result
    }

    /// The names in the folder.
    private var names: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: library.folder.url.path).sorted() }
    }

    @Test func aWholeDatabaseComesOver() throws {
      let result = try run(status: 0)
      #expect(result.output.contains("3  albums\n") && result.output.contains("29  songs\n"), "\(result)")
      #expect(result.output.contains("left out: The change feed “sql” begins anew"))
      #expect(result.output.hasSuffix("new: 32 rows, read by the newest meta page; nothing is lost\n"))
      #expect(try names == ["new", "test.quire"])
      let check = try #require(try runTool(["check", path("new")]))
      #expect(check.status == 0 && check.output.contains("no defects"), "\(check)")
      let old = try #require(try runTool(["export", library.path]))
      #expect(try runTool(["export", path("new")])?.output == old.output)
      let edges = try #require(try runTool(["edges", path("new"), "song.album"]))
      #expect(edges.output.contains("albums/a0 –likes→ songs/s1"), "\(edges)")
      let db = try Database(at: path("new"))
      try db.register(ToolLibrary.byAlbum)
      try db.register(ToolLibrary.old)
      try db.register(ToolLibrary.albumOf)
      try db.register(ToolLibrary.indexes)
      try db.close()
      for command in ["views", "edges", "indexes"] {
        let (old, new) = (try runTool([command, library.path]), try runTool([command, path("new")]))
        #expect(old?.status == 0 && old?.output == new?.output, "\(command)")
      }
      #expect(try runTool(["check", path("new")])?.status == 0)
      // Nothing is overwritten.
      let again = try run(status: 1)
      #expect(again.output.isEmpty && again.errors.contains("\(path("new"))") && again.errors.contains("was not made"))
    }

    @Test func whatIsLostIsListed() throws {
      var pages = try TreePages(library.path)
      #expect(try pages.zeroLeaves(of: "quire.collections") > 0)
      let result = try run("--report", path("lost"), "--json", status: 2)
      let record = try #require(try result.records.first)
      let lines = try String(contentsOfFile: path("lost"), encoding: .utf8).split(separator: "\n")
      let lost = try lines.map { try RowValue(json: String($0)) }
      #expect(lost.count { $0["kind"] == "lost name" && $0["loss"] == true } == 2, "\(lost)")
      #expect(record["losses"] == .integer(Int128(lost.count { $0["loss"] == true })), "\(record)")
      #expect(record["rows"] == 32 && record["findings"] == .list(lost))
      let check = try #require(try runTool(["check", path("new")]))
      #expect(check.status == 0, "\(check)")
      // A report is not overwritten either.
      try FileManager.default.removeItem(atPath: path("new"))
      #expect(try run("--report", path("lost"), status: 1).errors.contains(path("lost")))
      #expect(try names == ["lost", "test.quire"])
    }

    @Test func withoutItsIdentityADatabaseIsBelievedOnRequest() throws {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: library.path))
      bytes.replaceSubrange(0..<8192, with: Data(count: 8192))
      try bytes.write(to: URL(fileURLWithPath: library.path))
      let refused = try run(status: 1)
      #expect(refused.output.isEmpty && refused.errors.contains(library.path), "\(refused)")
      #expect(try names == ["test.quire"])
      let result = try run("--unverified", "--no-stale", status: 2)
      #expect(result.output.contains("read by its structure, without proof") && result.output.contains("unproven row"))
    }

    @Test func anOpenDatabaseIsRefused() throws {
      let db = try library.open()
      let result = try run(status: 1)
      #expect(result.errors.contains("alreadyOpen") && result.errors.contains("was not made"), "\(result)")
      try db.close()
      #expect(try names == ["test.quire"])
    }
  }
#endif
