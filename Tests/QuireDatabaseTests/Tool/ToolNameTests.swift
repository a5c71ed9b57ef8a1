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

    @Test func aKeyIsNamedAsItIsSpelled() throws {
      #expect(try run("get", "caf\u{e9}", "k\u{e9}").output == "7\n")
      let other = try run("get", "caf\u{e9}", "ke\u{301}")
      #expect(other.status == 1 && other.output.isEmpty, "\(other)")
    }
  }
#endif
