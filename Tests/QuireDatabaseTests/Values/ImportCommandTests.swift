// `quiredb import` as people run it: what is there afterwards, and what is not.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct ImportCommandTests {
    private let folder: TestFolder

    init() throws {
      folder = try TestFolder()
      let db = try folder.open()
      try db.write { tx throws in
        for number in 0..<200 {
          try tx[.songs].set(Song("Song \(number)"), metadata: PlayState(plays: number), for: "s\(number)")
        }
        let lists = RowCollection<[String: Date], NoMetadata>("lists", coder: .propertyList)
        try tx[lists].set(["b": Date(timeIntervalSinceReferenceDate: 1), "a": Date()], for: "k")
      }
      try db.close()
    }

    private func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }

    private func run(_ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation) -> String {
      guard let result = runQuireDB(arguments) else {
        Issue.record("quiredb does not run", sourceLocation: line)
        return ""
      }
      #expect(result.status == status, "\(result.output)", sourceLocation: line)
      return result.output
    }

    /// Runs the tool by a shell, with `behind` behind its arguments, in a process that `setup` prepares.
    private func shell(_ arguments: [String], _ behind: String, setup: String = "") throws -> CommandResult {
      let words = [try #require(toolPath("quiredb"))] + arguments
      let command = words.map { "'\($0)'" }.joined(separator: " ")
      return try #require(runProgram("/bin/sh", ["-c", "\(setup) exec \(command) \(behind)"]))
    }

    /// The names in the folder that begin so.
    private func names(_ prefix: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(prefix) }.sorted()
    }

    private func write(_ lines: [String], _ name: String) throws -> String {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path(name)))
      return path(name)
    }

    private func line(_ key: String, _ title: String = "t") -> String {
      #"{"collection":"songs","key":"\#(key)","object":{"title":"\#(title)","albumID":"a","seconds":1,"added":0.5}}"#
    }

    @Test func anExportBecomesTheSameDatabase() throws {
      let all = run("export", folder.path)
      let rows = try write([String(all.dropLast())], "rows")
      let told = run("import", path("copy"), rows)
      #expect(told.contains("200  songs") && told.contains("1  lists") && told.contains("copy: 201 rows\n"))
      #expect(run("export", path("copy")) == all)
      #expect(run("check", path("copy")).contains("no defects"))
      #expect(run("check", path("copy"), "--json").contains(#""defects":[]"#))
      #expect(try names("copy") == ["copy"])
      let db = try Database(at: path("copy"))
      try db.read { tx throws in
        #expect(try tx[.songs].get("s7") == Song("Song 7") && tx[.songs].row("s7")?.metadata == PlayState(plays: 7))
      }
      try db.close()
      // Nothing is overwritten.
      #expect(run("import", path("copy"), rows, status: 1).contains("there already"))
      #expect(run("export", path("copy")) == all)
    }

    @Test func aBadLineLeavesNothing() throws {
      let rows = try write([line("a"), #"{"collection":"songs","key":"b"}"#, line("c")], "rows")
      let told = run("import", path("new"), rows, status: 1)
      #expect(told.contains("line 2: ") && told.contains("no “object”") && told.contains("new was not made"))
      #expect(try names("new") == [])
      // In a file that was there, what stands in front of it stays.
      _ = run("import", folder.path, rows, "--into", status: 1)
      #expect(run("get", folder.path, "songs", "a").contains("title"))
      _ = run("get", folder.path, "songs", "c", status: 1)
      #expect(run("import", path("new"), path("nothing"), status: 1).contains("No such file"))
      #expect(run("import", path("nowhere"), rows, "--into", status: 1).contains("notFound"))
    }

    @Test func anExportThatIsCutOffLeavesNothing() throws {
      let lines = run("export", folder.path).split(separator: "\n").map(String.init)
      for rest in [Array(lines.dropLast()), Array(lines.dropLast(7)), lines.filter { !$0.contains(#""s17""#) }] {
        let rows = try write(rest, "rows")
        let told = run("import", path("new"), rows, status: 1)
        #expect(told.contains("Export again") && told.contains("new was not made"))
        _ = run("import", path("new"), rows, "--skip-bad", path("bad"), status: 1)
        _ = run("import", path("new"), rows, "--dry-run", status: 1)
        #expect(try names("new") == [])
        try FileManager.default.removeItem(atPath: path("bad"))
      }
      // Rows alone need no end.
      let rows = try write(lines.filter { $0.contains(#""key""#) }, "rows")
      #expect(run("import", path("new"), rows).contains("new: 201 rows\n"))
    }

    /// A database does not get its name beside the log of another one, which nobody could open then.
    @Test func namesThatAreTakenStayAsTheyAre() throws {
      let rows = try write([line("a")], "rows")
      for taken in ["new-log0", "new-log7"] {
        try Data("of another".utf8).write(to: URL(fileURLWithPath: path(taken)))
        #expect(run("import", path("new"), rows, status: 1).contains("\(taken) is there already"))
        #expect(try names("new") == [taken])
        try FileManager.default.removeItem(atPath: path(taken))
      }
      for taken in ["new", "new-log3"] {
        try FileManager.default.createSymbolicLink(atPath: path(taken), withDestinationPath: path("nothing"))
        #expect(run("import", path("new"), rows, status: 1).contains("\(taken) is there already"))
        try #require(try names("new") == [taken] && names("nothing") == [])
        try FileManager.default.removeItem(atPath: path(taken))
      }
      _ = run("import", path("new"), rows)
    }

    /// An error behind some commits tells what these have stored. Here the file of bad lines becomes too large.
    @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func whatStaysAfterAnErrorIsTold() throws {
      let bad = String(repeating: "x", count: 1 << 20)
      let good = (0..<10_000).map { line("n\($0)") }
      let rows = try write(good + [line("last")] + Array(repeating: bad, count: 20), "rows")
      let arguments = ["import", folder.path, rows, "--into", "--skip-bad", path("bad")]
      let result = try shell(arguments, "2>&1", setup: "trap '' XFSZ; ulimit -f 32768;")
      #expect(result.status == 1 && result.output.contains("too large"), "\(result.output)")
      // The second commit is full when its lines have 8 MiB.
      #expect(
        result.output.hasSuffix(": 10001 rows were stored before that, 8 lines do not fit\n"), "\(result.output)")
      #expect(run("count", folder.path, "songs") == "10201\n")
    }

    @Test func badLinesArePassedOver() throws {
      let rows = try write([line("a"), "{", line("a", "twice"), line("c")], "rows")
      let told = run("import", path("new"), rows, "--skip-bad", path("bad"), "--json", status: 2)
      let result = try RowValue(json: told)
      #expect(result["rows"] == 2 && result["bad lines"] == 2)
      let bad = try String(contentsOfFile: path("bad"), encoding: .utf8).split(separator: "\n")
      #expect(try bad.map { try RowValue(json: String($0))["line"] } == [2, 3])
      #expect(try RowValue(json: String(bad[1]))["text"]?.text == line("a", "twice"))
      #expect(run("count", path("new"), "songs") == "2\n")
      // What is there is not written over.
      #expect(run("import", path("other"), rows, "--skip-bad", path("bad"), status: 1).contains("exists"))
      #expect(try names("other") == [])
      // Nor is it made for nothing, and nobody else reads what rows it has.
      _ = run("import", path("nowhere"), rows, "--into", "--skip-bad", path("unused"), status: 1)
      #expect(try names("unused") == [])
      let attributes = try FileManager.default.attributesOfItem(atPath: path("bad"))
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func aDryRunChangesNothing() throws {
      let rows = try write([line("new"), line("s1"), "x", line("s2")], "rows")
      let before = run("export", folder.path)
      let told = run("import", folder.path, rows, "--into", "--dry-run", status: 1)
      #expect(told.contains("line 2: ") && told.contains("line 3: ") && told.contains("line 4: "))
      #expect(told.contains("1 rows would be stored, 3 lines do not fit"))
      #expect(run("export", folder.path) == before)
      _ = run("import", path("new"), rows, "--dry-run", status: 1)
      #expect(try names("new") == [])
      let good = try write([line("new")], "good")
      #expect(run("import", folder.path, good, "--into", "--dry-run").contains("1 rows would be stored"))
      _ = run("import", folder.path, good, "--dry-run", "--skip-bad", path("bad"), status: 64)
    }

    @Test func rowsAreReplacedWhereThatIsPermitted() throws {
      let rows = try write([line("s1", "other"), line("s1", "last")], "rows")
      #expect(run("import", folder.path, rows, "--into", status: 1).contains("already"))
      _ = run("import", folder.path, rows, "--into", "--replace")
      let row = run("get", folder.path, "songs", "s1")
      #expect(row.contains(#""title":"last""#) && !row.contains("metadata"))
      #expect(run("count", folder.path, "songs") == "200\n")
    }

    @Test func longLinesAreRefused() throws {
      let rows = try write([line("a"), line("b", String(repeating: "x", count: 2000))], "rows")
      let told = run("import", path("new"), rows, "--longest-line", "1000", status: 1)
      #expect(told.contains("line 2: ") && told.contains("more than 1000 bytes"))
      _ = run("import", path("new"), rows, "--longest-line", "0", status: 64)
    }

    /// No file of the database gets the number of a descriptor that messages go to, or lines come from.
    @Test func descriptorsThatAreClosedTakeNothing() throws {
      let rows = try write([line("a"), "{"], "rows")
      let arguments = ["import", folder.path, rows, "--into", "--progress"]
      #expect(try shell(arguments, "2>&-").status == 1)
      #expect(try shell(arguments + ["--replace"], ">&- 2>&-").status == 1)
      #expect(try shell(["export", folder.path], ">&-").status == 1)
      #expect(try shell(["import", path("new")], "<&-").status == 1)
      #expect(try names("new") == [])
      #expect(run("check", folder.path).contains("no defects") && run("count", folder.path, "songs") == "201\n")
      let files = try names("").map { try Data(contentsOf: URL(fileURLWithPath: path($0))) }
      #expect(!files.contains { $0.range(of: Data("quiredb: ".utf8)) != nil })
    }

    @Test func figuresForPrograms() throws {
      let info = try RowValue(json: run("info", folder.path, "--json"))
      #expect(info["defects"] == [] && info["commits to recover"] == 0 && info["meta pages"]?[0]?["state"] == "valid")
      let stats = try RowValue(json: run("stats", folder.path, "--json"))
      let trees = try #require(stats["trees"]?.list)
      #expect(trees.contains { $0["name"] == "quire.rows" && $0["entries"] == 201 })
      #expect(run("--version").contains("file format"))
      #expect(run("extensions", folder.path) == "no extensions\n" && run("extensions", folder.path, "--json") == "")
    }
  }
#endif
