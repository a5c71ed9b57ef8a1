// The operators' tool on rows: what it shows, and that it changes nothing.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

#if os(Linux)
  @Suite struct RowCommandTests {
    private struct Song: Codable { var title: String, year: Int }

    private let folder: TestFolder

    init() throws {
      folder = try TestFolder()
      let db = try folder.open()
      try db.write { tx throws in
        let songs = RowCollection<Song, Int>("songs")
        for number in 0..<30 {
          try tx[songs].set(Song(title: "Song \(number)", year: 1950 + number), metadata: number, for: "s\(number)")
        }
        try tx[RowCollection<[String: Int], NoMetadata>("counts", coder: .json)].set(["a": 1], for: "the key")
      }
      try db.close()
    }

    /// Runs the tool, and sees that the data file stays as it is.
    private func run(_ arguments: String..., status: Int32 = 0, at line: SourceLocation = #_sourceLocation) -> String {
      let before = try? Data(contentsOf: URL(fileURLWithPath: folder.path))
      guard let result = runQuireDB(arguments) else {
        Issue.record("quiredb does not run", sourceLocation: line)
        return ""
      }
      #expect(result.status == status, "\(result.output)", sourceLocation: line)
      #expect((try? Data(contentsOf: URL(fileURLWithPath: folder.path))) == before, sourceLocation: line)
      return result.output
    }

    @Test func rowsAreShown() throws {
      let path = folder.path
      let collections = run("collections", path)
      #expect(collections.contains("30  songs  (binary)") && collections.contains("1  counts  (JSON)"))
      #expect(run("collections", path, "--json").contains(#"{"collection":"songs","rows":30,"coder":"binary"}"#))
      #expect(run("count", path, "songs") == "30\n")
      #expect(run("count", path, "songs", "--json") == #"{"collection":"songs","rows":30}"# + "\n")
      #expect(run("count", path, "songs", "--prefix", "s1") == "11\n")
      #expect(run("count", path, "songs", "--from", "s8") == "2\n")
      let row = run("get", path, "songs", "s7")
      #expect(row.contains(#"object   {"title":"Song 7","year":1957} (binary)"#) && row.contains("metadata 7 (binary)"))
      #expect(
        run("get", path, "songs", "s7", "--json")
          == #"{"collection":"songs","key":"s7","object":{"title":"Song 7","year":1957},"metadata":7}"# + "\n")
      #expect(run("scan", path, "songs", "--limit", "2", "--keys") == "s0\ns1\n")
      #expect(run("scan", path, "songs", "--reverse", "--limit", "1").hasPrefix("s9\t{"))
      #expect(run("scan", path, "songs", "--from", "s28", "--up-to", "s3", "--keys") == "s28\ns29\n")
    }

    @Test func everyRowIsExported() throws {
      let all = run("export", folder.path)
      #expect(all.split(separator: "\n").count == 34 && all.hasSuffix("\n" + #"{"rows":31}"# + "\n"))
      #expect(all.hasPrefix(#"{"collection":"counts","coder":"JSON"}"# + "\n"))
      #expect(
        all.contains(#"{"collection":"songs","coder":"binary","fields":["title","year"],"metadata coder":"binary"}"#))
      let lines = run("export", folder.path, "--rows-only").split(separator: "\n")
      #expect(lines.count == 31)
      #expect(
        lines.first == #"{"collection":"counts","key":"the key","object":{"a":1},"coder":"JSON"}"#)
      for line in lines { #expect(try RowValue(json: String(line))["key"] != nil) }
      #expect(run("export", folder.path, "songs", "--rows-only").split(separator: "\n").count == 30)
    }

    /// What cannot be read is told with its key, and what was read before it is there.
    @Test func aRowThatCannotBeReadEndsTheExport() throws {
      let db = try folder.open()
      let counts = RowCollection<[String: Int], NoMetadata>("counts", coder: .json)
      try db.write { tx throws in
        try tx[counts].set(["a": 1], encoded: [1, 2, 3], for: "un\nreadable")
        try tx[RowCollection<Int, NoMetadata>("strange\u{1b}")].set(1, for: "a\tb")
      }
      try db.close()
      let output = run("export", folder.path, status: 1)
      #expect(
        output.contains("the key") && output.contains("does not decode") && !output.contains("no collection"))
      #expect(!output.contains(#"{"rows":"#))
      #expect(run("collections", folder.path).contains(#""strange\u001b""#))
      #expect(run("scan", folder.path, "strange\u{1b}", "--keys") == #""a\tb""# + "\n")
      #expect(run("get", folder.path, "nothing", "k", status: 1).contains("no collection “nothing”"))
      _ = run("scan", folder.path, "songs", "--limit", "-1", status: 64)
      _ = run("scan", folder.path, "songs", "--keys", "--json", status: 64)
    }

    /// Neither a value nor a message has a terminal do anything.
    @Test func aTerminalIsNotActedOn() throws {
      let hostile = "a\u{7f}b\u{9b}2Jc\u{202e}d\u{2069}e\u{1b}f"
      let db = try folder.open()
      let texts = RowCollection<String, String>("texts")
      let broken = RowCollection<[String: Int], NoMetadata>(hostile, coder: .json)
      try db.write { tx throws in
        try tx[texts].set(hostile, metadata: hostile, for: "k\(hostile)")
        try tx[broken].set(["a": 1], encoded: [1, 2, 3], for: "k\n\(hostile)")
      }
      try db.close()
      let path = folder.path
      try Data("\(hostile)\n".utf8).write(to: folder.url.appendingPathComponent("rows"))
      let rows = folder.url.appendingPathComponent("rows").path
      let all = [
        run("get", path, "texts", "k\(hostile)"), run("scan", path, "texts"), run("scan", path, "texts", "--keys"),
        run("scan", path, hostile, status: 1), run("collections", path),
        run("get", path, "texts", hostile, status: 1), run("get", path, hostile + "2", "k", status: 1),
        run("info", path), run("stats", path), run("import", path, rows, "--into", "--dry-run", status: 1),
        run("get", path + hostile, "texts", "k", status: 1),
      ]
      for (index, output) in all.enumerated() {
        let bad = output.unicodeScalars.filter { scalar in
          scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
            || scalar.properties.generalCategory == .format
        }
        #expect(bad.isEmpty, "\(index): \(output.debugDescription)")
      }
      let escaped = #"a\u007fb\u009b2Jc\u202ed\u2069e\u001bf"#
      #expect(all[1] == "\"k\(escaped)\"\t\"\(escaped)\"\n" && all[2] == "\"k\(escaped)\"\n")
      #expect(all[0].contains("metadata \"\(escaped)\"") && all[3].contains(escaped))
      // What is for programs stays as it is.
      let line = run("export", path, "texts", "--rows-only")
      #expect(try RowValue(json: String(line.dropLast()))["object"]?.text == hostile)
    }

    /// What a full disk does not take is an error, of long and of short outputs.
    @Test func anOutputThatIsLostIsTold() throws {
      let tool = try #require(toolPath("quiredb"))
      for arguments in [
        ["info"], ["info", "--json"], ["check"], ["stats"], ["pages"], ["log"], ["collections"], ["export"],
      ] {
        let result = runProgram(tool, [arguments[0], folder.path] + arguments.dropFirst(), outputTo: "/dev/full")
        #expect(result?.status == 1, "\(arguments)")
      }
    }

    @Test func whatIsNotThereIsTold() throws {
      #expect(run("get", folder.path, "songs", "s99", status: 1).contains("no row “s99”"))
      #expect(run("count", folder.path, "albums", status: 1).contains("no collection “albums”"))
      #expect(run("export", folder.path, "albums", status: 1).contains("no collection “albums”"))
      _ = run("scan", folder.path, "songs", "--prefix", "a", "--from", "b", status: 64)
      let foreign = folder.url.appendingPathComponent("foreign").path
      try Data("this is no database, and never was one".utf8).write(to: URL(fileURLWithPath: foreign))
      for arguments in [["collections"], ["count", "songs"], ["get", "songs", "a"], ["scan", "songs"], ["export"]] {
        let result = runQuireDB([arguments[0], foreign] + arguments.dropFirst())
        #expect(result?.status == 1 && result?.output.contains("foreign") == true, "\(arguments)")
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: foreign)).count == 38)
    }
  }
#endif
