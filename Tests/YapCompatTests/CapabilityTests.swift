// The guide of all capabilities names symbols and tests that are there.

import Foundation
import Testing

/// The functions of all tests, by their suites.
private struct TestFunctions {
  /// `Suite.function` for each.
  private(set) var names: Set<String> = []

  init(below folder: URL) throws {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("Tests.swift") }
    for path in paths { read(try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)) }
  }

  init(_ text: String) { read(text) }

  private mutating func read(_ text: String) {
    var suite = ""
    var isMarked = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "@" }.map(String.init)
      if !line.hasPrefix(" "), let head = words.lastIndex(where: { ["struct", "class", "extension"].contains($0) }),
        head + 1 < words.count
      {
        suite = words[head + 1]
      }
      // A function belongs to the mark before it; another function, or an empty line, ends its reach.
      if line.isEmpty { isMarked = false }
      if words.contains("@Test") { isMarked = true }
      if isMarked, let range = line.range(of: "func ") {
        names.insert("\(suite).\(line[range.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })")
        isMarked = false
      }
    }
  }
}

@Suite struct CapabilityTests {
  private static var repository: URL {
    (0..<3).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
  }

  private static func guide() throws -> String {
    let file = repository.appendingPathComponent("Sources/Quire/Quire.docc/OriginalPages.md")
    return try String(contentsOf: file, encoding: .utf8)
  }

  private static func span(_ modules: [String]) throws -> GuideSpan {
    GuideSpan(symbols: try PublicSymbols(below: modules.map { repository.appendingPathComponent("Sources/\($0)") }))
  }

  @Test(
    "Every symbol is there, in its own language",
    arguments: [
      ("New call", ["QuireStorage", "QuireDatabase", "QuireRelationships", "QuireViews"]),
      ("YapCompat", ["YapCompat"]), ("YapExtensions", ["YapExtensions"]),
    ])
  func symbols(_ column: String, _ modules: [String]) throws {
    let span = try Self.span(modules)
    let names = GuideTables(try Self.guide(), columns: [column]).names
    #expect(names.count > 30)
    let missing = names.filter { !span.isThere($0.text, of: $0.owner) }.map { "line \($0.line): no \($0.text)" }
    #expect(missing == [])
  }

  @Test("Every capability has a test, and every test is there") func tests() throws {
    let functions = try TestFunctions(below: Self.repository.appendingPathComponent("Tests")).names
    let guide = try Self.guide()
    let names = GuideTables(guide, columns: ["Test"]).names
    let missing = names.filter { !functions.contains($0.text) }.map { "line \($0.line): no \($0.text)" }
    #expect(missing == [])
    let tested = Set(names.map(\.line))
    let rows = guide.split(separator: "\n", omittingEmptySubsequences: false).enumerated().filter { _, line in
      line.hasPrefix("| ") && !line.hasPrefix("| It says") && !line.hasPrefix("| ---")
    }
    #expect(rows.count >= 127)
    for (index, line) in rows { #expect(tested.contains(index + 1), "no test: \(line)") }
  }

  @Test("Tests are read with their suites") func testsAreRead() {
    let text = """
      @Suite("An extension") struct BoxTests {
        private func helper() {}
        @Test func one() {}
        @Test("Two of them") func two() {}

        @Test("Long", arguments: [1])
        func three(_ number: Int) {
          func inner() {}
        }

        func four() {}
      }
      extension LidTests {
        @Test func five() {}
      }
      """
    #expect(TestFunctions(text).names == ["BoxTests.one", "BoxTests.two", "BoxTests.three", "LidTests.five"])
  }
}
