// Rule: a type stays small enough to be understood, in all of its files together.

import Testing

/// How many lines the declaration of a type and all of its extensions in its module have, with what is nested in them.
struct TypeSize {
  static let lines = 800

  /// Types that are longer, each with the size that it must not grow beyond. One that does not need its entry, or does
  /// not exist, breaks the rule.
  var ceilings: [String: Int] = [:]

  static let repository = TypeSize()

  /// Types beyond their limit, and entries that nothing needs.
  func violations(in files: [SourceFile]) -> [Violation] {
    var sizes: [String: Int] = [:]
    var homes: [String: (file: SourceFile, line: Int)] = [:]
    for file in files where file.root == "Sources" && file.isSwift {
      guard let module = file.module else { continue }
      for declaration in file.declarations where declaration.typeDepth == 0 && declaration.hasMembers {
        let name = "\(module).\(declaration.name)"
        sizes[name, default: 0] += declaration.lastLine - declaration.line + 1
        if declaration.keyword != "extension" { homes[name] = (file, declaration.line) }
      }
    }
    var found: [Violation] = []
    for (name, home) in homes.sorted(by: { $0.key < $1.key }) {
      let count = sizes[name] ?? 0
      let limit = ceilings[name] ?? Self.lines
      if count > limit {
        found.append(
          Violation(home.file, home.line, "\(name) has \(count) lines in all of its files; the limit is \(limit)"))
      } else if ceilings[name] != nil, count <= Self.lines {
        found.append(Violation(home.file, home.line, "\(name) has \(count) lines: take it out of TypeSize.swift"))
      }
    }
    for name in ceilings.keys.sorted() where homes[name] == nil {
      found.append(Violation(path: "Tests/TidyTests/Rules/TypeSize.swift", message: "there is no type \(name)"))
    }
    return found
  }
}

@Suite("Types are small in all of their files together")
struct TypeSizeTests {
  @Test func repositoryObeys() throws {
    report(TypeSize.repository.violations(in: try SourceTree.repository().files))
  }

  private func part(_ file: String, _ head: String, lines: Int) -> SourceFile {
    let body = String(repeating: "  struct A {}\n", count: lines - 2)
    return sample("Sources/\(file).swift", "// Purpose.\n\(head) {\n\(body)}\n")
  }

  @Test("A type is measured over its files, with what is nested in it, and reported where it is declared")
  func longTypeIsFound() {
    let files = [part("M/A", "struct T", lines: 400), part("M/A+B", "extension T", lines: 401)]
    #expect(TypeSize().violations(in: files).map(\.path) == ["Sources/M/A.swift"])
    #expect(TypeSize().violations(in: files).map(\.line) == [2])
  }

  @Test("800 lines, extensions of other modules' types, and tests are let through")
  func shortTypeIsFine() {
    let files = [
      part("M/A", "final class T", lines: 400), part("M/A+B", "extension T", lines: 400),
      part("N/T", "extension T", lines: 300), part("N/String", "extension String", lines: 900),
    ]
    #expect(TypeSize().violations(in: files).isEmpty)
  }

  @Test("An exception has a ceiling, and is found when nothing needs it")
  func exceptionsAreNeeded() {
    let size = TypeSize(ceilings: ["M.T": 900])
    #expect(size.violations(in: [part("M/A", "struct T", lines: 900)]).isEmpty)
    #expect(size.violations(in: [part("M/A", "struct T", lines: 901)]).count == 1)
    #expect(size.violations(in: [part("M/A", "struct T", lines: 800)]).count == 1)
    #expect(size.violations(in: []).count == 1)
  }
}
