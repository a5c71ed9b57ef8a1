// The page that goes through the original pages sentence by sentence.

import Foundation
import Testing

@Suite("Sentence by sentence") struct SentenceTests {
  private static var repository: URL {
    (0..<3).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
  }

  private static func page() throws -> String {
    let file = repository.appendingPathComponent("Sources/Quire/Quire.docc/SentenceBySentence.md")
    return try String(contentsOf: file, encoding: .utf8)
  }

  /// A row of one of the tables: what is stated, the new call, YapCompat's, and the test.
  private static func rows(_ page: String) -> [[String]] {
    page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }.filter { $0.count == 4 && !$0[0].hasPrefix("---") && $0[0] != "The page says" }
  }

  /// What stands in backquotes.
  private static func quoted(_ cell: String) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }
  }

  /// The tests of the sources: type and function.
  private static func tests() throws -> Set<String> {
    let folder = repository.appendingPathComponent("Tests")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("Tests.swift") }
    var tests: Set<String> = []
    for name in names {
      var (suite, isTest) = ("", false)
      let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      for line in text.split(separator: "\n") {
        if let head = line.range(of: "struct "), !line.hasPrefix(" "), line.contains("Tests") {
          suite = String(line[head.upperBound...].prefix { $0.isLetter || $0.isNumber })
        }
        if line.contains("@Test") { isTest = true }
        if isTest, let head = line.range(of: "func ") {
          tests.insert("\(suite).\(line[head.upperBound...].prefix { $0.isLetter || $0.isNumber })")
          isTest = false
        }
      }
    }
    return tests
  }

  @Test("Every row names a test that is there, and what it tests") func tests() throws {
    let (rows, tests) = (Self.rows(try Self.page()), try Self.tests())
    let (rowCount, testCount) = (rows.count, tests.count)
    #expect(rowCount >= 127 && testCount > 1000)
    var wrong: [String] = []
    for row in rows {
      let named = Self.quoted(row[3])
      if named.isEmpty { wrong.append("“\(row[0])” has no test") }
      wrong += named.filter { !tests.contains($0) }.map { "“\(row[0])”: there is no \($0)" }
      for cell in row[1...2] where !cell.contains("`") && !cell.hasPrefix("differs") && !cell.hasPrefix("blocks") {
        wrong.append("“\(row[0])”: \(cell)")
      }
    }
    #expect(wrong == [])
    #expect(Set(rows.map { $0[0] }).count > rows.count - 5, "a sentence stands there twice")
  }

  @Test("Every name is there, with its labels") func names() throws {
    let folders = ["QuireStorage", "QuireDatabase", "QuireRelationships", "QuireViews", "YapCompat", "YapExtensions"]
    let symbols = try PublicSymbols(below: folders.map { Self.repository.appendingPathComponent("Sources/\($0)") })
    let span = GuideSpan(symbols: symbols)
    let wrong = Self.rows(try Self.page()).flatMap { row in
      (Self.quoted(row[1]) + Self.quoted(row[2])).filter { name in
        !span.isThere(name.hasPrefix("QuireDatabase.") ? String(name.dropFirst(14)) : name)
      }.map { "“\(row[0])”: there is no \($0)" }
    }
    #expect(wrong == [])
  }
}
