// `quire-import` as it is run: exit codes, and a file of rows that were passed over which is its owner's alone.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct ImportCommandTests {
  private let folder: TestFolder
  private let target: String
  private let rows: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
    rows = folder.url.appendingPathComponent("rows.csv").path
    try Data("id,score\na,1\nb,x\nc,3\n".utf8).write(to: URL(fileURLWithPath: rows))
  }

  private func run(_ arguments: String...) throws -> CommandResult {
    let form = ["csv", rows, target, "--collection", "t", "--key", "id", "--type", "score:integer"]
    let tool = try #require(toolPath("quire-import"))
    return try #require(runProgram(tool, form + arguments))
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() }
  }

  @Test func aBadRowEndsItAndLeavesNothing() throws {
    let stopped = try run()
    #expect(stopped.status == 1 && stopped.output.contains("on line 3") && stopped.output.contains("was not made"))
    let dry = try run("--dry-run")
    #expect(dry.status == 1 && dry.output.contains("2 rows would be stored, 1 row does not fit"))
    #expect(try names == ["rows.csv"])
  }

  @Test func rowsThatArePassedOverAreTheOwnersAlone() throws {
    let bad = folder.url.appendingPathComponent("bad").path
    let done = try run("--skip-bad", bad, "--json")
    #expect(done.status == 2 && done.output.contains(#""rows":2"#) && done.output.contains(#""bad rows":1"#))
    let mode = try FileManager.default.attributesOfItem(atPath: bad)[.posixPermissions] as? Int
    let line = try String(contentsOfFile: bad, encoding: .utf8)
    #expect(mode == 0o600 && line.contains(#""row":"on line 3""#) && line.hasSuffix("}\n"))
    let db = try Database(at: target)
    #expect(try db.read { tx throws in tx[RowCollection<RowValue, NoMetadata>("t")].count } == 2)
    try db.close()
    let again = try run("--skip-bad", bad)
    #expect(again.status == 1 && again.output.contains("bad"))
    #expect(try names == ["bad", "new.quire", "rows.csv"] && String(contentsOfFile: bad, encoding: .utf8) == line)
  }
}
