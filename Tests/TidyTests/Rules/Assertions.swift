// Rule: what a type relies on is code as well as prose, so modules whose bugs cost data have a number of assertions.

import Testing

/// How many assertions the modules have for each thousand of their lines.
struct Assertions {
  /// The least, by module. An assertion says what the code itself guarantees; what comes from a file, a disk or an app
  /// is an error, not an assertion.
  var least = [
    "QuireDatabase": 5, "QuireIndexes": 5, "QuireLZ4": 10, "QuireRelationships": 6, "QuireStorage": 10,
    "QuireViews": 8, "YapCompat": 3,
  ]

  /// Modules with too few.
  func violations(in files: [SourceFile]) -> [Violation] {
    least.keys.sorted().compactMap { module in
      let own = files.filter { $0.root == "Sources" && $0.module == module && $0.isSwift }
      let (lineCount, least) = (own.reduce(0) { $0 + $1.lines.count }, least[module, default: 0])
      let count = own.reduce(0) { $0 + Self.count(in: $1) }
      guard count * 1000 < lineCount * least else { return nil }
      return Violation(
        path: "Sources/\(module)",
        message: "\(count) assertions in \(lineCount) lines; the least is \(least) for each thousand")
    }
  }

  private static let names: Set<String> = ["assert", "assertionFailure"]

  private static func count(in file: SourceFile) -> Int {
    zip(file.tokens, file.tokens.dropFirst()).count { names.contains($0.text) && $1.text == "(" }
  }
}

@Suite("Invariants are code")
struct AssertionsTests {
  @Test func repositoryObeys() throws {
    report(Assertions().violations(in: try SourceTree.repository().files))
  }

  @Test("Too few assertions in a module are found")
  func silenceIsFound() {
    let rule = Assertions(least: ["M": 10])
    let silent = String(repeating: "let a = 1\n", count: 100)
    #expect(rule.violations(in: [sample("Sources/M/A.swift", silent)]).count == 1)
    #expect(rule.violations(in: [sample("Sources/N/A.swift", silent), sample("Tests/M/A.swift", silent)]).isEmpty)
    let spoken = silent + "func f() { assert(true, \"a\"); assertionFailure(\"b\") }\n"
    #expect(rule.violations(in: [sample("Sources/M/A.swift", spoken)]).isEmpty)
  }
}
