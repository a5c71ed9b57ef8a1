// Names that look alike and are two.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

#if os(Linux)
  /// Two spellings of a letter are two names; of Swift's texts they are one.
  @Suite struct ToolNameTests {
    private let folder: TestFolder

    init() throws {
      folder = try TestFolder()
      let db = try folder.open()
      try db.write { tx throws in try tx[RowCollection<Int, NoMetadata>("caf\u{e9}")].set(7, for: "k\u{e9}") }
      try db.close()
    }

    private func run(_ arguments: String...) throws -> ToolResult {
      try #require(try runTool([arguments[0], folder.path] + arguments.dropFirst()))
    }

    @Test(arguments: ["count", "scan", "export"]) func aCollectionIsNamedAsItIsSpelled(_ command: String) throws {
      #expect(try run(command, "caf\u{e9}").status == 0)
      let other = try run(command, "cafe\u{301}")
      #expect(other.status == 1 && other.output.isEmpty && other.errors.contains("no collection"), "\(other)")
    }

    /// Swift mends what is no UTF-8, and the mended path names another file.
    @Test(arguments: ["quiredb", "quire-import"]) func anArgumentThatIsNoTextNamesNoFile(_ name: String) throws {
      let tool = try #require(toolPath(name))
      let mended = "\(folder.path)-\u{fffd}"
      try FileManager.default.copyItem(atPath: folder.path, toPath: mended)
      defer { try? FileManager.default.removeItem(atPath: mended) }
      let command = #""$0" check "$(printf '%s-\377' "$1")" 2>&1"#
      let result = try #require(runProgram("/bin/sh", ["-c", command, tool, folder.path]))
      #expect(result.status == 64 && result.output.contains("is no UTF-8"), "\(result)")
    }

    @Test func aCollectionIsExportedOnce() throws {
      let result = try run("export", "caf\u{e9}", "caf\u{e9}")
      #expect(result.status == 64 && result.errors.contains("is named twice"), "\(result)")
      #expect(try run("export", "caf\u{e9}", "cafe\u{301}").status == 1)
    }

    @Test func aKeyIsNamedAsItIsSpelled() throws {
      #expect(try run("get", "caf\u{e9}", "k\u{e9}").output.contains("7"))
      let other = try run("get", "caf\u{e9}", "ke\u{301}")
      #expect(other.status == 1 && other.output.isEmpty, "\(other)")
    }
  }
#endif
