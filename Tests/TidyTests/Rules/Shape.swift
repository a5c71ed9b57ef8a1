// Rule: lines, functions and files stay short enough to be read, and no line ends in spaces.

import Testing

/// The limits that CONTRIBUTING names, in one place.
enum Shape {
  static let columns = 120
  static let functionLines = 70
  static let fileLines = 400
  static let testFileLines = 700

  private static let blanks = Array(" \t\r".utf8)

  /// Lines, functions and files beyond their limit; trailing spaces.
  static func violations(in files: [SourceFile]) -> [Violation] {
    files.flatMap { violations(ofLines: $0) + violations(ofFunctions: $0) + violations(ofLength: $0) }
  }

  private static func violations(ofLines file: SourceFile) -> [Violation] {
    var found: [Violation] = []
    for (index, line) in file.lines.enumerated() {
      // The byte count bounds the character count and costs nothing.
      if line.utf8.count > columns, line.count > columns {
        found.append(Violation(file, index + 1, "\(line.count) columns; the limit is \(columns)"))
      }
      if let last = line.utf8.last, blanks.contains(last) {
        found.append(Violation(file, index + 1, "ends in blank space"))
      }
    }
    return found
  }

  private static func violations(ofFunctions file: SourceFile) -> [Violation] {
    file.declarations.filter(\.isCallable).compactMap { declaration in
      let count = declaration.lastLine - declaration.line + 1
      guard count > functionLines else { return nil }
      return Violation(
        file, declaration.line, "\(declaration.name) has \(count) lines; the limit is \(functionLines)")
    }
  }

  private static func violations(ofLength file: SourceFile) -> [Violation] {
    let limit = file.root == "Tests" ? testFileLines : fileLines
    let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
    return count > limit ? [Violation(file, nil, "\(count) lines; the limit is \(limit)")] : []
  }
}

@Suite("Lines, functions and files are short")
struct ShapeTests {
  @Test func repositoryObeys() throws {
    report(Shape.violations(in: try SourceTree.repository().files))
  }

  @Test("A long line is found, and columns are characters rather than bytes")
  func longLineIsFound() {
    let long = String(repeating: "a", count: 121)
    let accents = String(repeating: "é", count: 120)
    let file = sample("Sources/QuireStorage/Bad.swift", "// Purpose.\n// \(accents.dropLast(3))\n\(long)\n")
    #expect(Shape.violations(in: [file]).map(\.line) == [3])
  }

  @Test("Blank space at the end of a line is found", arguments: [" ", "\t", "\r"])
  func trailingSpaceIsFound(space: String) {
    let file = sample("Sources/CQuirePlatform/bad.h", "// Purpose.\nint a;\(space)\n")
    #expect(Shape.violations(in: [file]).map(\.line) == [2])
  }

  @Test(
    "A long body is found, whatever declares it",
    arguments: ["func f()", "init?<T>(a: T)", "deinit", "subscript(i: Int) -> Int", "var x: Int", "func + (a: A)"])
  func longFunctionIsFound(head: String) {
    let body = String(repeating: "  call { }\n", count: 69)
    let file = sample("Tests/SomeTests/Bad.swift", "struct S {\n  \(head) {\n\(body)  }\n}\n")
    #expect(Shape.violations(in: [file]).map(\.line) == [2])
  }

  @Test("A requirement, a closure in a literal and a body of 70 lines are let through")
  func shortFunctionIsFine() {
    let body = String(repeating: "  \"}\".call() // {\n", count: 68)
    let text = "protocol P {\n  func f()\n  var x: Int { get }\n}\nfunc g() {\n\(body)}\nlet a = 1\n"
    #expect(Shape.violations(in: [sample("Sources/QuireStorage/Good.swift", text)]).isEmpty)
  }

  @Test("A long file is found; tests may be longer")
  func longFileIsFound() {
    let text = String(repeating: "let a = 1\n", count: 401)
    #expect(Shape.violations(in: [sample("Sources/QuireStorage/Bad.swift", text)]).map(\.line) == [nil])
    #expect(Shape.violations(in: [sample("Tests/SomeTests/Good.swift", text)]).isEmpty)
    let longer = String(repeating: "let a = 1\n", count: 701)
    #expect(Shape.violations(in: [sample("Tests/SomeTests/Bad.swift", longer)]).count == 1)
  }
}
