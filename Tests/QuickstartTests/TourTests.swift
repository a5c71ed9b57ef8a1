// The whole tour, and that it shows the code that it runs.

import Foundation
import Testing

@testable import quickstart

/// The top of the repository.
let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// What a run of the program gave.
struct ProgramResult {
  var status: Int32
  var output: String
  var errors: String
}

/// Runs the quickstart that was built beside the tests.
func runQuickstart(_ arguments: [String]) throws -> ProgramResult {
  let process = Process()
  // On Linux the tests are a program of their own, and what was built with them lies beside it.
  let folder = try #require(Bundle.main.executableURL).resolvingSymlinksInPath().deletingLastPathComponent()
  process.executableURL = folder.appendingPathComponent("quickstart")
  process.arguments = arguments
  process.currentDirectoryURL = repository
  let (output, errors) = (Pipe(), Pipe())
  process.standardOutput = output
  process.standardError = errors
  try process.run()
  // Errors are a line or two, which fits into a pipe.
  let text = try output.fileHandleForReading.readToEnd() ?? Data()
  let complaint = try errors.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  return ProgramResult(
    status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
    errors: String(decoding: complaint, as: UTF8.self))
}

/// A file with a text, in a folder that goes with the value.
final class TemporaryFile {
  let folder: URL
  let path: String

  init(_ text: String) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("quickstart-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appendingPathComponent("index.txt").path
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}

#if os(Linux)
  @Suite struct TourTests {
    @Test("The tour imports the fixture, and all that it promises holds")
    func tour() throws {
      let result = try runQuickstart([])
      #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
      for text in [
        "2,000 packages imported", "2 durable commits", "2,000 packages in the collection", "bash 5.2.15-2+b13 ",
        "1,095 names begin with “lib”", "2,000 packages cut into words", "typed: ten ranked hits",
        "6,794 edges derived", "libc6 is needed by 991 packages",
        "the list redrawn from these alone",
        "The stream of commits reports bash", "still has 5.2.15-2+b13 ",
        "it has 5.2.15-2+b13+quire1", "acknowledged commits", "are there", "Done in",
      ] {
        #expect(result.output.contains(text), "\(text) is missing")
      }
      // Piped: no colours, no progress bar, and nothing at the ends of lines.
      #expect(!result.output.contains("\u{1b}") && !result.output.contains("\r"))
      #expect(!result.output.split(separator: "\n").contains { $0.hasSuffix(" ") })
    }

    @Test("A database that is asked for stays, and is never replaced")
    func keptDatabase() throws {
      let file = try TemporaryFile("Package: a\nVersion: 1\n\nPackage: b\n\nPackage: a\nVersion: 2\n")
      let database = file.folder.appendingPathComponent("kept.quire").path
      let result = try runQuickstart([file.path, "--database", database])
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.contains("3 packages imported"))
      #expect(result.output.contains("1 of them took the place of another"))
      #expect(FileManager.default.fileExists(atPath: database))
      let again = try runQuickstart([file.path, "--database", database])
      #expect(again.status == 1 && again.errors.contains("there is something already"))
    }

    @Test("An index that cannot be read ends with the file and the line", arguments: ["Package: a\n\nnonsense\n", ""])
    func brokenIndex(text: String) throws {
      let file = try TemporaryFile(text)
      let result = try runQuickstart([file.path])
      #expect(result.status == 1)
      #expect(result.errors.hasPrefix("quickstart: \(file.path): " + (text.isEmpty ? "there is no" : "line 3: ")))
      #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test("A file that is not there, and one that is none, end with one line", arguments: ["/nowhere", "/tmp"])
    func noIndex(path: String) throws {
      let result = try runQuickstart([path])
      #expect(result.status == 1)
      #expect(result.errors.hasPrefix("quickstart: \(path): "))
    }
  }
#endif

@Suite struct ChapterTests {
  /// How often each line stands in the sources of the quickstart.
  private static func sourceLines() throws -> [String: Int] {
    let folder = repository.appendingPathComponent("Sources/quickstart")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    var counts: [String: Int] = [:]
    for path in paths {
      let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
      for line in text.split(separator: "\n") { counts[line.trimmingCharacters(in: .whitespaces), default: 0] += 1 }
    }
    return counts
  }

  @Test("The code that is shown is the code that runs")
  func shownCodeRuns() throws {
    let counts = try Self.sourceLines()
    for chapter in Chapter.all {
      for line in chapter.code.split(separator: "\n") {
        let line = line.trimmingCharacters(in: .whitespaces)
        if line == "…" || line.hasPrefix("//") { continue }
        // Once where it is shown, with its escapes, and at least once where it runs.
        let isEscaped = line.contains("\\")
        let shown = counts[line.replacingOccurrences(of: "\\", with: "\\\\"), default: 0]
        let count = counts[line, default: 0]
        #expect(count >= (isEscaped ? 1 : 2), "“\(line)” of “\(chapter.title)” does not run")
        if isEscaped { #expect(shown == 1) }
      }
    }
  }

  @Test(
    "Numbers read well",
    arguments: [
      (text(0), "0"), (text(999), "999"), (text(63_666), "63,666"), (text(-1_234_567), "-1,234,567"),
      (text(byteCount: 950), "950 bytes"), (text(byteCount: 1_587_567), "1.6 MB"),
      (text(byteCount: 32_000_000), "32 MB"),
      (text(.microseconds(3)), "3.0 µs"), (text(.milliseconds(41)), "41 ms"), (text(.seconds(1.25)), "1.3 s"),
      (rate(2000, "rows", in: .milliseconds(41)), "48,800 rows/s"),
    ])
  func numbers(text: String, expected: String) {
    #expect(text == expected)
  }
}
