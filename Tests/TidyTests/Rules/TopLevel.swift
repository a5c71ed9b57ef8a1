// Rule: the top of the repository holds what a newcomer must see, and nothing else.

import Testing

/// The names at the top of the repository.
enum TopLevel {
  static let required: Set<String> = ["Package.swift", "Sources", "Tests", "Benchmarks", "README.md"]
  /// `Fixtures` comes with its first file; `Package.resolved` is written by the package manager and not kept.
  static let optional: Set<String> = ["Fixtures", "Package.resolved"]

  /// Names that are missing, and names that do not belong there. What begins with a dot is the tools' own.
  static func violations(_ names: [String]) -> [Violation] {
    let visible = Set(names.filter { !$0.hasPrefix(".") })
    let missing = required.subtracting(visible).sorted().map { Violation(path: $0, message: "is missing at the top") }
    let strange = visible.subtracting(required).subtracting(optional).sorted()
    return missing + strange.map { Violation(path: $0, message: "does not belong at the top of the repository") }
  }
}

@Suite("The top level is bare")
struct TopLevelTests {
  @Test func repositoryObeys() throws {
    report(TopLevel.violations(try SourceTree.repository().topLevelNames()))
  }

  @Test("A stray name and a missing one are found; dot files and build folders are let through")
  func strayAndMissingNamesAreFound() {
    let names = [".build", ".build-tsan", ".ci", ".github", "Package.swift", "Sources", "Tests", "Benchmarks"]
    #expect(TopLevel.violations(names + ["notes.txt"]).map(\.path) == ["README.md", "notes.txt"])
    #expect(TopLevel.violations(names + ["README.md", "Fixtures", "Package.resolved"]).isEmpty)
  }
}
